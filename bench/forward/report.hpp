// What `hecto-bench forward` has measured, as a table and as JSON.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/bed/slices.hpp"
#include "bench/forward/forward.hpp"

namespace hecto::bench {

// One thing that is measured, over its rounds.
struct ForwardSeries {
  BedWork work;
  std::vector<double> cycles = {};  // TSC a packet
  std::vector<double> taken = {};   // share of the core that others had
  std::array<std::vector<double>, kBedStages> stages = {};
};

// What took turns with packets from one cache, in bursts of one size.
struct ForwardPoint {
  PacketCache cache;
  size_t kind;  // of the bed's frames
  unsigned burst;
  std::vector<ForwardSeries> series = {};
};

struct ForwardRow {
  std::string name;
  double cycles, mpps, gbps, spread, taken;
  // Of the differences round by round: their median, and how far their middle half lies apart.
  std::optional<double> over_floor, over_floor_spread;
  std::vector<double> stages;
};
std::vector<ForwardRow> rows_of(const ForwardPoint& point, double frame_bytes, double tsc_hz);

// The point that stands for a NIC and for all: the second-level cache where it was measured, the
// largest burst.
const ForwardPoint& main_point(const std::vector<ForwardPoint>& points);

struct ForwardReport {
  const ForwardOptions& options;
  Bed& bed;
  const std::vector<ForwardPoint>& points;
  uint64_t verified;  // packets
};
void print(const ForwardReport& report);
// The rows of the main point at the top, those of all points below `points`.
nlohmann::json to_json(const ForwardReport& report);

}  // namespace hecto::bench
