#include "router/rib/neighbors.hpp"

namespace hecto::router {
namespace {

constexpr uint16_t kNudIncomplete = 0x01, kNudFailed = 0x20;

}  // namespace

Neighbors::Key Neighbors::key(const Neighbor& neighbor) {
  return {neighbor.address,
          neighbor.configured() ? -1 - static_cast<int>(neighbor.interface) : neighbor.ifindex};
}

bool Neighbors::set(const Neighbor& asked, uint16_t generation) {
  Neighbor neighbor = asked;
  auto [found, fresh] = neighbors_.try_emplace(key(neighbor));
  const bool was_silent = !fresh && found->second.neighbor.silent;
  neighbor.silent = !neighbor.usable && ((neighbor.state & kNudFailed) != 0 ||
                                         ((neighbor.state & kNudIncomplete) != 0 && was_silent));
  bool changed = fresh || !(found->second.neighbor == neighbor);
  if (changed) {
    if (!fresh) by_mac_.erase({found->second.neighbor.mac, found->first});
    by_mac_.insert({neighbor.mac, found->first});
  }
  found->second = {neighbor, generation};
  return changed;
}

bool Neighbors::remove(const Neighbor& neighbor) {
  const auto found = neighbors_.find(key(neighbor));
  if (found == neighbors_.end()) return false;
  by_mac_.erase({found->second.neighbor.mac, found->first});
  neighbors_.erase(found);
  return true;
}

std::vector<Neighbor> Neighbors::sweep(uint16_t generation) {
  std::vector<Neighbor> gone;
  for (const auto& [key, entry] : neighbors_) {
    if (!entry.neighbor.configured() && entry.generation != generation) {
      gone.push_back(entry.neighbor);
    }
  }
  for (const Neighbor& neighbor : gone) remove(neighbor);
  return gone;
}

const Neighbor* Neighbors::find(const InterfaceState& interface, const IpAddress& address) const {
  auto found = neighbors_.find(Key{address, -1 - static_cast<int>(interface.id)});
  if (found == neighbors_.end() && interface.ifindex != 0) {
    found = neighbors_.find(Key{address, interface.ifindex});
  }
  return found == neighbors_.end() ? nullptr : &found->second.neighbor;
}

std::vector<Neighbor> Neighbors::of_address(const IpAddress& address) const {
  std::vector<Neighbor> found;
  auto at = neighbors_.lower_bound(Key{address, kFirst});
  for (; at != neighbors_.end() && at->first.address == address; ++at) {
    found.push_back(at->second.neighbor);
  }
  return found;
}

std::vector<Neighbor> Neighbors::of_mac(const MacAddress& mac) const {
  std::vector<Neighbor> found;
  for (auto at = by_mac_.lower_bound({mac, Key{{}, kFirst}});
       at != by_mac_.end() && at->first == mac; ++at)
    found.push_back(neighbors_.at(at->second).neighbor);
  return found;
}

std::map<uint16_t, size_t> Neighbors::states() const {
  std::map<uint16_t, size_t> states;
  for (const auto& [key, entry] : neighbors_) ++states[entry.neighbor.state];
  return states;
}

std::vector<Neighbor> Neighbors::all() const {
  std::vector<Neighbor> all;
  all.reserve(neighbors_.size());
  for (const auto& [key, entry] : neighbors_) all.push_back(entry.neighbor);
  return all;
}

}  // namespace hecto::router
