// Rate limit without a division on the data path: the virtual scheduling form of the generic cell
// rate algorithm (ITU-T I.371). State is one time stamp: when the next packet would be in order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hecto::router {

// What many buckets can share; the state of each, `due`, starts at 0.
class TokenBucketRate {
 public:
  // `burst` packets may come at once after a pause, and one more; a rate of 0 lets nothing through.
  void configure(uint64_t ticks_per_second, uint32_t packets_per_second, uint32_t burst) noexcept {
    ticks_per_packet_ = packets_per_second == 0 ? 0 : ticks_per_second / packets_per_second;
    tolerance_ = ticks_per_packet_ * burst;
    closed_ = packets_per_second == 0;
  }
  bool ready(uint64_t due, uint64_t now) const noexcept {
    return !closed_ && std::max(due, now) - now <= tolerance_;
  }
  void spend(uint64_t& due, uint64_t now) const noexcept {
    due = std::max(due, now) + ticks_per_packet_;
  }

 private:
  uint64_t ticks_per_packet_ = 0;
  uint64_t tolerance_ = 0;
  bool closed_ = true;
};

class TokenBucket {
 public:
  void configure(uint64_t ticks_per_second, uint32_t packets_per_second, uint32_t burst) noexcept {
    rate_.configure(ticks_per_second, packets_per_second, burst);
  }
  bool ready(uint64_t now) const noexcept { return rate_.ready(due_, now); }
  void spend(uint64_t now) noexcept { rate_.spend(due_, now); }  // where ready()
  bool take(uint64_t now) noexcept {
    if (!ready(now)) return false;
    spend(now);
    return true;
  }

 private:
  TokenBucketRate rate_;
  uint64_t due_ = 0;
};

// A tenth of a second's worth, and never less than a handful.
inline uint32_t punt_burst(uint32_t packets_per_second) noexcept {
  return std::max<uint32_t>(packets_per_second / 10, 16);
}

}  // namespace hecto::router
