// What the packets of one SA in a batch use of its lifetime: added to the SA once, when it ends.
// Several workers may overrun a hard limit by a batch each.
#pragma once

#include <atomic>
#include <cstdint>

#include "router/ipsec/esp/sa.hpp"

namespace hecto::router::esp {

class LifetimeUse {
 public:
  explicit LifetimeUse(Sa& sa) noexcept
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

}  // namespace hecto::router::esp
