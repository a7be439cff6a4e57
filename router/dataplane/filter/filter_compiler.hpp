// From the configuration to FilterState: names, slots, actions, contexts, places. One compilation each.
#pragma once

#include "config/file/filters.hpp"
#include "router/dataplane/filter/filter_state.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

// Into `out`, which is new. On an error `out` is to go; `before` (null: there was none) is as it was.
Result<void> compile_filters(const config::FiltersConfig& config, const FilterSurroundings& around,
                             const FilterState* before, FilterState& out);

}  // namespace hecto::router
