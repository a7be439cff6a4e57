#include "router/linux/mirror.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>

#include "router/linux/switches.hpp"

namespace hecto::router {
namespace {

#ifndef RTNLGRP_NEXTHOP
constexpr unsigned kNextHopGroup = 32;
#else
constexpr unsigned kNextHopGroup = RTNLGRP_NEXTHOP;
#endif

constexpr unsigned kBridgeVlanGroup = RTNLGRP_BRVLAN;
constexpr unsigned kLabelGroup = RTNLGRP_MPLS_ROUTE;

constexpr unsigned kGroups[] = {RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                RTNLGRP_IPV4_RULE,  RTNLGRP_IPV6_RULE,   RTNLGRP_IPV4_ROUTE,
                                RTNLGRP_IPV6_ROUTE, RTNLGRP_NEIGH};

constexpr size_t kMostDevices = 4;  // each costs the kernel a walk over its tables

}  // namespace

NetlinkMirror::NetlinkMirror(const NetworkNamespace& space, LinuxEvents& events,
                             const MirrorOptions& options, Sockets&& sockets)
    : MirrorBase(
          options, std::move(sockets),
          {dump_plan(), false, false,
           [&space, bytes = options.receive_buffer_bytes] { return open_sockets(space, bytes); }}),
      space_(space),
      events_(events),
      filtered_(sockets.dump.filtered()) {}

Result<MirrorBase::Sockets> NetlinkMirror::open_sockets(const NetworkNamespace& space,
                                                        uint32_t buffer_bytes) {
  auto live = NetlinkSocket::open(space);
  if (!live) return tl::unexpected(live.error());
  live->set_receive_buffer(buffer_bytes);
  for (const unsigned group : kGroups) {
    if (auto done = live->subscribe(group); !done) return tl::unexpected(done.error());
  }
  // Linux before 5.6 does not tell of bridges' VLANs, before 5.3 it has no next-hop objects.
  static_cast<void>(live->subscribe(kBridgeVlanGroup));
  static_cast<void>(live->subscribe(kNextHopGroup));
  static_cast<void>(live->subscribe(kLabelGroup));
  auto dump = DumpReader::open(space);
  if (!dump) return tl::unexpected(dump.error());
  return Sockets{std::move(*live), std::move(*dump)};
}

Result<std::unique_ptr<NetlinkMirror>> NetlinkMirror::open(const NetworkNamespace& space,
                                                           LinuxEvents& events,
                                                           const MirrorOptions& options) {
  auto sockets = open_sockets(space, options.receive_buffer_bytes);
  if (!sockets) return tl::unexpected(sockets.error());
  std::unique_ptr<NetlinkMirror> mirror(
      new NetlinkMirror(space, events, options, std::move(*sockets)));
  if (auto done = mirror->watch(); !done) return tl::unexpected(done.error());
  mirror->request_resync("start");
  return mirror;
}

void NetlinkMirror::deliver(const Message& message, bool live) {
  Decoded decoded = Decoded::kIgnored;
  switch (kind_of(message)) {
    case MessageKind::kLink:
      decoded = decode_link(message, link_);
      if (decoded == Decoded::kEvent) deliver_link(live);
      if (decoded != Decoded::kIgnored) break;
      decoded = decode_bridge_port(message, bridge_port_);
      if (decoded == Decoded::kEvent) events_.bridge_port(bridge_port_.ifindex, bridge_port_.port);
      break;
    case MessageKind::kAddress:
      decoded = decode_address(message, address_);
      if (decoded != Decoded::kEvent) break;
      events_.address(address_.address, address_.removed);
      // fib_sync_down_addr(), fib_disable_ip(): IPv4 routes that needed it go without a word.
      if (live && address_.removed && address_.address.address.address.family == Family::kIpv4) {
        resync_soon("an address was removed");
      }
      break;
    case MessageKind::kNeighbor:
      decoded = decode_neighbor(message, neighbor_);
      if (decoded == Decoded::kEvent) events_.neighbor(neighbor_.neighbor, neighbor_.removed);
      break;
    case MessageKind::kBridgeVlan:
      decoded = decode_bridge_vlans(message, bridge_vlans_);
      if (decoded == Decoded::kEvent)
        for (const LinuxBridgeVlans& vlans : bridge_vlans_.vlans)
          events_.bridge_vlans(vlans, bridge_vlans_.removed);
      break;
    case MessageKind::kFdb:
      decoded = decode_fdb_entry(message, fdb_);
      if (decoded == Decoded::kEvent) events_.fdb_entry(fdb_.entry, fdb_.removed);
      break;
    case MessageKind::kNextHop:
      decoded = decode_nexthop(message, nexthop_);
      if (decoded == Decoded::kEvent) deliver_nexthop(live);
      break;
    case MessageKind::kRule:
      decoded = decode_rule(message, rule_);
      if (decoded == Decoded::kEvent) events_.rule(rule_.rule, rule_.removed);
      break;
    case MessageKind::kRoute4:
    case MessageKind::kRoute6:
      decoded = decode_route(message, route_);
      if (decoded == Decoded::kEvent) events_.route(route_.route, route_.removed, route_.replace);
      break;
    case MessageKind::kLabelRoute:
      decoded = decode_label_route(message, label_route_);
      if (decoded == Decoded::kEvent) events_.label_route(label_route_.route, label_route_.removed);
      break;
    case MessageKind::kSa:
    case MessageKind::kPolicy:
    case MessageKind::kOther:
      break;
  }
  if (decoded == Decoded::kIgnored) ++stats_.ignored;
  if (decoded == Decoded::kMalformed) ++stats_.malformed;
}

// __remove_nexthop_fib(): IPv4 routes that named it go without a word. Whoever removes routes before
// the objects that they name (FRR does) leaves none, and a storm of removals costs nothing. While a
// dump goes on routes may wait to be told.
void NetlinkMirror::deliver_nexthop(bool live) {
  const bool silent =
      live && nexthop_.removed && (resyncing() || events_.names_nexthop_object(nexthop_.object.id));
  events_.nexthop_object(nexthop_.object, nexthop_.removed);
  const auto& hop = nexthop_.object.next_hop;
  if (silent) resync_soon("a next-hop object was removed", hop ? hop->ifindex : 0);
}

// fib_sync_down_dev(), fib_sync_up(), fib6_ifdown(), nexthop_flush_dev(): routes, next-hop objects
// and the dead flags of multipath legs follow a link's state without a word. All of them name the
// device, but an IPv6 route that keeps its next hops on others.
void NetlinkMirror::deliver_link(bool live) {
  const LinuxLink& link = link_.link;
  events_.link(link, link_.removed);
  const LinkState state{link.up, link.carrier};
  const auto known = links_.find(link.ifindex);
  const bool changed = link_.removed || (known != links_.end() && known->second != state);
  if (live && changed) {
    // No dump picks by a device that is not there; routes of any type leave by lo.
    const bool whole = link_.removed || link.name == "lo";
    resync_soon(fmt::format("link {} changed its state", link.name), whole ? 0 : link.ifindex);
  }
  if (link_.removed) {
    links_.erase(link.ifindex);
  } else {
    links_[link.ifindex] = state;
  }
}

std::vector<DumpPhase> NetlinkMirror::device_plan(int device) {
  if (!filtered_) return {};
  const std::vector<int> devices = events_.devices_beside(device);
  if (devices.empty() || devices.size() > kMostDevices) return {};
  return device_dump_plan(devices);
}

// A kernel without MPLS (mpls_router is a module) takes the request for one of all families.
bool NetlinkMirror::reads(const DumpPhase& phase) const {
  return phase.kind != MessageKind::kLabelRoute || has_labels(space_);
}

void NetlinkMirror::phase_begins(MessageKind kind) {
  if (kind == MessageKind::kLink) links_.clear();
}

void NetlinkMirror::dump_was_read(DumpConsistency& consistency) {
  consistency.read_stopped_at(route_.route);
}

}  // namespace hecto::router
