#include "router/ipsec/esp/engine.hpp"

#include <array>

#include "router/ipsec/esp/crypto.hpp"
#include "router/ipsec/esp/inbound.hpp"
#include "router/ipsec/esp/outbound.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router::esp {

struct Engine::Impl {
  std::unique_ptr<Crypto> crypto;
  std::array<Work, kMaxBatch> work;
};

Result<std::unique_ptr<Engine>> Engine::create(CryptoLibrary library) {
  auto crypto = Crypto::create(library);
  if (!crypto) return fail(crypto.error().message, crypto.error().error_number);
  std::unique_ptr<Engine> engine(new Engine);
  engine->impl_ = std::make_unique<Impl>();
  engine->impl_->crypto = std::move(*crypto);
  return engine;
}

Engine::~Engine() = default;

void Engine::inbound(std::span<Packet> packets, uint32_t now_s) noexcept {
  inbound::process(packets, now_s, *impl_->crypto, impl_->work.data());
}

std::span<Work> Engine::check(std::span<Packet> packets, Work* to) noexcept {
  return inbound::check(packets, to);
}

void Engine::open(std::span<Work> work) noexcept {
  inbound::open(work, *impl_->crypto);
}

void Engine::accept(std::span<const Work> work, uint32_t now_s) noexcept {
  inbound::accept(work, now_s);
}

void Engine::outbound(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl) noexcept {
  outbound::process(packets, now_s, outer_ttl, *impl_->crypto, impl_->work.data());
}

std::span<Work> Engine::write(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl,
                              Work* to) noexcept {
  return outbound::write(packets, now_s, outer_ttl, *impl_->crypto, to);
}

void Engine::seal(std::span<Work> work) noexcept {
  outbound::seal(work, *impl_->crypto);
}

void Engine::finish(std::span<const Work> work) noexcept {
  outbound::finish(work);
}

}  // namespace hecto::router::esp
