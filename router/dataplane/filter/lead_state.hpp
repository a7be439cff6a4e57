// What a compilation keeps for packets that filters lead to tables, and says of tables that are not there.
#pragma once

#include <string>

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/filter/filter_state.hpp"

namespace hecto::router {

// `by_tables`: some rule names one; else marks alone lead, by policy rules.
Result<void> add_leads(FilterState& out, const FilterState* before, bool by_tables);
std::string no_table_words(const config::FilterRuleConfig& rule);

}  // namespace hecto::router
