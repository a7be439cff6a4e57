// Packets that a filter leads (docs/filters.md, "Tables, VRFs and marks"): by the table that its rule
// names, or by a policy rule that holds because of its mark. Linux knows of neither, so that what it
// would have to forward for such a packet it does not get: it would send it another way.
//
//   forget_named()     behind decap: what was named for an outer packet is not its inner one's
//   look_up_led()      behind look-up: those of a lane whose rule names a table, there; else they leave
//   keep_from_linux()  of what is refused: what Linux would send elsewhere is dropped by its own name,
//                      and a neighbor that is not known is asked for
//
// Source of what is kept: ip_rcv_finish(), which looks up whatever the packet was given for.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/filter/filter_views.hpp"

namespace hecto::router {

struct RuleTables;

// Of the router's own addresses Linux's table local comes first, whatever a rule names.
template <typename Address>
void look_up_led(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                 const FilterViews& filters) noexcept;

// Of packets that have the flag, in ol_flags: the table that was named for what they came in. Before
// any filter judges what was in it.
void forget_named(Chunk& chunk, uint64_t flag, const FilterLead& lead) noexcept;

// `rules`: the snapshot's, null where there are no VRFs. `opened`: in ol_flags, of what came out of a
// tunnel; 0: nothing did.
void keep_from_linux(Chunk& chunk, const FilterViews& filters, unsigned thread,
                     const TableViews& tables, const RuleTables* rules, uint64_t opened) noexcept;

// What becomes of a packet that is led and refused with that reason.
inline Reason reason_if_led(Reason reason) noexcept {
  // When it has expired Linux tells the sender, and forwards nothing.
  if (!info(reason).punt || reason == Reason::kTtlExpired) return reason;
  return reason == Reason::kGlean ? Reason::kFilterUnresolved : Reason::kFilterLed;
}

extern template void look_up_led(Lane4&, Chunk&, const TableViews&, const FilterViews&) noexcept;
extern template void look_up_led(Lane6&, Chunk&, const TableViews&, const FilterViews&) noexcept;

}  // namespace hecto::router
