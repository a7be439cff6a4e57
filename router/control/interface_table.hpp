// The router's interfaces: a port's untagged one, and its VLANs (of the file, with a TAP of their
// own; or made by Linux on the TAP of one of these), and macvlans of Linux on any of these. Ids are
// dense and reused. Control only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/net.hpp"
#include "router/linux/switches.hpp"
#include "router/rib/interfaces.hpp"

namespace hecto::router {

// What Routing knows of an interface, and what else control does. `up` is the port's link; whether
// the interface is up, its twin has a say in.
struct Interface : InterfaceState {
  std::string port_name;
  bool made_by_linux = false;  // a VLAN device or a macvlan on a TAP
  UrpfMode urpf = UrpfMode::kOff;
  bool clamps_mss = false;
  bool counters = false;
  InterfaceSwitches switches;        // of its twin
  bool linux_only = false;           // in Linux it is a port of a bridge or a bond
  bool bridged = false;              // a port of a bridge that is switched here
  std::vector<Attachment> attached;  // of a bridge's interface
  bool has_twin = false;             // a TAP of its own
  bool twin_gone = false;            // deleted in Linux or moved elsewhere, and not made again yet
  // What Linux said last of its twin; empty and zero: nothing yet.
  std::string twin_name;
  MacAddress twin_mac{};
  bool twin_down = false;  // somebody set it down
  std::string trouble;     // with its twin, in words; empty: none
};

class InterfaceTable {
 public:
  // The lowest id that is neither used nor kept for another; kNoInterface when there is none.
  InterfaceId free_id(const std::set<InterfaceId>& kept = {}) const;
  Interface& insert(Interface interface);
  void erase(InterfaceId id) { interfaces_.erase(id); }
  const Interface* find(InterfaceId id) const;
  const Interface* find(const std::string& name) const;
  const Interface* find(PortId port, const VlanTags& tags) const;  // no macvlan
  const Interface* by_ifindex(int ifindex) const;
  Interface* by_ifindex(int ifindex);
  Interface* find(InterfaceId id);
  const std::map<InterfaceId, Interface>& all() const { return interfaces_; }
  std::map<InterfaceId, Interface>& all() { return interfaces_; }
  // Whose twin takes its packets: its own, of a VLAN device of Linux that of the port, or of the file's
  // VLAN that it is on, of a macvlan its parent's.
  // kNoInterface: nobody's.
  InterfaceId twin_of(const Interface& interface) const;

 private:
  std::map<InterfaceId, Interface> interfaces_;
};

}  // namespace hecto::router
