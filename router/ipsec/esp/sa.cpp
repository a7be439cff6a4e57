#include "router/ipsec/esp/sa.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/secret_memory.hpp"
#include "router/ipsec/esp/crypto.hpp"

namespace hecto::router::esp {
namespace {

// The numbers of an SA end before they could wrap; with ESN also before several workers could run
// past the end at once.
uint64_t last_number(bool esn) {
  return esn ? ~uint64_t{0} - (uint64_t{1} << 32) : 0xffffffff;
}

void put_outer_header(const SaState& state, uint8_t* header) {
  const uint8_t protocol = state.encapsulation ? IPPROTO_UDP : IPPROTO_ESP;
  if (state.source.family == Family::kIpv4) {
    header[0] = 0x45;
    header[9] = protocol;
    memcpy(header + 12, state.source.bytes.data(), 4);
    memcpy(header + 16, state.id.destination.bytes.data(), 4);
    return;
  }
  header[0] = 0x60;
  header[6] = protocol;
  memcpy(header + 8, state.source.bytes.data(), 16);
  memcpy(header + 24, state.id.destination.bytes.data(), 16);
}

void put_header(const SaState& state, Shape& shape) {
  uint8_t* header = shape.header.data();
  if (shape.tunnel) put_outer_header(state, header);
  if (shape.outer_bytes == 20) shape.checksum = sum_words(header, 20);
  if (state.encapsulation) {
    store16_be(header + shape.outer_bytes, state.encapsulation->source_port);
    store16_be(header + shape.outer_bytes + 2, state.encapsulation->destination_port);
  }
  store32_be(header + shape.outer_bytes + shape.udp_bytes, state.id.spi);
}

Shape shape_of(const SaState& state) {
  Shape shape;
  const Transform& transform = state.transform;
  shape.tunnel = state.mode == IpsecMode::kTunnel;
  shape.outer_ipv4 = state.id.destination.family == Family::kIpv4;
  shape.outer_bytes = !shape.tunnel ? 0 : shape.outer_ipv4 ? 20 : 40;
  shape.udp_bytes = state.encapsulation ? 8 : 0;
  shape.iv_bytes = static_cast<uint8_t>(transform.iv_bytes());
  shape.icv_bytes = transform.icv_bytes;
  shape.block_bytes = static_cast<uint8_t>(transform.block_bytes());
  shape.key_index =
      transform.key_bytes < 16 ? 0 : static_cast<uint8_t>((transform.key_bytes - 16) / 8);
  shape.cipher = transform.cipher;
  shape.integrity = transform.integrity;
  shape.esn = state.esn;
  shape.copy_dscp = state.copy_dscp;
  shape.copy_dont_fragment = state.copy_dont_fragment;
  shape.ecn = state.ecn;
  shape.tfc_pad = shape.tunnel ? state.tfc_pad : 0;
  shape.last_number = last_number(state.esn);
  shape.hard_bytes = state.lifetime.hard_bytes;
  shape.hard_packets = state.lifetime.hard_packets;
  std::copy_n(state.keys.cipher.begin() + transform.key_bytes, transform.salt_bytes(),
              shape.salt.begin());
  put_header(state, shape);
  return shape;
}

Result<void> check(const SaState& state) {
  if (auto fits = check(state.transform, state.keys); !fits) return fits;
  if (state.id.spi == 0) return fail("SPI 0 is reserved (RFC 4303 §2.1)");
  if (state.mode == IpsecMode::kTunnel && state.source.family != state.id.destination.family) {
    return fail(fmt::format("the tunnel's ends {} and {} are not of one family",
                            state.source.to_string(), state.id.destination.to_string()));
  }
  if (state.replay_window > ReplayWindow::kMaxWindow) {
    return fail(fmt::format("a replay window of {} packets; at most {} can be had",
                            state.replay_window, ReplayWindow::kMaxWindow));
  }
  if (state.tfc_pad > 0xffff) {
    return fail(fmt::format("padding to {} bytes; an IP packet has at most 65535", state.tfc_pad));
  }
  return {};
}

}  // namespace

Sa::Sa(const SaState& state, CryptoLibrary library, uint64_t iv_mask)
    : id(state.id),
      source(state.source),
      mode(state.mode),
      transform(state.transform),
      reqid(state.reqid),
      if_id(state.if_id),
      shape_(shape_of(state)),
      sequence(state.sequence),
      replay(state.replay_window, state.replay_sequence) {
  lay_keys(library, transform, state.keys, keys_.data());
  shape_.iv_mask = iv_mask;
}

Sa::~Sa() = default;  // operator delete wipes

Result<std::unique_ptr<Sa>> Sa::create(const SaState& state, CryptoLibrary library) {
  const auto said = [&](const std::string& what) {
    return fmt::format("SA {} {}: {}", state.id.destination.to_string(), to_string(state.id.spi),
                       what);
  };
  if (auto fits = check(state); !fits) return fail(said(fits.error().message));
  if (auto runs = usable(library); !runs) return fail(said(runs.error().message));
  uint64_t iv_mask = 0;
  if (getrandom(&iv_mask, sizeof iv_mask, 0) != sizeof iv_mask)
    return fail(said("the kernel gives no random numbers"), errno);
  std::unique_ptr<Sa> sa(new Sa(state, library, iv_mask));
  if (sa == nullptr) return fail(said("no memory for its keys"), ENOMEM);
  return sa;
}

void* Sa::operator new(size_t bytes, std::align_val_t) noexcept {
  return allocate_secret(bytes);
}

void Sa::operator delete(void* memory, std::align_val_t) noexcept {
  release_secret(memory, sizeof(Sa));
}

void Sa::update_path_mtu(uint32_t mtu, uint32_t now_s) noexcept {
  mtu = std::max(mtu, shape_.outer_ipv4 ? kLeastPathMtu4 : kLeastPathMtu6);
  const uint32_t known = path_mtu(now_s);
  if (known != 0 && known < mtu) return;
  path_mtu_.store(uint64_t{mtu} << 32 | (now_s + kPathMtu_s), std::memory_order_relaxed);
}

uint32_t Sa::inner_mtu(uint32_t outer_mtu) const noexcept {
  const uint32_t header = shape_.tunnel ? 0 : shape_.outer_ipv4 ? 20 : 40;
  const uint32_t around = header + shape_.front_bytes() + shape_.icv_bytes;
  if (outer_mtu < around + shape_.block_bytes) return 0;
  const uint32_t text = (outer_mtu - around) / shape_.block_bytes * shape_.block_bytes;
  return header + text - 2;
}

}  // namespace hecto::router::esp
