// Rate limit without a division on the data path: the virtual scheduling form of the generic cell
// rate algorithm (ITU-T I.371). State is one time stamp: when the next packet would be in order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hecto::router {

class TokenBucket {
 public:
  // `burst` packets may come at once after a pause; a rate of 0 lets nothing through.
  void configure(uint64_t ticks_per_second, uint32_t packets_per_second, uint32_t burst) noexcept {
    ticks_per_packet_ = packets_per_second == 0 ? 0 : ticks_per_second / packets_per_second;
    tolerance_ = ticks_per_packet_ * burst;
    closed_ = packets_per_second == 0;
  }

  bool take(uint64_t now) noexcept {
    if (closed_) return false;
    const uint64_t due = std::max(due_, now);
    if (due - now > tolerance_) return false;
    due_ = due + ticks_per_packet_;
    return true;
  }

 private:
  uint64_t ticks_per_packet_ = 0;
  uint64_t tolerance_ = 0;
  uint64_t due_ = 0;
  bool closed_ = true;
};

// A tenth of a second's worth, and never less than a handful.
inline uint32_t punt_burst(uint32_t packets_per_second) noexcept {
  return std::max<uint32_t>(packets_per_second / 10, 16);
}

}  // namespace hecto::router
