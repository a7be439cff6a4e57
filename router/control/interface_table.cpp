#include "router/control/interface_table.hpp"

#include <algorithm>

namespace hecto::router {

InterfaceState Interface::state() const {
  InterfaceState s;
  s.id = id;
  s.name = name;
  s.port = port;
  s.vlan = vlan;
  s.mac = mac;
  s.mtu = mtu;
  s.up = port_up;
  s.ifindex = ifindex;
  s.addresses = addresses;
  return s;
}

InterfaceId InterfaceTable::free_id() const {
  InterfaceId id = 0;
  for (const auto& [used, interface] : interfaces_) {
    if (used != id) break;
    ++id;
  }
  return id <= kMaxInterfaceId ? id : kNoInterface;
}

Interface& InterfaceTable::insert(Interface interface) {
  const InterfaceId id = interface.id;
  return interfaces_.insert_or_assign(id, std::move(interface)).first->second;
}

Interface* InterfaceTable::find(InterfaceId id) {
  const auto found = interfaces_.find(id);
  return found == interfaces_.end() ? nullptr : &found->second;
}

Interface* InterfaceTable::find(const std::string& name) {
  for (auto& [id, interface] : interfaces_)
    if (interface.name == name) return &interface;
  return nullptr;
}

Interface* InterfaceTable::find(uint16_t port, uint16_t vlan) {
  for (auto& [id, interface] : interfaces_)
    if (interface.port == port && interface.vlan == vlan) return &interface;
  return nullptr;
}

Interface* InterfaceTable::by_ifindex(int ifindex) {
  for (auto& [id, interface] : interfaces_)
    if (interface.ifindex == ifindex && ifindex != 0) return &interface;
  return nullptr;
}

std::shared_ptr<TwinList> InterfaceTable::twins() const {
  auto list = std::make_shared<TwinList>();
  list->by_interface.assign(kMaxInterfaceId + 1, nullptr);
  for (const auto& [id, interface] : interfaces_) {
    if (!interface.twin) continue;
    list->twins.push_back(interface.twin);
    list->by_interface[id] = interface.twin.get();
  }
  for (const auto& [id, interface] : interfaces_) {
    if (interface.twin) continue;
    for (const auto& [other, untagged] : interfaces_)
      if (untagged.port == interface.port && untagged.vlan == 0)
        list->by_interface[id] = untagged.twin.get();
  }
  return list;
}

}  // namespace hecto::router
