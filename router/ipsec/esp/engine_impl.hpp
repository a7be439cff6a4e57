// What an Engine is made of, and what its two directions share.
#pragma once

#include <span>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/ipsec/esp/crypto.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router::esp {

struct Engine::Impl {
  std::unique_ptr<Crypto> crypto;
  std::array<Work, kMaxBatch> work;

  // Packets of a block, inbound and outbound: those that go on, with their work in `to`; outbound
  // also with all written but what the cipher and the ICV make.
  std::span<Work> admit_block(std::span<Packet> block, Work* to) noexcept;
  std::span<Work> number_block(std::span<Packet> block, uint32_t now_s, Work* to) noexcept;
  std::span<Work> write_block(std::span<Packet> block, uint32_t now_s, uint8_t ttl,
                              Work* to) noexcept;
  // The same for packets of one SA: how many.
  unsigned admit(std::span<Packet> run, Work* to) noexcept;
  unsigned number(std::span<Packet> run, uint32_t now_s, Work* to) noexcept;
};

// What the packets of one SA in a batch use of its lifetime: added to the SA once, when it ends.
// Several workers may overrun a hard limit by a batch each.
class Use {
 public:
  explicit Use(Sa& sa) noexcept
      : sa_(sa),
        bytes_(sa.bytes.load(std::memory_order_relaxed)),
        packets_(sa.packets.load(std::memory_order_relaxed)) {}

  // False when the hard lifetime is over; the SA is expired then.
  bool take(uint32_t text_bytes) noexcept {
    if (bytes_ + taken_bytes_ >= sa_.shape().hard_bytes ||
        packets_ + taken_ >= sa_.shape().hard_packets) {
      sa_.expired.store(true, std::memory_order_relaxed);
      return false;
    }
    taken_bytes_ += text_bytes;
    ++taken_;
    return true;
  }
  void end(uint32_t now_s) noexcept {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    if (taken_ == 0) return;
    sa_.bytes.fetch_add(taken_bytes_, kRelaxed);
    sa_.packets.fetch_add(taken_, kRelaxed);
    if (sa_.last_used_s.load(kRelaxed) != now_s) sa_.last_used_s.store(now_s, kRelaxed);
    if (sa_.first_used_s.load(kRelaxed) == 0) {
      uint32_t never = 0;
      sa_.first_used_s.compare_exchange_strong(never, now_s, kRelaxed);
    }
  }

 private:
  Sa& sa_;
  uint64_t bytes_, packets_;  // as the SA had them
  uint64_t taken_bytes_ = 0, taken_ = 0;
};

// Packets of one SA that stand together at the head of `packets`.
inline size_t run_of(std::span<const Packet> packets) noexcept {
  size_t n = 1;
  while (n < packets.size() && packets[n].sa == packets[0].sa) ++n;
  return n;
}

// A part of a batch whose packets and work stay in the L1 cache between the passes.
inline constexpr size_t kBlock = 64;

// 10,000 SAs do not fit the caches: what a block needs of them is asked for at its beginning.
inline void prefetch(std::span<const Packet> block, bool inbound) noexcept {
  const Sa* last = nullptr;
  for (const Packet& packet : block) {
    if (packet.sa == last || packet.sa == nullptr) continue;
    last = packet.sa;
    __builtin_prefetch(&last->sequence, 1);
    __builtin_prefetch(&last->shape().salt);
    if (inbound)
      last->replay.prefetch();
    else
      __builtin_prefetch(&last->shape());
  }
}

}  // namespace hecto::router::esp
