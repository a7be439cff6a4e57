#include "router/control/interface_table.hpp"

#include <utility>

namespace hecto::router {

InterfaceId InterfaceTable::free_id(const std::set<InterfaceId>& kept) const {
  InterfaceId id = 0;
  auto used = interfaces_.begin();
  while (true) {
    const bool taken = used != interfaces_.end() && used->first == id;
    if (!taken && !kept.contains(id)) break;
    if (taken) ++used;
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

const Interface* InterfaceTable::find(InterfaceId id) const {
  const auto found = interfaces_.find(id);
  return found == interfaces_.end() ? nullptr : &found->second;
}

const Interface* InterfaceTable::find(const std::string& name) const {
  for (const auto& [id, interface] : interfaces_)
    if (interface.name == name) return &interface;
  return nullptr;
}

const Interface* InterfaceTable::find(PortId port, const VlanTags& tags) const {
  for (const auto& [id, interface] : interfaces_)
    if (interface.port == port && interface.tags == tags && interface.parent == kNoInterface)
      return &interface;
  return nullptr;
}

const Interface* InterfaceTable::by_ifindex(int ifindex) const {
  for (const auto& [id, interface] : interfaces_)
    if (interface.ifindex == ifindex && ifindex != 0) return &interface;
  return nullptr;
}

Interface* InterfaceTable::by_ifindex(int ifindex) {
  const Interface* found = std::as_const(*this).by_ifindex(ifindex);
  return found == nullptr ? nullptr : find(found->id);
}

InterfaceId InterfaceTable::twin_of(const Interface& interface) const {
  if (interface.has_twin) return interface.id;
  if (const Interface* parent = find(interface.parent)) return twin_of(*parent);
  const VlanTags outer{interface.tags.outer_vlan, 0, interface.tags.service};
  if (const Interface* on = interface.tags.count() == 2 ? find(interface.port, outer) : nullptr)
    if (on->has_twin) return on->id;
  const Interface* untagged = find(interface.port, VlanTags{});
  return untagged != nullptr && untagged->has_twin ? untagged->id : kNoInterface;
}

}  // namespace hecto::router
