// Where packets meet filters: interfaces, VRFs, what is for the router; and ports that get copies. Names
// come and go while rules stay, so that is bound anew without compiling anything.
#pragma once

#include "config/file/filters.hpp"
#include "router/dataplane/filter/filter_state.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

// Into `out`, whose filters are those of the configuration.
void bind_filters(const config::FiltersConfig& config, const FilterSurroundings& around,
                  FilterState& out);

// Of `from` all but where it is bound.
void share_filters(const FilterState& from, FilterState& out);

}  // namespace hecto::router
