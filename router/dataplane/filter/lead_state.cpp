#include "router/dataplane/filter/lead_state.hpp"

#include <fmt/format.h>

namespace hecto::router {

Result<void> add_leads(FilterState& out, const FilterState* before, bool by_tables) {
  const auto lead = register_filter_lead();
  if (!lead) return tl::unexpected(lead.error());
  const unsigned threads = out.slots->threads();
  const bool goes_on = before != nullptr && before->wanted && before->wanted->threads() == threads;
  out.wanted = goes_on ? before->wanted : std::make_shared<WantedNeighbors>(threads);
  for (FilterViews& views : out.views) {
    views.lead = *lead;
    views.leads = by_tables;
    views.wanted = out.wanted.get();
  }
  return {};
}

std::string no_table_words(const config::FilterRuleConfig& rule) {
  const std::string what =
      rule.vrf.empty() ? fmt::format("there is no room for table {}", rule.table)
                       : fmt::format("there is no VRF {} (now), or no room for it", rule.vrf);
  return what + ": its packets are dropped (filter_no_table)";
}

}  // namespace hecto::router
