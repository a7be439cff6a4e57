// The router's interfaces: a port's untagged one, and its VLANs (of the file, with a TAP of their
// own; or made by Linux on the port's TAP). Ids are dense and reused. Control only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/slow_path.hpp"
#include "router/rib/interfaces.hpp"

namespace hecto::router {

struct Interface {
  InterfaceId id = kNoInterface;
  std::string name;
  std::string port_name;
  uint16_t port = 0;
  uint16_t vlan = 0;
  bool made_by_linux = false;  // a VLAN device on the port's TAP
  MacAddress mac{};
  uint16_t mtu = 1500;
  bool port_up = false;
  UrpfMode urpf = UrpfMode::kOff;
  bool counters = false;
  std::vector<IpPrefix> addresses;  // of the configuration
  int ifindex = 0;
  std::shared_ptr<Twin> twin;  // null: none of its own
  bool twin_gone = false;      // deleted in Linux, and said so

  InterfaceState state() const;
};

class InterfaceTable {
 public:
  // The lowest free id; kNoInterface when there is none.
  InterfaceId free_id() const;
  Interface& insert(Interface interface);
  void erase(InterfaceId id) { interfaces_.erase(id); }
  Interface* find(InterfaceId id);
  Interface* find(const std::string& name);
  Interface* find(uint16_t port, uint16_t vlan);
  Interface* by_ifindex(int ifindex);
  const std::map<InterfaceId, Interface>& all() const { return interfaces_; }
  std::map<InterfaceId, Interface>& all() { return interfaces_; }
  // Where the slow path delivers: a VLAN device of Linux shares the port's twin.
  std::shared_ptr<TwinList> twins() const;

 private:
  std::map<InterfaceId, Interface> interfaces_;
};

}  // namespace hecto::router
