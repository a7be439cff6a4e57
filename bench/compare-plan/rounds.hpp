// Rounds of one size: the machine's constants and what they are to predict, in turn.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/compare-plan/compare_plan.hpp"
#include "config/capacity/cycles.hpp"

namespace hecto::bench {

// The model's cycles for packets of these sizes, copied in and out by their ports. `series`: floor
// (receive and transmit alone), ipv4 or ipv6.
config::PacketCycles predict(const config::Constants& constants, const std::string& series,
                             const std::vector<uint16_t>& sizes);

// Packets that rounds of calibration measure themselves.
bool is_calibrated(const std::vector<uint16_t>& sizes);

// One size, in this process; DPDK starts in it.
Result<std::vector<PlanRow>> compare_size(const ComparePlanOptions& options,
                                          const std::string& size);
}  // namespace hecto::bench
