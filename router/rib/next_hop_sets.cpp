#include "router/rib/next_hop_sets.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

constexpr uint16_t kMaxWeight = 256;

class Hash {
 public:
  void add(uint64_t value) {
    value_ = (value_ ^ value) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }
  void add(const IpAddress& address) {
    uint64_t words[2];
    std::memcpy(words, address.bytes.data(), sizeof(words));
    add(words[0]);
    add(words[1] ^ static_cast<uint64_t>(address.family));
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x243f6a8885a308d3;
};

uint64_t hash_of(const NextHopSets::Content& content) {
  Hash hash;
  hash.add(static_cast<uint64_t>(content.family) << 8 | static_cast<uint64_t>(content.type));
  hash.add(content.object);
  for (const NextHop& hop : content.next_hops) {
    if (hop.gateway) hash.add(*hop.gateway);
    hash.add(static_cast<uint64_t>(hop.ifindex) << 32 | uint64_t{hop.interface} << 16 | hop.weight);
    hash.add(hop.dead);
  }
  return hash.value();
}

auto order(const NextHop& hop) {
  return std::tuple(hop.gateway, hop.ifindex, hop.interface, hop.dead);
}

}  // namespace

void canonicalize(std::vector<NextHop>& next_hops) {
  std::sort(next_hops.begin(), next_hops.end(),
            [](const NextHop& a, const NextHop& b) { return order(a) < order(b); });
  size_t kept = 0;
  for (const NextHop& hop : next_hops) {
    if (kept > 0 && order(next_hops[kept - 1]) == order(hop)) {
      unsigned weight = next_hops[kept - 1].weight + hop.weight;
      next_hops[kept - 1].weight = static_cast<uint16_t>(std::min<unsigned>(weight, kMaxWeight));
    } else {
      next_hops[kept++] = hop;
    }
  }
  next_hops.resize(kept);
  for (NextHop& hop : next_hops) hop.weight = std::clamp<uint16_t>(hop.weight, 1, kMaxWeight);
  if (kept == 1) next_hops[0].weight = 1;
}

size_t NextHopSets::AdjacencyHash::operator()(const Adjacency& adjacency) const noexcept {
  Hash hash;
  hash.add(adjacency.gateway);
  hash.add(adjacency.interface);
  return hash.value();
}

SetId NextHopSets::find(const Content& content, uint64_t hash) const {
  auto [at, end] = by_content_.equal_range(hash);
  for (; at != end; ++at) {
    const Set& set = sets_[at->second];
    if (set.family == content.family && set.type == content.type && set.object == content.object &&
        std::equal(set.next_hops.begin(), set.next_hops.end(), content.next_hops.begin(),
                   content.next_hops.end())) {
      return at->second;
    }
  }
  return kNoSet;
}

// Verdicts are the same for both families and whatever their next hops.
NextHopSets::Content NextHopSets::normalize(const Content& content) {
  if (content.type == RouteType::kUnicast) return content;
  return {Family::kIpv4, content.type, 0, {}};
}

SetId NextHopSets::find(const Content& content) const {
  Content normal = normalize(content);
  return find(normal, hash_of(normal));
}

SetId NextHopSets::acquire(const Content& asked) {
  Content content = normalize(asked);
  uint64_t hash = hash_of(content);
  SetId id = find(content, hash);
  if (id != kNoSet) {
    ++sets_[id].references;
    return id;
  }
  if (free_.empty()) {
    id = static_cast<SetId>(sets_.size());
    sets_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Set& set = sets_[id];
  set.family = content.family;
  set.type = content.type;
  set.object = content.object;
  set.next_hops.assign(content.next_hops.begin(), content.next_hops.end());
  set.self = id;
  set.references = 1;
  by_content_.emplace(hash, id);
  ++without_group_;
  refresh(id);
  return id;
}

void NextHopSets::release(SetId id) {
  Set& set = sets_[id];
  if (--set.references != 0) return;
  auto [at, end] = by_content_.equal_range(hash_of(set.content()));
  while (at != end && at->second != id) ++at;
  if (at != end) by_content_.erase(at);
  watch(id, Resolution{});
  if (set.group == lookup::kNoRoute) {
    --without_group_;
  } else {
    by_group_.erase(set.group);
    (void)table_.release(set.group);  // fails only for a group that was never allocated
  }
  dirty_ -= set.dirty;
  std::vector<SetId> members = std::move(set.retired);
  for (const Member& member : set.members) members.push_back(member.set);
  set = Set{};
  free_.push_back(id);
  for (SetId member : members) release(member);
}

bool NextHopSets::on_link(SetId id, InterfaceId interface) const {
  const Set& set = sets_[id];
  if (set.type != RouteType::kUnicast) return false;
  for (const Member& member : set.members) {
    if (!member.dead && on_link(member.set, interface)) return true;
  }
  return set.members.empty() && set.now.interface == interface && !set.now.gateway;
}

void NextHopSets::neighbor_changed(const InterfaceState& interface, const IpAddress& address) {
  auto found = users_.find({interface.id, address});
  if (found == users_.end()) return;
  std::vector<SetId> users = found->second;
  for (SetId id : users) {
    Set& set = sets_[id];
    set.now = resolve(set);  // the same interface and gateway: `users_` stays as it is
    write(set);
  }
}

void NextHopSets::refresh(SetId id) {
  Set& set = sets_[id];
  std::vector<Member> old = std::exchange(set.members, wanted_members(set));
  for (const Member& member : old) set.retired.push_back(member.set);
  Resolution next;
  if (set.members.empty()) next = resolve(set);
  watch(id, next);
  set.now = next;
  write(set);
}

// Sets with one next hop first: what ECMP leaves out depends on them.
void NextHopSets::refresh_all() {
  for (bool several : {false, true}) {
    for (SetId id = 0; id < sets_.size(); ++id) {
      if (sets_[id].references != 0 && sets_[id].members.empty() != several) refresh(id);
    }
  }
}

// Keeps `users_` true: which sets a neighbor's change concerns.
void NextHopSets::watch(SetId id, const Resolution& next) {
  const Resolution& now = sets_[id].now;
  if (now.interface == next.interface && now.gateway == next.gateway) return;
  if (now.gateway && now.interface != kNoInterface) {
    auto found = users_.find({now.interface, *now.gateway});
    if (found != users_.end()) {
      std::erase(found->second, id);
      if (found->second.empty()) users_.erase(found);
    }
  }
  if (next.gateway && next.interface != kNoInterface) {
    users_[{next.interface, *next.gateway}].push_back(id);
  }
}

SetId NextHopSets::user_of(InterfaceId interface, const IpAddress& address) const {
  auto found = users_.find({interface, address});
  return found == users_.end() ? kNoSet : found->second.front();
}

SetId NextHopSets::by_group(GroupId group) const {
  auto found = by_group_.find(group);
  return found == by_group_.end() ? kNoSet : found->second;
}

NextHopSets::Statistics NextHopSets::statistics() const {
  return {records_written_, groups_refused_, static_cast<uint32_t>(sets_.size() - free_.size()),
          without_group_};
}

}  // namespace hecto::router
