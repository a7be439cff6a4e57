// Linux's bridges on their way to the workers: which of them the fast path switches, their ports and
// stations, and the interfaces that they have of their own. docs/bridges.md.
//
//   Bridges (netlink) ─► BridgeControl ─► ForwardingPlane (ports, stations)
//                              ├────────► InterfaceControl (br0, br0.10: by which ports they have packets)
//                              └────────► LinuxSide (stations that workers heard)
//
// Control only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "config/file/config.hpp"
#include "router/dataplane/core/bridge_views.hpp"
#include "router/rib/bridges.hpp"

namespace hecto::router {

class ForwardingPlane;
class InterfaceControl;
class LinuxSide;
class Routing;
struct Interface;

struct BridgeStatus {
  struct Port {
    std::string name;
    bool forwards = true, learns = true, full = false;
    size_t stations = 0;
    uint16_t mtu = 0;       // longer frames do not leave by it; 0: not one of the router's
    PortId port = kNoPort;  // likewise
  };
  int ifindex = 0;
  std::string name;
  MacAddress mac{};
  bool up = false;
  bool filters_vlans = false;
  uint32_t mtu = 0;
  size_t stations = 0;  // without its own addresses
  std::vector<Port> ports;
  std::string trouble;  // why it is Linux's alone; empty: it is switched here
};

class BridgeControl {
 public:
  // All outlive it.
  BridgeControl(Routing& routing, InterfaceControl& interfaces, ForwardingPlane& plane,
                LinuxSide& linux_side, const config::Config& config)
      : routing_(routing),
        interfaces_(interfaces),
        plane_(plane),
        linux_(linux_side),
        config_(config) {}

  void tick();                             // each turn: what has changed
  void tick_second();                      // stations that were heard do not age in Linux
  std::vector<std::string> lines() const;  // what of bridges the fast path does not carry
  std::vector<BridgeStatus> status() const;

 private:
  struct Carried {
    unsigned index = 0;
    std::map<int, InterfaceId> ports;  // by ifindex
  };

  const Bridges& known() const;
  std::string trouble_of(int bridge) const;
  std::map<int, Carried> wanted() const;
  unsigned free_index() const;
  void configure();
  bool follow_entries();
  void write(const Bridges::Key& key);
  void erase_all_of(int bridge);
  void write_all_of(int bridge);
  bool watch_limits();
  void set_ports();
  void set_interfaces();
  std::vector<Attachment> attachments(int bridge, const Carried& carried, uint16_t vlan) const;
  std::shared_ptr<const BridgePortView> view_of(int bridge, unsigned index, int port,
                                                const Interface& interface) const;
  uint64_t key_of(const Bridges::Key& key, unsigned index) const;

  Routing& routing_;
  InterfaceControl& interfaces_;
  ForwardingPlane& plane_;
  LinuxSide& linux_;
  const config::Config& config_;
  uint64_t version_ = 0;             // of the bridges that workers have
  uint64_t interfaces_version_ = 0;  // the same
  std::map<int, Carried> carried_;   // by ifindex
  std::set<InterfaceId> bridged_;    // ports whose frames are a bridge's
  std::set<int> full_;               // ports, by ifindex
  std::shared_ptr<lookup::MacTable> stations_;
  bool no_memory_ = false;         // for the table
  size_t no_room_ = 0;             // stations for which the table had none
  std::deque<Bridges::Key> aged_;  // whose marks are to be looked at
  std::vector<std::string> told_;
};

}  // namespace hecto::router
