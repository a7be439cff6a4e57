// One round of the constants of the worker's stages and of memory ports: slices of the bed's first
// worker at 64 bytes, with plain frames, with copied ones and with a first-level cache that is
// swept out, and copies alone. Rounds are short, so that what they are held against can be measured
// right after, on a machine whose speed drifts.
#pragma once

#include <optional>
#include <vector>

#include "bench/bed/copies.hpp"
#include "bench/bed/measured_constants.hpp"
#include "bench/bed/slices.hpp"

namespace hecto::bench {

// The kinds of frames that a bed must have first.
std::vector<ReplayFrames> calibration_frames();

// What one round measured, in TSC ticks a packet at 64 bytes.
struct RoundCycles {
  Slice ipv4, ipv6;  // through the worker, with stages
  double floor = 0, copied_floor = 0, swept_floor = 0, swept_ipv4 = 0;
  double sampling = 0;  // what reading the clock at the end of a stage costs
  CopyCycles copy{};
};
void take_round(const RoundCycles& cycles, MeasuredConstants& found);

class CalibrationRounds {
 public:
  CalibrationRounds(Bed& bed, Slices& slices, unsigned burst, bool quick);
  // Nothing when no chunk of the worker was sampled. The bed's frames are left at any kind.
  std::optional<RoundCycles> run();

 private:
  Bed& bed_;
  Slices& slices_;
  unsigned burst_;
  bool quick_;
  Copies copies_;
};

}  // namespace hecto::bench
