// Rules of a filter that never hold because earlier ones hold for all that they ask for. Pure.
//
// A rule is taken apart by family and by its spans of ports, and each part is looked for among earlier
// rules, of which one has to hold for all of it. They lie in a tuple space (Srinivasan, Suri, Varghese,
// "Packet classification using tuple space search", 1999): by the prefix of `from`, within that by the
// one of `to`, within that by which other fields they ask for, and in each by the values of those. So a
// rule costs a few probes for each length of prefix that is there.
//
// Not found: a part that several rules hold for together, as two halves of a range; sets within sets.
#pragma once

#include <cstddef>
#include <vector>

#include "config/file/filters.hpp"

namespace hecto::config {

struct CoveredRule {
  size_t rule;             // its place in FilterConfig::rules
  std::vector<size_t> by;  // the earlier ones, sorted; one, or several for its parts
  bool operator==(const CoveredRule&) const = default;
};

struct Coverage {
  std::vector<CoveredRule> covered;
  // Else there were so many rules alike that comparing ended early, and others may be covered.
  bool complete = true;
};

Coverage covered_rules(const FilterConfig& filter, const std::vector<PrefixSetConfig>& sets);

// Which packets a rule may hold for, by how they were cut: whole ones, first and later fragments.
inline constexpr unsigned kWholePackets = 1, kFirstFragments = 2, kLaterFragments = 4;
unsigned fragments_of(const FilterRuleConfig& rule) noexcept;

}  // namespace hecto::config
