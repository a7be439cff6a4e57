// Who else has what a rule holds for: the log, sFlow, a port that gets copies.
#pragma once

#include <string>
#include <vector>

#include "config/file/filters.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/filter_views.hpp"

namespace hecto::router {

// Of the rule whose action is the last one of `view`. True: it is told in the log. `notes`: what is not
// as the file says.
bool add_telling(const config::FilterRuleConfig& rule, const std::string& name,
                 const FilterSurroundings& around, FilterView& view,
                 std::vector<std::string>& notes);

}  // namespace hecto::router
