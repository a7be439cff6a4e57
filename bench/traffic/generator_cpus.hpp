// On which CPUs a generator runs.
#pragma once

#include <vector>

#include "base/result.hpp"

namespace hecto::bench {

// Those wanted, if this process may use them; none wanted: the last that it may use. Where DPDK runs
// already (no `start_eal`) the caller's own thread stands for the first.
Result<std::vector<unsigned>> choose_cpus(const std::vector<unsigned>& wanted, bool start_eal);

}  // namespace hecto::bench
