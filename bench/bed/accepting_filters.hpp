// A filter of a bed's receive ports that accepts all, so that what is measured is the judging: of its rules
// every other one is for a network that packets go to, the others are for sources and ports of nobody.
#pragma once

#include <memory>

#include "bench/bed/replay.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::bench {

struct AcceptingFilters {
  unsigned rules = 0;             // of each family
  bool policed = false;           // what no rule holds for
  unsigned policed_prefixes = 0;  // likewise, each of so many destinations of a family by itself
};

// For the interfaces of that VRF, as the surroundings say.
Result<std::shared_ptr<const router::FilterTables>> accepting_filters(
    const AcceptingFilters& options, const ReplayDestinations& destinations,
    const router::FilterSurroundings& around);

}  // namespace hecto::bench
