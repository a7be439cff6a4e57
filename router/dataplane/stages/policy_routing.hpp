// Linux's policy rules, where there are others than its usual three (RuleTable): asked behind the
// look-up, of what is forwarded and of what found no route. They may send it by another table. What
// they refuse or leave to Linux leaves its lane; the others close up. What is for Linux by its route
// stays: Linux asks its rules itself.
//
//   look_up_by_rules()  a lane of one interface whose first rule leads to one table: there; else main
//   apply_rules()       the other tables, and what rules refuse
//
// Not compiled in or out: without rules it is one test of a pointer for each chunk.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"

namespace hecto::router {

struct FilterViews;
struct RuleTables;

// Where all IPv4 packets of the interface are looked up first.
lookup::Fib4View first_fib4(InterfaceId interface, const TableViews& tables,
                            const RuleTables& rules) noexcept;

template <typename Address>
void look_up_by_rules(Lane<Address>& lane, const TableViews& tables,
                      const RuleTables& rules) noexcept;

// `filters`: whose marks are asked for; what they lead to a table (look_up_led) asks no rules. Null:
// there are none.
template <typename Address>
void apply_rules(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                 const RuleTables& rules, const FilterViews* filters = nullptr) noexcept;

// Of uRPF, which asks for the way back: the rules of packets from destination to source, as
// fib_validate_source() asks them. In `groups` are those of the main table; other tables' take their
// places. `refusals`: kNone, or what becomes of a packet that is checked.
template <typename Address>
void apply_rules_back(const Lane<Address>& lane, const Address* sources, const TableViews& tables,
                      const RuleTables& rules, lookup::GroupId* groups, Reason* refusals) noexcept;

extern template void apply_rules(Lane4&, Chunk&, const TableViews&, const RuleTables&,
                                 const FilterViews*) noexcept;
extern template void apply_rules(Lane6&, Chunk&, const TableViews&, const RuleTables&,
                                 const FilterViews*) noexcept;
extern template void look_up_by_rules(Lane4&, const TableViews&, const RuleTables&) noexcept;
extern template void look_up_by_rules(Lane6&, const TableViews&, const RuleTables&) noexcept;
extern template void apply_rules_back(const Lane4&, const uint32_t*, const TableViews&,
                                      const RuleTables&, lookup::GroupId*, Reason*) noexcept;
extern template void apply_rules_back(const Lane6&, const lookup::Ipv6Address*, const TableViews&,
                                      const RuleTables&, lookup::GroupId*, Reason*) noexcept;

}  // namespace hecto::router
