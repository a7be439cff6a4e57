// Linux's switches `forwarding`: what comes in by an interface that does not forward its family is
// for the router itself, or for nobody. Linux is not asked of each: it would drop it without a word.
// What comes in by a port of a bridge or a bond of Linux is Linux's, which alone knows those.
// Compiled in with uRPF; packets that are refused leave their lane, the others close up.
#pragma once

#include "lookup/nexthop.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"

namespace hecto::router {

template <typename Address>
inline void check_forwarding(Lane<Address>& lane, Chunk& chunk,
                             const lookup::NextHopView& next_hops,
                             const Snapshot& snapshot) noexcept {
  using lookup::RecordKind;
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    const InterfaceId interface = lane.ingress[i].interface();
    const InterfaceView& view = snapshot.interfaces[interface];
    const RecordKind kind = next_hops.record(lane.groups[i]).kind;
    const bool goes_on = lookup::leaves_by_port(kind) || kind == RecordKind::kMultipath ||
                         kind == RecordKind::kTunnel;
    if (view.linux_only) {
      chunk.refuse(lane.packets[i], Reason::kLocal, interface);
      continue;
    }
    if (goes_on && !(sizeof(Address) == 4 ? view.forwards4 : view.forwards6)) {
      chunk.refuse(lane.packets[i], Reason::kNotForwarding, interface);
      continue;
    }
    lane.packets[kept] = lane.packets[i];
    lane.destinations[kept] = lane.destinations[i];
    lane.groups[kept] = lane.groups[i];
    lane.ingress[kept] = lane.ingress[i];
    ++kept;
  }
  lane.count = kept;
}

}  // namespace hecto::router
