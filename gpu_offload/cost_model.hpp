// What work costs, learnt while it runs: fixed + per item + per byte, in nanoseconds.
//
// Least squares over the recent past (a sample's weight halves every 35), relative to the cost, so
// that large batches do not outweigh small ones. No part is negative; where the samples cannot tell
// two parts from each other (items and bytes of keys), any split gives the same sum. Some hundred
// flops a sample; noexcept, no allocation.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hecto::gpu_offload {

class CostModel {
 public:
  void add(double items, double bytes, double cost_ns) noexcept {
    cost_ns = std::max(cost_ns, 1.0);
    const double x[kParts] = {1, items, bytes};
    const double weight = 1 / (cost_ns * cost_ns);
    for (int i = 0; i < kParts; ++i) {
      for (int j = 0; j < kParts; ++j) square_[i][j] = kKeep * square_[i][j] + weight * x[i] * x[j];
      right_[i] = kKeep * right_[i] + weight * x[i] * cost_ns;
    }
    ++samples_;
    for (int sweep = 0; sweep < kSweeps; ++sweep) improve();
  }
  double cost_ns(double items, double bytes) const noexcept {
    return part_[0] + part_[1] * items + part_[2] * bytes;
  }
  bool known() const noexcept { return samples_ >= kEnough; }
  double fixed_ns() const noexcept { return part_[0]; }
  double item_ns() const noexcept { return part_[1]; }
  double byte_ns() const noexcept { return part_[2]; }

 private:
  static constexpr int kParts = 3;
  static constexpr int kSweeps = 8;  // from where the last sample left off
  static constexpr double kKeep = 0.98;
  static constexpr uint64_t kEnough = 4;

  // One sweep of coordinate descent: each part the best that is not negative, given the others.
  void improve() noexcept {
    for (int i = 0; i < kParts; ++i) {
      if (square_[i][i] == 0) continue;
      double rest = right_[i];
      for (int j = 0; j < kParts; ++j) rest -= j == i ? 0 : square_[i][j] * part_[j];
      part_[i] = std::max(rest / square_[i][i], 0.0);
    }
  }

  double square_[kParts][kParts] = {};
  double right_[kParts] = {};
  double part_[kParts] = {};
  uint64_t samples_ = 0;
};

}  // namespace hecto::gpu_offload
