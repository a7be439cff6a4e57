// How fast all routes of a next hop that died move to another one.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "bench/lib/family.hpp"
#include "bench/lookup/result.hpp"

namespace hecto::bench {

// A FIB with all routes behind one group; the group's next hop dies `rounds` times.
template <typename Family>
Result<DeadNextHopRow> kill_next_hop(const std::vector<Route<Family>>& routes, unsigned batch,
                                     unsigned rounds);

}  // namespace hecto::bench
