// The router's interfaces, from their birth with a port to their end: made, followed through link
// changes, told to Routing, to the data plane and to Linux, which has a twin of each.
//
//   configuration ─┐
//   links of ports ┼─► InterfaceTable ─► Routing (routes, next hops)
//   Linux's links ─┘                  ├► ForwardingPlane (what workers know of it)
//                                     └► LinuxSide (twin, addresses, neighbors of the file)
//
// Control only.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/linux/backoff.hpp"

namespace hecto::config {
struct Placement;
}

namespace hecto::router {

class LinuxSide;
class Notes;
class Routing;
class Sampler;
struct Running;

class InterfaceControl {
 public:
  // All outlive it. Of `running` it reads the neighbors of the file.
  InterfaceControl(const Running& running, Routing& routing, ForwardingPlane& plane,
                   Sampler& sampler, Notes& notes)
      : running_(running), routing_(routing), plane_(plane), sampler_(sampler), notes_(notes) {}
  InterfaceControl(const InterfaceControl&) = delete;
  InterfaceControl& operator=(const InterfaceControl&) = delete;
  // Before the first interface; never in static mode.
  void attach(LinuxSide& linux_side) { linux_ = &linux_side; }

  const InterfaceTable& table() const { return table_; }
  // Ports that are not there, as their device is back and refuses, or is a NIC that was taken out: as
  // they were, without a link, and why.
  std::vector<PortStatus> lost_ports() const;
  bool with_linux() const { return linux_ != nullptr; }

  // A port and its interfaces, all or none.
  Result<void> add_port(const config::PortConfig& config, const config::Placement& placement);
  // What a running port can change: addresses, VLANs, uRPF, counters. The MTU is set already.
  // An error: part of it is done.
  Result<void> change_port(const config::PortConfig& wanted);
  // After a change that was taken back: a port that it had to open anew is opened as what it was.
  // An error: it is something else now, or not there.
  Result<void> open_as_before(const config::PortConfig& config, const std::string& driver);
  void remove_port(const std::string& name);
  // The slow path delivers to the twins that there are now.
  void update_twins();

  // Neighbors of the file.
  Result<void> add_neighbor(const config::NeighborConfig& neighbor);
  void remove_neighbor(const config::NeighborConfig& neighbor);
  // Addresses and neighbors of the file, written into Linux; what it refused, a line each.
  std::vector<std::string> write_to_linux();

  // What Linux says of a link, after Routing has looked at it. True: an interface came up, and
  // what Linux has forgotten meanwhile must be written again (its addresses are).
  bool follow_link(const LinuxLink& link, bool removed);
  void poll_links();  // of the ports
  // Once a second: what went away without a word, and what can be mended now. True: routes of the
  // file are to be written again.
  bool watch();
  // What of Linux's devices the fast path does not carry, a line each.
  std::vector<std::string> lines() const;
  // Of bridges of Linux (BridgeControl): a port whose frames are a bridge's; the bridge's own
  // interface and those of VLAN devices on it; by which ports these have packets.
  void set_bridged(InterfaceId id, bool bridged);
  void adopt_bridge(const LinuxLink& bridge, const std::vector<LinuxLink>& on_it);
  void attach(InterfaceId id, std::vector<Attachment> attached);
  // Of tunnels of Linux (TunnelControl): an interface without a port, as what it is now. Why it is
  // none; empty: it is.
  std::string adopt_tunnel(const LinuxLink& tunnel);
  // Of a VRF that labels lead into (LabelControl), likewise.
  std::string adopt_vrf(const LinuxLink& vrf);
  void drop(InterfaceId id, const std::string& why);
  void follow_switches();    // Linux's sysctls, once a second
  void refresh_addresses();  // those that Linux changed, for who answers from them

 private:
  Result<void> add_interfaces(const PortStatus& port, const config::PortConfig& config);
  Interface tagged(Interface untagged, const PortStatus& port,
                   const config::VlanConfig& vlan) const;
  Result<void> add(Interface interface);
  void remove(InterfaceId id);
  Result<void> change(Interface& interface, const PortStatus& port,
                      const config::PortConfig& wanted);
  void refresh(const Interface& interface);
  void update_mtus(const PortStatus& port);
  void take_mtu(const Interface& interface, uint16_t mtu);
  void note_long_frames(const Interface& interface);  // interface_adoption.cpp
  void adopt_device(const LinuxLink& link);           // likewise
  static void take_checks(Interface& macvlan, const Interface& parent);
  std::vector<std::string> write_to_linux(const Interface& interface);
  void note_refusals(const std::vector<std::string>& lines);

  InterfaceSwitches in_force(InterfaceSwitches told) const;
  void take_switches(Interface& interface, const InterfaceSwitches& wanted);

  // interface_mending.cpp
  struct Mending {
    Backoff pause{std::chrono::milliseconds(50), std::chrono::seconds(30)};
    std::chrono::steady_clock::time_point due{};
  };
  void follow_twin(Interface& interface, const LinuxLink& link);
  bool lose_twin(Interface& interface);
  bool mend(Interface& interface);
  bool remake_twin(Interface& interface);
  Result<void> restore_twin(Interface& interface);
  void trouble(Interface& interface, const std::string& words, const std::string& line);
  Result<void> remake_port(const config::PortConfig& config);
  bool reopen(const PortStatus& gone);
  void tell_masters();
  void lose_port(const PortStatus& gone, const std::string& why);  // why: empty: it is not back
  bool retry_ports();
  InterfaceId id_for(const Interface& interface) const;

  const Running& running_;
  Routing& routing_;
  ForwardingPlane& plane_;
  Sampler& sampler_;
  Notes& notes_;
  LinuxSide* linux_ = nullptr;  // null: static mode
  InterfaceTable table_;
  std::map<std::string, bool> port_gone_;  // and said so
  std::map<InterfaceId, Mending> mending_;
  std::vector<std::string> masters_told_;
  std::set<int> left_out_;         // devices of Linux, by ifindex, and said so
  InterfaceId next_switches_ = 0;  // whose are read next
  bool switches_unread_ = false;   // and said so
  std::map<std::string, Mending> reopening_;
  struct LostPort {
    PortStatus status;
    // By name, kept: routes name them, and would leave by whoever came to have such a number.
    std::map<std::string, InterfaceId> ids;
  };
  std::map<std::string, LostPort> lost_ports_;
};

}  // namespace hecto::router
