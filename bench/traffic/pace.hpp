// When a stream's packets are due. The schedule is counted from its start, so that no rounding adds
// up; what a pause has kept back follows at once, but only so much of it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hecto::bench {

class Pace {
 public:
  static constexpr double kCatchUp_s = 0.001;
  static constexpr uint64_t kCatchUp_packets = 512;  // half of a queue

  Pace() = default;
  Pace(double pps, uint64_t tsc_hz, uint64_t start, uint32_t burst) noexcept
      : per_cycle_(pps / static_cast<double>(tsc_hz)),
        start_(start),
        most_behind_(std::clamp<uint64_t>(static_cast<uint64_t>(pps * kCatchUp_s), burst,
                                          kCatchUp_packets)) {}

  // Packets to be sent now; more than are caught up with are skipped for good.
  uint64_t due(uint64_t now) noexcept {
    const uint64_t behind = wanted(now) - done_;
    if (behind <= most_behind_) return behind;
    skipped_ += behind - most_behind_;
    done_ += behind - most_behind_;
    return most_behind_;
  }
  void sent(uint64_t packets) noexcept { done_ += packets; }

  // From the start to `now`. The first packet is due at once.
  uint64_t wanted(uint64_t now) const noexcept {
    return static_cast<uint64_t>(static_cast<double>(now - start_) * per_cycle_) + 1;
  }
  uint64_t skipped() const noexcept { return skipped_; }

 private:
  double per_cycle_ = 0;
  uint64_t start_ = 0;
  uint64_t most_behind_ = 1;
  uint64_t done_ = 0;  // sent or skipped
  uint64_t skipped_ = 0;
};

}  // namespace hecto::bench
