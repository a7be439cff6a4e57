// The routing state as control sees it: what Linux (by netlink), the file and the API say, before
// it becomes FIB entries and next-hop records. Values only; owned by the control thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {

using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;

// Labels of MPLS (RFC 3032), the outermost first, and what they do to the TTL (RFC 3443).
struct LabelStack {
  static constexpr unsigned kMost = 4;
  std::array<uint32_t, kMost> labels{};
  uint8_t count = 0;
  // 0: one TTL for labels and what is inside (uniform); else the one that labels begin with, and what
  // is inside keeps its own (pipe). None: as net.mpls.ip_ttl_propagate says.
  std::optional<uint8_t> ttl = {};
  auto operator<=>(const LabelStack&) const = default;
};
inline constexpr uint32_t kMostLabels = 1 << 20;

struct NextHop {
  std::optional<IpAddress> gateway;  // none: on-link
  int ifindex = 0;                   // Linux's number; 0: by `interface`
  InterfaceId interface = kNoInterface;
  uint16_t weight = 1;     // 1 to 256
  bool dead = false;       // RTNH_F_DEAD or RTNH_F_LINKDOWN
  LabelStack labels = {};  // that it puts on packets
  bool operator==(const NextHop&) const = default;
};

struct Route {
  IpPrefix prefix;  // host bits zero
  RouteOrigin origin = RouteOrigin::kLinux;
  RouteType type = RouteType::kUnicast;
  uint8_t protocol = 0;  // rtm_protocol: kernel 2, boot 3, static 4, bgp 186, ospf 188 ...
  uint32_t table = 254;  // RT_TABLE_MAIN 254, LOCAL 255, DEFAULT 253
  uint32_t metric = 0;
  uint8_t tos = 0;
  uint16_t mtu = 0;             // RTAX_MTU: bytes of L3 packet, locked or not; 0: the interface's
  uint32_t nexthop_object = 0;  // RTA_NH_ID; then `next_hops` is empty
  bool first = false;  // before the others of its prefix, table and metric (`ip route prepend`)
  std::vector<NextHop> next_hops;
  bool operator==(const Route&) const = default;
};

// What becomes of packets that come in with a label (`ip -f mpls route`): it goes, and the labels of
// a next hop come in its place. A next hop without gateway is a VRF or lo, which receives what is
// inside.
struct LabelRoute {
  uint32_t label = 0;
  uint8_t protocol = 0;  // as of a Route
  std::vector<NextHop> next_hops;
  std::string beyond;  // what of it the fast path does not do, in words; empty: nothing
  bool operator==(const LabelRoute&) const = default;
};

// net.mpls of a namespace.
struct LabelSwitches {
  uint32_t platform_labels = 0;  // labels from here on have no routes; 0: no MPLS
  bool propagates_ttl = true;
  uint8_t default_ttl = 255;
  bool operator==(const LabelSwitches&) const = default;
};

// A kernel next-hop object (`ip nexthop`).
struct NextHopObject {
  uint32_t id = 0;
  bool blackhole = false;
  std::optional<NextHop> next_hop;  // a single one, or
  struct Member {
    uint32_t id;
    uint16_t weight;
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members;  // a group of other objects
  bool operator==(const NextHopObject&) const = default;
};

// Where packets of an interface come in: with this VLAN's tag, 0: without.
struct Attachment {
  PortId port = 0;
  uint16_t vlan = 0;
  bool operator==(const Attachment&) const = default;
};

// Of a link of kind bridge.
struct LinuxBridge {
  bool filters_vlans = false;
  bool service_tags = false;    // its VLANs are those of 802.1ad
  uint32_t ageing_cs = 30'000;  // hundredths of a second
  bool operator==(const LinuxBridge&) const = default;
};

// Of a link that is a port of a bridge.
struct LinuxBridgePort {
  bool forwards = true, learns = true;  // by its state (STP) and its own settings
  bool isolated = false, hairpin = false;
  bool beyond = false;  // 802.1X locks, VLAN tunnels, ARP and ND suppression, a backup port
  bool operator==(const LinuxBridgePort&) const = default;
};

// Of a link that is a tunnel over IP: gre, ipip, sit, ip6gre, ip6tnl.
struct LinuxTunnel {
  bool gre = false;                         // else IP in IP
  IpAddress local, remote;                  // of the outer packets; of one family
  int link = 0;                             // by which these leave; 0: by their route
  std::optional<uint32_t> key_in, key_out;  // of GRE (RFC 2890)
  bool carries4 = true, carries6 = true;    // what it takes inside
  uint8_t ttl = 0;                          // 0: of the packet inside
  uint8_t tos = 0;                          // its DSCP
  bool inherits_tos = false;                // DSCP of the packet inside
  uint32_t flow_label = 0;                  // 0: by the flow inside
  std::optional<uint8_t> encap_limit;       // RFC 2473 §4.1.1
  bool sets_df = false;                     // pmtudisc
  std::string beyond;  // what of it the fast path does not do, in words; empty: nothing
  bool operator==(const LinuxTunnel&) const = default;
};

struct LinuxLink {
  int ifindex = 0;
  std::string name;
  MacAddress mac{};
  uint32_t mtu = 0;
  bool up = false;       // IFF_UP
  bool carrier = false;  // IFF_LOWER_UP
  int parent = 0;        // IFLA_LINK of a VLAN device, and of a macvlan with an address of its own
  uint16_t vlan = 0;     // IFLA_VLAN_ID, 0: no VLAN device
  // A device on `parent` that the fast path has no interface for, in words; empty: none such.
  std::string left_out = {};
  uint32_t if_id = 0;      // IFLA_XFRM_IF_ID, 0: no IPsec interface
  int master = 0;          // IFLA_MASTER: of a bridge, bond or VRF that it belongs to
  std::string kind = {};   // IFLA_INFO_KIND: vlan, bridge, vrf, ...; empty: a device by itself
  uint32_t vrf_table = 0;  // IFLA_VRF_TABLE of a VRF, 0: none
  std::optional<LinuxBridge> bridge = {};
  std::optional<LinuxBridgePort> bridge_port = {};
  std::optional<LinuxTunnel> tunnel = {};
  bool service_tag = false;  // of a VLAN device: its tag is one of 802.1ad
  bool operator==(const LinuxLink&) const = default;
};

struct LinuxAddress {
  int ifindex = 0;
  IpPrefix address;  // host bits kept
  bool operator==(const LinuxAddress&) const = default;
};

struct LinuxNeighbor {
  int ifindex = 0;
  IpAddress address;
  MacAddress mac{};
  uint16_t state = 0;   // NUD_*
  bool usable = false;  // has a MAC and is not FAILED or INCOMPLETE
  bool operator==(const LinuxNeighbor&) const = default;
};

// An entry of a bridge's forwarding database.
struct LinuxFdbEntry {
  int bridge = 0;
  int port = 0;  // of the bridge; its own for entries of its own
  uint16_t vlan = 0;
  MacAddress mac{};
  bool local = false;  // an address of the bridge's or of a port's own
  bool fixed = false;  // does not age
  bool operator==(const LinuxFdbEntry&) const = default;
};

// VLANs that a bridge, or a port of one, is in.
struct LinuxBridgeVlans {
  int ifindex = 0;
  uint16_t first = 0, last = 0;
  bool pvid = false, untagged = false;
};

struct PolicyRule;

// What the netlink mirror calls, on the control thread. Between resync_begin and resync_end the
// kernel's whole state is replayed; what was not replayed is gone by then.
class LinuxEvents {
 public:
  virtual ~LinuxEvents() = default;
  virtual void link(const LinuxLink& link, bool removed) = 0;
  virtual void address(const LinuxAddress& address, bool removed) = 0;
  virtual void neighbor(const LinuxNeighbor& neighbor, bool removed) = 0;
  // Of bridges. What a port is like is told with its link, and alone when that alone has changed.
  virtual void bridge_port(int /*ifindex*/, const LinuxBridgePort&) {}
  virtual void bridge_vlans(const LinuxBridgeVlans&, bool /*removed*/) {}
  virtual void fdb_entry(const LinuxFdbEntry&, bool /*removed*/) {}
  // It is sent to already, at that MAC.
  virtual bool sends_to(const LinuxNeighbor&) const { return false; }
  virtual void nexthop_object(const NextHopObject& object, bool removed) = 0;
  // Whether a route names it, itself or by a group. True where that is not known.
  virtual bool names_nexthop_object(uint32_t) const { return true; }
  // `replace`: the kernel put it in the place of another route of the same prefix, table, tos and
  // metric (NLM_F_REPLACE). An IPv6 removal may name only some next hops of a multipath route.
  virtual void route(const Route& route, bool removed, bool replace) = 0;
  virtual void label_route(const LabelRoute&, bool /*removed*/) {}
  // A policy rule; `removed`: it goes.
  virtual void rule(const PolicyRule&, bool) {}
  virtual void resync_begin(const std::string& why) = 0;
  // A resync of less: every next-hop object, every label, every route of the local table, and of the
  // others the routes that leave by one of devices_beside(ifindex). What leaves by `ifindex`, an object,
  // a label or a route of the local table that was not replayed is gone by resync_end(); nothing else.
  virtual void device_resync_begin(int ifindex, const std::string& why) = 0;
  virtual void resync_end() = 0;
  // The devices of all routes that have a next hop on this one, itself among them: Linux may take
  // one next hop off a multipath route and leave the others. Empty: not known, only a whole resync
  // will do.
  virtual std::vector<int> devices_beside(int) const { return {}; }
};

}  // namespace hecto::router
