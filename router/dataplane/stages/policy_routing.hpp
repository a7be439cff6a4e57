// Linux's policy rules, where there are others than its usual three (RuleTable): asked behind the
// look-up, of what is forwarded and of what found no route. What they send elsewhere leaves its lane
// as refused, for Linux or for nobody; the others close up. What is for Linux by its route stays:
// Linux asks its rules itself.
//
// Not compiled in or out: without rules it is one test of a pointer for each chunk.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"

namespace hecto::router {

struct RuleTables;

template <typename Address>
void apply_rules(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                 const RuleTables& rules) noexcept;

// Before uRPF, which asks for the way back: the rules of a packet from destination to source, as
// fib_validate_source() asks them. What they do not leave to the main table goes to Linux, where it
// has such a switch, too. `sa_flag`: of packets that an SA vouches for.
template <typename Address>
void apply_rules_back(Lane<Address>& lane, Chunk& chunk, const RuleTables& rules,
                      const Snapshot& snapshot, uint64_t sa_flag) noexcept;

extern template void apply_rules(Lane4&, Chunk&, const TableViews&, const RuleTables&) noexcept;
extern template void apply_rules(Lane6&, Chunk&, const TableViews&, const RuleTables&) noexcept;
extern template void apply_rules_back(Lane4&, Chunk&, const RuleTables&, const Snapshot&,
                                      uint64_t) noexcept;
extern template void apply_rules_back(Lane6&, Chunk&, const RuleTables&, const Snapshot&,
                                      uint64_t) noexcept;

}  // namespace hecto::router
