#include "router/rib/bridges.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

void apply(std::map<int, Bridges::Vlans>& all, const LinuxBridgeVlans& told, bool removed) {
  Bridges::Vlans& vlans = all[told.ifindex];
  for (unsigned vlan = told.first; vlan <= told.last && vlan < vlans.allowed.size(); ++vlan) {
    vlans.allowed[vlan] = !removed;
    vlans.untagged[vlan] = !removed && told.untagged;
    if (vlans.pvid == vlan) vlans.pvid = 0;
    if (!removed && told.pvid) vlans.pvid = static_cast<uint16_t>(vlan);
  }
  if (vlans.allowed.none()) all.erase(told.ifindex);
}

}  // namespace

size_t Bridges::KeyHash::operator()(const Key& key) const noexcept {
  uint64_t word = uint64_t{key.vlan} << 48;
  std::memcpy(&word, key.mac.data(), key.mac.size());
  return (word ^ static_cast<uint64_t>(key.bridge) << 40) * 0x9e3779b97f4a7c15 >> 7;
}

// A link is a bridge, a port of one, or neither.
bool Bridges::set_link(const LinuxLink& link, uint16_t generation) {
  bool changed = false;
  if (link.bridge) {
    Bridge& bridge = bridges_[link.ifindex];
    changed |= !(bridge.link == link);
    bridge = {link, generation};
  } else {
    changed |= bridges_.erase(link.ifindex) != 0;
  }
  if (link.bridge_port && link.master != 0) {
    Port& port = ports_[link.ifindex];
    changed |= port.bridge != link.master || !(port.link == link);
    port = {link.master, link, generation};
  } else {
    changed |= ports_.erase(link.ifindex) != 0;
  }
  version_ += changed;
  return changed;
}

bool Bridges::remove_link(int ifindex) {
  const bool changed = bridges_.erase(ifindex) + ports_.erase(ifindex) + vlans_.erase(ifindex) != 0;
  version_ += changed;
  return changed;
}

bool Bridges::set_port(int ifindex, const LinuxBridgePort& port) {
  const auto found = ports_.find(ifindex);
  if (found == ports_.end() || found->second.link.bridge_port == port) return false;
  found->second.link.bridge_port = port;
  ++version_;
  return true;
}

bool Bridges::set_vlans(const LinuxBridgeVlans& told, bool removed) {
  const Vlans before = vlans(told.ifindex);
  apply(vlans_, told, removed);
  if (told_again_) apply(*told_again_, told, removed);
  if (vlans(told.ifindex) == before) return false;
  ++version_;
  return true;
}

const Bridges::Vlans& Bridges::vlans(int ifindex) const {
  static const Vlans kNone;
  const auto found = vlans_.find(ifindex);
  return found == vlans_.end() ? kNone : found->second;
}

bool Bridges::set_entry(const LinuxFdbEntry& told, uint16_t generation) {
  const Key key{told.bridge, told.vlan, told.mac};
  Entry& entry = fdb_[key];
  const Entry fresh{told.port, told.local, told.fixed, generation};
  const bool changed = entry.port != fresh.port || entry.local != fresh.local;
  if (!entry.local && entry.port != 0 && --counts_[entry.port] == 0) counts_.erase(entry.port);
  if (!fresh.local) ++counts_[fresh.port];
  entry = fresh;
  if (changed) changes_.push_back(key);
  return changed;
}

bool Bridges::forget_entry(std::unordered_map<Key, Entry, KeyHash>::iterator at) {
  const Entry& entry = at->second;
  if (!entry.local && --counts_[entry.port] == 0) counts_.erase(entry.port);
  changes_.push_back(at->first);
  fdb_.erase(at);
  return true;
}

bool Bridges::remove_entry(const LinuxFdbEntry& told) {
  const auto found = fdb_.find({told.bridge, told.vlan, told.mac});
  return found != fdb_.end() && forget_entry(found);
}

bool Bridges::sweep(uint16_t generation) {
  const auto old = [&](const auto& each) { return each.second.generation != generation; };
  bool changed = std::erase_if(bridges_, old) + std::erase_if(ports_, old) != 0;
  if (told_again_) {
    changed |= vlans_ != *told_again_;
    vlans_ = std::move(*told_again_);
    told_again_.reset();
  }
  version_ += changed;
  for (auto at = fdb_.begin(); at != fdb_.end();) {
    const auto next = std::next(at);
    if (old(*at)) changed |= forget_entry(at);
    at = next;
  }
  return changed;
}

const Bridges::Entry* Bridges::find(const Key& key) const {
  const auto found = fdb_.find(key);
  return found == fdb_.end() ? nullptr : &found->second;
}

size_t Bridges::entries_of(int port) const {
  const auto found = counts_.find(port);
  return found == counts_.end() ? 0 : found->second;
}

std::optional<Bridges::Egress> Bridges::egress(int bridge, uint16_t vlan,
                                               const MacAddress& station) const {
  const auto device = bridges_.find(bridge);
  if (device == bridges_.end()) return std::nullopt;
  const bool filters = device->second.link.bridge->filters_vlans;
  if (filters && vlan == 0) vlan = vlans(bridge).pvid;
  if (filters && !vlans(bridge).allowed[vlan]) return std::nullopt;
  const Entry* const entry = find({bridge, filters ? vlan : uint16_t{0}, station});
  if (entry == nullptr || entry->local) return std::nullopt;
  const auto port = ports_.find(entry->port);
  if (port == ports_.end() || !port->second.link.bridge_port->forwards) return std::nullopt;
  const Vlans& of_port = vlans(entry->port);
  if (filters && !of_port.allowed[vlan]) return std::nullopt;
  return Egress{entry->port, filters && of_port.untagged[vlan] ? uint16_t{0} : vlan};
}

}  // namespace hecto::router
