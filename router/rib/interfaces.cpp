#include "router/rib/interfaces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace hecto::router {

namespace {
constexpr uint32_t kSmallestMtu = 68;  // RFC 791 section 3.2
}

Result<void> Interfaces::check(const InterfaceState& state) const {
  if (state.id > kMaxInterfaceId) {
    return fail(fmt::format("interface {}: number {} is out of range; use 0 to {}", state.name,
                            state.id, kMaxInterfaceId));
  }
  if (const uint16_t most = std::max(state.tags.vlan, state.tags.outer_vlan); most > 4094) {
    return fail(
        fmt::format("interface {}: VLAN {} is out of range; use 1 to 4094", state.name, most));
  }
  auto other = state.ifindex == 0 ? by_ifindex_.end() : by_ifindex_.find(state.ifindex);
  if (other != by_ifindex_.end() && other->second != state.id) {
    return fail(fmt::format("interface {}: ifindex {} belongs to {}", state.name, state.ifindex,
                            interfaces_.at(other->second).name));
  }
  return {};
}

Result<void> Interfaces::add(const InterfaceState& state) {
  if (interfaces_.contains(state.id)) {
    return fail(fmt::format("interface {}: number {} is taken by {}", state.name, state.id,
                            interfaces_.at(state.id).name));
  }
  if (auto checked = check(state); !checked) return checked;
  ++version_;
  interfaces_.emplace(state.id, state);
  macvlans_ += state.parent != kNoInterface;
  if (state.ifindex != 0) by_ifindex_[state.ifindex] = state.id;
  return {};
}

Result<void> Interfaces::update(const InterfaceState& state) {
  auto found = interfaces_.find(state.id);
  if (found == interfaces_.end()) {
    return fail(fmt::format("interface {}: there is no number {}", state.name, state.id));
  }
  if (auto checked = check(state); !checked) return checked;
  if (found->second.ifindex != state.ifindex) {
    by_ifindex_.erase(found->second.ifindex);
    if (state.ifindex != 0) by_ifindex_[state.ifindex] = state.id;
  }
  ++version_;
  macvlans_ += state.parent != kNoInterface;
  macvlans_ -= found->second.parent != kNoInterface;
  found->second = state;
  return {};
}

Result<void> Interfaces::remove(InterfaceId id) {
  auto found = interfaces_.find(id);
  if (found == interfaces_.end()) return fail(fmt::format("there is no interface {}", id));
  ++version_;
  by_ifindex_.erase(found->second.ifindex);
  macvlans_ -= found->second.parent != kNoInterface;
  interfaces_.erase(found);
  return {};
}

bool Interfaces::set_link(const LinuxLink& link, uint16_t generation) {
  auto [found, fresh] = links_.try_emplace(link.ifindex);
  Link& known = found->second;
  bool changed = fresh || known.removed || !(known.link == link);
  if (changed) ++version_;
  known = {link, generation, false};
  return changed && (by_ifindex(link.ifindex) != kNoInterface || link.if_id != 0);
}

bool Interfaces::is_loopback(int ifindex) const {
  const auto found = links_.find(ifindex);
  return found != links_.end() && found->second.link.name == "lo";
}

const LinuxLink* Interfaces::vrf(int ifindex) const {
  const auto found = links_.find(ifindex);
  const bool there = found != links_.end() && !found->second.removed;
  return there && found->second.link.vrf_table != 0 ? &found->second.link : nullptr;
}

bool Interfaces::set_label_switches(const LabelSwitches& switches) {
  return std::exchange(label_switches_, switches) != switches;
}

uint32_t Interfaces::if_id(int ifindex) const {
  const auto found = links_.find(ifindex);
  return found == links_.end() || !found->second.link.up ? 0 : found->second.link.if_id;
}

const LinuxLink* Interfaces::master_of(const InterfaceState& state) const {
  const Link* link = link_of(state);
  if (link == nullptr || link->removed || link->link.master == 0) return nullptr;
  const auto master = links_.find(link->link.master);
  return master == links_.end() || master->second.removed ? nullptr : &master->second.link;
}

Vrf Interfaces::vrf_of(const InterfaceState& state) const {
  const Link* const own = state.vrf_device ? link_of(state) : nullptr;
  if (own != nullptr && !own->removed) return {own->link.name, own->link.vrf_table};
  const LinuxLink* master = master_of(state);
  return master != nullptr ? Vrf{master->name, master->vrf_table} : state.vrf;
}

std::vector<IpsecInVrf> Interfaces::ipsec_in_vrfs() const {
  std::vector<IpsecInVrf> found;
  for (const auto& [ifindex, link] : links_) {
    if (link.removed || !link.link.up || link.link.if_id == 0 || link.link.master == 0) continue;
    const auto master = links_.find(link.link.master);
    if (master != links_.end() && !master->second.removed && master->second.link.vrf_table != 0)
      found.push_back({link.link.if_id, master->second.link.vrf_table});
  }
  return found;
}

std::vector<LinuxLink> Interfaces::links_on(int parent) const {
  std::vector<LinuxLink> found;
  for (const auto& [ifindex, link] : links_)
    if (!link.removed && link.link.parent == parent) found.push_back(link.link);
  return found;
}

std::vector<LinuxLink> Interfaces::tunnels() const {
  std::vector<LinuxLink> found;
  for (const auto& [ifindex, link] : links_)
    if (!link.removed && link.link.tunnel) found.push_back(link.link);
  return found;
}

const LinuxTunnel* Interfaces::tunnel_of(const InterfaceState& state) const {
  const Link* const link = state.tunnel ? link_of(state) : nullptr;
  return link == nullptr || !link->link.tunnel ? nullptr : &*link->link.tunnel;
}

// A tombstone stays while the interface is ours, so that it counts as down.
bool Interfaces::remove_link(int ifindex) {
  ++version_;
  if (by_ifindex(ifindex) == kNoInterface) {
    const bool tunnel = if_id(ifindex) != 0;
    links_.erase(ifindex);
    return tunnel;
  }
  Link& link = links_[ifindex];
  link.link.ifindex = ifindex;
  return !std::exchange(link.removed, true);
}

bool Interfaces::set_address(const LinuxAddress& address, uint16_t generation) {
  auto [found, fresh] = addresses_.try_emplace({address.ifindex, address.address});
  found->second = generation;
  return fresh && by_ifindex(address.ifindex) != kNoInterface;
}

bool Interfaces::remove_address(const LinuxAddress& address) {
  return addresses_.erase({address.ifindex, address.address}) == 1 &&
         by_ifindex(address.ifindex) != kNoInterface;
}

bool Interfaces::sweep(uint16_t generation) {
  std::vector<int> gone;
  for (const auto& [ifindex, link] : links_) {
    if (link.generation != generation && !link.removed) gone.push_back(ifindex);
  }
  for (int ifindex : gone) remove_link(ifindex);
  std::erase_if(links_, [&](const auto& entry) {
    return entry.second.removed && by_ifindex(entry.first) == kNoInterface;
  });
  size_t removed = std::erase_if(
      addresses_, [generation](const auto& entry) { return entry.second != generation; });
  return !gone.empty() || removed != 0;
}

const InterfaceState* Interfaces::find(InterfaceId id) const {
  auto found = interfaces_.find(id);
  return found == interfaces_.end() ? nullptr : &found->second;
}

InterfaceId Interfaces::by_ifindex(int ifindex) const {
  auto found = by_ifindex_.find(ifindex);
  return found == by_ifindex_.end() ? kNoInterface : found->second;
}

std::vector<InterfaceId> Interfaces::macvlans(InterfaceId parent) const {
  std::vector<InterfaceId> found;
  if (macvlans_ == 0) return found;
  for (const auto& [id, state] : interfaces_)
    if (state.parent == parent) found.push_back(id);
  return found;
}

std::optional<Interfaces::Egress> Interfaces::egress(const InterfaceState& interface,
                                                     const MacAddress& station) const {
  const auto way = bridges_.egress(interface.bridge, interface.tags.vlan, station);
  const InterfaceState* const port = way ? find(by_ifindex(way->port)) : nullptr;
  if (port == nullptr || port->port == kNoPort || !up(*port)) return std::nullopt;
  return Egress{port->port, {way->vlan, 0, false}, mtu(*port)};
}

InterfaceId Interfaces::covering(const IpAddress& address, uint32_t table) const {
  const bool of_vrf = std::any_of(interfaces_.begin(), interfaces_.end(), [&](const auto& entry) {
    return vrf_of(entry.second).table == table;
  });
  InterfaceId best = kNoInterface;
  int best_length = -1;
  for (const auto& [id, state] : interfaces_) {
    if (vrf_of(state).table != (of_vrf ? table : 0)) continue;
    for (const IpPrefix& own : addresses(state)) {
      if (own.length <= best_length || !own.network().contains(address)) continue;
      best = id;
      best_length = own.length;
    }
  }
  return best;
}

const Interfaces::Link* Interfaces::link_of(const InterfaceState& state) const {
  if (state.ifindex == 0) return nullptr;
  auto found = links_.find(state.ifindex);
  return found == links_.end() ? nullptr : &found->second;
}

// The port's state and, once Linux told of the twin, the twin's.
bool Interfaces::up(const InterfaceState& state) const {
  const Link* link = link_of(state);
  return state.up && (link == nullptr || (!link->removed && link->link.up && link->link.carrier));
}

uint32_t Interfaces::linux_mtu(const InterfaceState& state) const {
  const Link* const link = link_of(state);
  return link == nullptr ? 0 : link->link.mtu;
}

uint16_t Interfaces::mtu(const InterfaceState& state) const {
  const Link* link = link_of(state);
  if (link == nullptr || link->link.mtu < kSmallestMtu) return state.mtu;
  return static_cast<uint16_t>(std::min<uint32_t>(state.mtu, link->link.mtu));
}

std::vector<IpPrefix> Interfaces::addresses(const InterfaceState& state) const {
  std::vector<IpPrefix> all = state.addresses;
  if (state.ifindex == 0) return all;
  auto at = addresses_.lower_bound({state.ifindex, IpPrefix{}});
  for (; at != addresses_.end() && at->first.first == state.ifindex; ++at) {
    const IpPrefix& address = at->first.second;
    if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
  }
  return all;
}

}  // namespace hecto::router
