// Who else has what a rule holds for: the log, sFlow, a port that gets copies.
#pragma once

#include <vector>

#include "config/file/filters.hpp"
#include "router/dataplane/filter/filter_state.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/filter_views.hpp"

namespace hecto::router {

// Of the rule whose action is the last one of `view`, and which has that number. True: it is told in the
// log. Into `mirrors` where it has a port get copies, which bind_filters() looks for.
bool add_telling(const config::FilterRuleConfig& rule, uint32_t number,
                 const FilterSurroundings& around, FilterView& view,
                 std::vector<FilterState::Mirror>& mirrors);

}  // namespace hecto::router
