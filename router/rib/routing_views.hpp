// What Routing tells those who ask (`hecto show`, the API): plain copies, valid for ever.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/reason.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

struct NextHopView {
  std::optional<IpAddress> gateway;  // none: on-link
  InterfaceId interface = kNoInterface;
  int ifindex = 0;
  std::string interface_name;  // empty: not one of the router's
  uint16_t weight = 1;
  bool dead = false;  // dead in Linux, or the interface is down
  LabelStack labels;  // that it puts on packets
};

struct RouteView {
  IpPrefix prefix;
  RouteType type = RouteType::kUnicast;
  RouteOrigin origin = RouteOrigin::kLinux;
  uint8_t protocol = 0;
  uint32_t table = 254;
  uint32_t metric = 0;
  uint32_t load = 0;                         // 0: of no load
  uint32_t nexthop_object = 0;               // 0: none; `next_hops` says what it stands for
  bool selected = false;                     // the best of its prefix
  bool installed = false;                    // selected, and the FIB has it with its own group
  lookup::GroupId group = lookup::kNoRoute;  // kNoRoute: none, or none was left
  std::vector<NextHopView> next_hops;
  // Who has the same one besides: a route of the file is in Linux too, and comes back from there.
  std::vector<RouteOrigin> also;
  std::string why;  // only from explain(): why selected, or why not
};

// A label that comes in, and what becomes of its packets.
struct LabelRouteView {
  uint32_t label = 0;
  uint8_t protocol = 0;
  std::string beyond;       // why it is Linux's, in words; empty: it is not
  std::string received_by;  // the VRF that has what is inside, or lo; empty: it goes on
  lookup::GroupId group = lookup::kNoRoute;
  lookup::NextHopRecord record{};  // of one next hop; of several the head
  std::vector<NextHopView> next_hops;
};

struct LabelCounts {
  size_t routes = 0, linuxs = 0;  // all, and those that only Linux can do
};

struct NeighborView {
  IpAddress address;
  InterfaceId interface = kNoInterface;
  int ifindex = 0;
  std::string interface_name;
  MacAddress mac{};
  uint16_t state = 0;  // NUD_*
  bool usable = false;
  bool configured = false;                   // not from Linux
  lookup::GroupId group = lookup::kNoRoute;  // that sends to it, kNoRoute: none
};

// One member of a group, or the group itself where it has no members.
struct GroupMemberView {
  lookup::GroupId group = lookup::kNoRoute;
  uint16_t weight = 1;
  uint32_t buckets = 1;  // of the group's
  bool dead = false;     // left out
  NextHopView next_hop;
  lookup::NextHopRecord record{};  // kind, reason, rewrite bytes, port, MTU
  std::optional<NeighborView> neighbor;
};

struct GroupView {
  lookup::GroupId group = lookup::kNoRoute;
  Family family = Family::kIpv4;  // of the packets
  uint32_t nexthop_object = 0;
  lookup::NextHopRecord record{};
  uint32_t buckets = 1;
  std::vector<GroupMemberView> members;  // one for a group without ECMP
  uint32_t routes = 0;                   // prefixes that point at it
};

struct Explanation {
  IpAddress address;
  std::optional<IpPrefix> match;      // the longest prefix; none: no route
  std::vector<std::string> why;       // in sentences
  std::vector<RouteView> candidates;  // of all prefixes that hold the address, the best on top
  std::optional<GroupView> group;
};

// The prefix that packets to an address go by; neighbors' own count as the one that they are on.
struct RouteMatch {
  uint8_t length = 0;
  lookup::GroupId group = lookup::kNoRoute;
  bool on_link = false;  // the address is a neighbor's, or would be
};

struct RouteFilter {
  uint32_t table = 254;  // local, main and default are one; nothing is in one that is not there
  std::optional<IpPrefix> within;  // it, and what it covers
  std::optional<RouteOrigin> origin;
  std::optional<uint8_t> protocol;
  InterfaceId interface = kNoInterface;  // that a next hop leads out by
  bool selected_only = false;
};

// local, main and default count as one, main.
struct TableView {
  uint32_t linux_number = 254;
  uint64_t prefixes4 = 0, prefixes6 = 0;
  bool large4 = false, large6 = false;  // in a FIB of its own (main, always)
  uint64_t incomplete = 0;  // prefixes that the forwarding table or the groups had no room for
};

struct RoutePage {
  std::vector<RouteView> routes;
  std::optional<IpPrefix> next;  // the last prefix looked at; none: this was the end
};

struct RouteCounts {
  uint64_t total = 0, ipv4 = 0, ipv6 = 0;  // routes, not prefixes
  std::array<uint64_t, 4> by_origin{};     // by RouteOrigin
  std::map<uint8_t, uint64_t> by_protocol;
};

struct RoutingStatistics {
  uint64_t prefixes4 = 0, prefixes6 = 0;
  uint64_t rib_bytes = 0;
  uint64_t fib_writes = 0;
  uint64_t records_written = 0;      // next-hop records and bucket lists
  uint64_t groups_refused = 0;       // next-hop sets for which no group was left
  uint64_t prefixes_refused = 0;     // by a full FIB
  uint64_t prefixes_incomplete = 0;  // now not in the FIB, or punted for want of a group
  uint32_t sets = 0;
  uint32_t neighbors = 0;
  uint64_t ignored_tos = 0;         // routes with a TOS: not looked at by the fast path
  uint64_t ignored_table = 0;       // routes of tables for which there was no room
  uint64_t unmatched_removals = 0;  // Linux removed what we did not know
  uint64_t resyncs = 0;
  uint64_t swept = 0;  // routes that a resync did not confirm
};

}  // namespace hecto::router
