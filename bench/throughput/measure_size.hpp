// What is measured of one frame size and family: the search, and what follows at its throughput.
#pragma once

#include <vector>

#include "bench/throughput/results.hpp"
#include "bench/throughput/throughput.hpp"

namespace hecto::bench {

// Over anything that carries out trials. `router` may be nullptr.
// `table` are the prefixes whose routes the blackout changes.
void measure_size(TrialRunner& runner, RouterProcess* router, const ThroughputOptions& options,
                  double load_pps, const std::vector<lookup::IpPrefix>& table, unsigned control_cpu,
                  SizeResult& size);

}  // namespace hecto::bench
