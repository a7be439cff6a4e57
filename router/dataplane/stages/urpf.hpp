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

template <typename Address>
UrpfMode mode_of(const InterfaceView& view) noexcept {
  return sizeof(Address) == 4 ? std::max(view.urpf, view.rp_filter) : view.urpf;
}

// `group`: of the way back to the source; `mode`: not off.
template <typename Address>
bool has_way_back(const InterfaceView& view, UrpfMode mode, InterfaceId interface,
                  const TableViews& tables, lookup::GroupId group, const Address& source) noexcept {
  const bool reached = mode == UrpfMode::kStrict ? tables.urpf.reachable_by(group, interface)
                                                 : tables.urpf.reachable(group);
  return reached || accepts_own(view, mode, tables, group, source);
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
    const UrpfMode mode = urpf_detail::mode_of<Address>(view);
    const bool checked = mode != UrpfMode::kOff && (lane.packets[i]->ol_flags & sa_flag) == 0;
    if (rules != nullptr && checked && refusals[i] != Reason::kNone) [[unlikely]] {
      chunk.refuse(lane.packets[i], refusals[i], interface);
      continue;
    }
    if (checked &&
        !urpf_detail::has_way_back(view, mode, interface, tables, groups[i], sources[i])) {
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

// Of one packet, beside a lane: whether it would stay in one.
template <typename Address>
[[gnu::noinline]] bool passes_reverse_path(rte_mbuf* packet, Ingress ingress,
                                           const Address& destination, const TableViews& tables,
                                           const Snapshot& snapshot,
                                           const RuleTables* rules) noexcept {
  const InterfaceView& view = snapshot.interfaces[ingress.interface()];
  const UrpfMode mode = urpf_detail::mode_of<Address>(view);
  if (mode == UrpfMode::kOff) return true;
  Lane<Address> alone;
  alone.count = 1;
  alone.packets[0] = packet;
  alone.destinations[0] = destination;
  alone.ingress[0] = ingress;
  Address source;
  lookup::GroupId group;
  Reason refusal = Reason::kNone;
  read_sources(alone, &source);
  urpf_detail::look_up(tables, &source, &group, 1);
  if (rules != nullptr) apply_rules_back(alone, &source, tables, *rules, &group, &refusal);
  return refusal == Reason::kNone &&
         urpf_detail::has_way_back(view, mode, ingress.interface(), tables, group, source);
}

}  // namespace hecto::router
