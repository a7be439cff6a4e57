// The L3 interfaces of the router (a port, or a VLAN of one, by one tag or two) as control knows them: what the
// ports say, and what Linux says of their twins. Owned by the control thread.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "router/rib/bridges.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

// One less than the bits of a UrpfTable entry: the last bit has a meaning of its own.
inline constexpr InterfaceId kMaxInterfaceId = 1022;

struct Vrf {
  std::string name;
  uint32_t table = 0;  // Linux's number; 0: no VRF
  bool operator==(const Vrf&) const = default;
};

// An IPsec interface of Linux that is up, in a VRF.
struct IpsecInVrf {
  uint32_t if_id, vrf_table;
};

struct InterfaceState {
  InterfaceId id = kNoInterface;
  std::string name;
  PortId port = 0;  // DPDK's number; kNoPort: a bridge's
  VlanTags tags;    // of a bridge's: one of 802.1Q at most
  MacAddress mac{};
  uint16_t mtu = 1500;  // bytes of L3 packet
  bool up = true;       // admin state and carrier of the port
  int ifindex = 0;      // of the twin in Linux, 0: there is none
  // Of a macvlan of Linux: the interface whose wire it shares, with a MAC of its own.
  InterfaceId parent = kNoInterface;
  // Of a bridge of Linux, or of a VLAN of one: that bridge's ifindex. It leaves by the port that the
  // forwarding database has.
  int bridge = 0;
  bool tunnel = false;      // over IP: packets for it go into it, whatever their gateway
  bool vrf_device = false;  // a VRF's own device: it has what labels (MPLS) lead into the VRF
  // From the configuration, host bits kept. Without a twin LocalRoutes makes the connected and
  // local routes of these; with one, Linux announces them and they only help to place gateways.
  std::vector<IpPrefix> addresses;
  Vrf vrf;  // from the configuration, without a twin; of one Linux says it
  bool operator==(const InterfaceState&) const = default;
};

class Interfaces {
 public:
  Result<void> add(const InterfaceState& state);
  Result<void> update(const InterfaceState& state);
  Result<void> remove(InterfaceId id);

  // What Linux says. All are true when something changed that routes may depend on.
  bool set_link(const LinuxLink& link, uint16_t generation);
  bool remove_link(int ifindex);
  bool set_address(const LinuxAddress& address, uint16_t generation);
  bool remove_address(const LinuxAddress& address);
  // Forgets what Linux did not confirm since `generation` began.
  bool sweep(uint16_t generation);

  const InterfaceState* find(InterfaceId id) const;
  InterfaceId by_ifindex(int ifindex) const;  // kNoInterface: not one of ours
  bool is_loopback(int ifindex) const;
  uint32_t if_id(int ifindex) const;  // of an IPsec interface of Linux that is up, else 0
  // The VRF that it, or its twin, is in; its table is 0: in none.
  Vrf vrf_of(const InterfaceState& state) const;
  std::vector<IpsecInVrf> ipsec_in_vrfs() const;
  // Linux's: what its twin is a port of, a VRF, too; nullptr: nothing.
  const LinuxLink* master_of(const InterfaceState& state) const;
  std::vector<LinuxLink> links_on(int parent) const;  // VLAN devices and macvlans of this device
  std::vector<LinuxLink> tunnels() const;
  const LinuxTunnel* tunnel_of(const InterfaceState& state) const;  // nullptr: it is none
  // Macvlans on its wire.
  std::vector<InterfaceId> macvlans(InterfaceId parent) const;
  const LinuxLink* vrf(int ifindex) const;  // a VRF of Linux; nullptr: it is none
  const LabelSwitches& label_switches() const { return label_switches_; }
  bool set_label_switches(const LabelSwitches& switches);  // true: they are others now
  // Bridges of Linux, as the same events tell.
  Bridges& bridges() { return bridges_; }
  const Bridges& bridges() const { return bridges_; }
  // Where a station on a bridge's interface is; none: Linux has to find it.
  struct Egress {
    PortId port = 0;
    VlanTags tags;
    uint16_t mtu = 0;  // of the port
  };
  std::optional<Egress> egress(const InterfaceState& interface, const MacAddress& station) const;
  // Whose address lies in the same subnet, the longest prefix first. Of those in the VRF that has the
  // table; where none has it, of those in no VRF.
  InterfaceId covering(const IpAddress& address, uint32_t table = 0) const;
  bool up(const InterfaceState& state) const;
  uint16_t mtu(const InterfaceState& state) const;
  uint32_t linux_mtu(const InterfaceState& state) const;  // of its twin; 0: not known
  // Configured and Linux's, without repetition.
  std::vector<IpPrefix> addresses(const InterfaceState& state) const;
  const std::map<InterfaceId, InterfaceState>& all() const { return interfaces_; }
  // Another one whenever an interface or a link is.
  uint64_t version() const { return version_; }

 private:
  struct Link {
    LinuxLink link;
    uint16_t generation = 0;
    bool removed = false;
  };

  Result<void> check(const InterfaceState& state) const;
  const Link* link_of(const InterfaceState& state) const;

  std::map<InterfaceId, InterfaceState> interfaces_;
  std::unordered_map<int, InterfaceId> by_ifindex_;
  std::unordered_map<int, Link> links_;
  Bridges bridges_;
  LabelSwitches label_switches_;
  unsigned macvlans_ = 0;
  uint64_t version_ = 0;
  std::map<std::pair<int, IpPrefix>, uint16_t> addresses_;  // of Linux, with their generation
};

}  // namespace hecto::router
