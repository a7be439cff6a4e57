// One peer measured once: the ports are made, the peer started, a generator run for each size, and
// everything taken away again.
#pragma once

#include "bench/compare/compare.hpp"

namespace hecto::bench {

// Adds what was measured to `peer`. An error is one line for its failures; sizes before it count.
Result<void> measure_peer(const CompareResult& setting, PeerResult& peer,
                          const std::atomic<bool>& stop);

}  // namespace hecto::bench
