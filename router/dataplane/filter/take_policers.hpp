// The policers of a compilation: those of the file that rules name, and of each interface that one of
// them names its own.
#pragma once

#include "router/dataplane/filter/filter_state.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

// One that says the same, for rules or for the same interface and way, goes on with tokens and counts.
// Fails where prefixes that have a bucket each are too many for what is free, too.
Result<void> take_policers(const config::FiltersConfig& config, const FilterSurroundings& around,
                           const FilterState* before, FilterState& out);

}  // namespace hecto::router
