// uRPF (RFC 3704): is there a way back to the source? Loose: any route but a discard. Strict: a
// route through the interface that the packet came in by. Compiled in only when some interface
// asks for it; packets that fail leave their lane as refused, the others close up.
//
// Linux's accept_local lets our own IPv4 addresses pass: strict those of the interface, loose all
// (fib_validate_source()).
//
// Where there are policy rules they say by which table the way back goes.
//
// What came in by an SA has its sender authenticated, and has come by the tunnel, not by the wire that
// carried it: the policy of that tunnel says who may send there (RFC 4301 §5.2).
#pragma once

#include <algorithm>

#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/policy_routing.hpp"
#include "router/dataplane/stages/sources.hpp"

namespace hecto::router {

namespace urpf_detail {

inline void look_up(const TableViews& t, const uint32_t* in, lookup::GroupId* out, unsigned n) {
  lookup_batch(t.fib4, in, out, n);
}
inline void look_up(const TableViews& t, const lookup::Ipv6Address* in, lookup::GroupId* out,
                    unsigned n) {
  lookup_batch(t.fib6, in, out, n);
}

// What no route of a neighbor's vouches for.
[[gnu::noinline, gnu::cold]] inline bool accepts_own(const InterfaceView& view, UrpfMode mode,
                                                     const TableViews& tables,
                                                     lookup::GroupId group,
                                                     uint32_t source) noexcept {
  const lookup::NextHopRecord& record = tables.next_hops.record(group);
  const bool own = record.kind == lookup::RecordKind::kPunt && record.own != 0;
  if (!view.accepts_own || !own) return false;
  return mode == UrpfMode::kLoose ||
         std::find(view.own4.begin(), view.own4.end(), source) != view.own4.end();
}
inline bool accepts_own(const InterfaceView&, UrpfMode, const TableViews&, lookup::GroupId,
                        const lookup::Ipv6Address&) noexcept {
  return false;  // of IPv4 alone
}

}  // namespace urpf_detail

template <typename Address>
inline void check_reverse_path(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                               const Snapshot& snapshot, uint64_t sa_flag,
                               const RuleTables* rules = nullptr) noexcept {
  if (lane.count == 0) return;
  alignas(64) Address sources[kChunkSize];
  lookup::GroupId groups[kChunkSize];
  read_sources(lane, sources);
  urpf_detail::look_up(tables, sources, groups, lane.count);
  Reason refusals[kChunkSize];  // by rules
  if (rules != nullptr) [[unlikely]]
    apply_rules_back(lane, sources, tables, *rules, groups, refusals);
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    const InterfaceId interface = lane.ingress[i].interface();
    const InterfaceView& view = snapshot.interfaces[interface];
    const UrpfMode mode = sizeof(Address) == 4 ? std::max(view.urpf, view.rp_filter) : view.urpf;
    const bool checked = mode != UrpfMode::kOff && (lane.packets[i]->ol_flags & sa_flag) == 0;
    const bool passes =
        !checked || (mode == UrpfMode::kStrict ? tables.urpf.reachable_by(groups[i], interface)
                                               : tables.urpf.reachable(groups[i]));
    if (rules != nullptr && checked && refusals[i] != Reason::kNone) [[unlikely]] {
      chunk.refuse(lane.packets[i], refusals[i], interface);
      continue;
    }
    if (!passes && !urpf_detail::accepts_own(view, mode, tables, groups[i], sources[i])) {
      chunk.refuse(lane.packets[i], Reason::kUrpf, interface);
      continue;
    }
    lane.packets[kept] = lane.packets[i];
    lane.destinations[kept] = lane.destinations[i];
    lane.ingress[kept] = lane.ingress[i];
    ++kept;
  }
  lane.count = kept;
}

}  // namespace hecto::router
