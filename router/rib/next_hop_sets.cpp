#include "router/rib/next_hop_sets.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::router {

using lookup::NextHopRecord;

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
  hash.add(uint64_t{content.object} << 16 | content.mtu);
  hash.add(content.labelled);
  for (const NextHop& hop : content.next_hops) {
    if (hop.gateway) hash.add(*hop.gateway);
    hash.add(static_cast<uint64_t>(hop.ifindex) << 32 | uint64_t{hop.interface} << 16 | hop.weight);
    hash.add(hop.dead);
    for (unsigned i = 0; i < hop.labels.count; ++i) hash.add(hop.labels.labels[i]);
  }
  return hash.value();
}

auto order(const NextHop& hop) {
  return std::tuple(hop.gateway, hop.ifindex, hop.interface, hop.dead, hop.labels);
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
        set.mtu == content.mtu && set.labelled == content.labelled &&
        std::equal(set.next_hops.begin(), set.next_hops.end(), content.next_hops.begin(),
                   content.next_hops.end())) {
      return at->second;
    }
  }
  return kNoSet;
}

// Verdicts are the same for both families; their next hops say with which device they go.
NextHopSets::Content NextHopSets::normalize(const Content& content) {
  if (content.type == RouteType::kUnicast) return content;
  return {Family::kIpv4, content.type, 0, content.next_hops};
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
  set.mtu = content.mtu;
  set.labelled = content.labelled;
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
  watch(id, NextHopResolution{});
  if (set.group == lookup::kNoRoute) {
    --without_group_;
  } else {
    if (!set.live.empty()) memory_.remember(pattern(set));
    by_group_.erase(set.group);
    (void)table_.release(set.group);  // fails only for a group that was never allocated
  }
  dirty_ -= set.dirty;
  leave(id);
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
    if (set.references == 0) continue;  // write_users() let it go
    const bool alive = set.now.alive;
    set.now = resolver_.resolve(
        set.content());  // the same interface and gateway: `users_` stays as it is
    write(set);
    if (set.now.alive != alive) write_users(id);
  }
}

void NextHopSets::refresh(SetId id) {
  Set& set = sets_[id];
  std::vector<Member> wanted = wanted_members(set);
  const bool same = wanted == set.members;
  if (!same) leave(id);
  std::vector<Member> old = std::exchange(set.members, std::move(wanted));
  if (!same) join(id);
  for (const Member& member : old) set.retired.push_back(member.set);
  NextHopResolution next;
  if (set.members.empty()) next = resolver_.resolve(set.content());
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
void NextHopSets::watch(SetId id, const NextHopResolution& next) {
  const NextHopResolution& now = sets_[id].now;
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

// The members that a set should have, each with a reference taken.
std::vector<NextHopSets::Member> NextHopSets::wanted_members(const Set& set) {
  std::vector<Member> members;
  if (set.type != RouteType::kUnicast) return members;
  if (set.object == 0) {
    if (set.next_hops.size() < 2) return members;
    for (const NextHop& hop : set.next_hops) {
      NextHop single = hop;
      single.weight = 1;
      single.dead = false;
      SetId id = acquire({set.family, RouteType::kUnicast, 0, {&single, 1}, set.mtu, set.labelled});
      members.push_back({id, hop.weight, hop.dead});
    }
    return members;
  }
  const NextHopObject* object = objects_.find(set.object);
  if (object == nullptr) return members;
  for (const NextHopObject::Member& member : object->members) {
    const NextHopObject* inner = objects_.find(member.id);
    if (member.id == 0 || (inner != nullptr && !inner->members.empty())) continue;  // no nesting
    SetId id = acquire({set.family, RouteType::kUnicast, member.id, {}, set.mtu});
    members.push_back({id, std::clamp<uint16_t>(member.weight, 1, 256), false});
  }
  return members;
}

void NextHopSets::join(SetId id) {
  for (const Member& member : sets_[id].members) sets_[member.set].part_of.push_back(id);
}

void NextHopSets::leave(SetId id) {
  for (const Member& member : sets_[id].members) {
    std::vector<SetId>& part_of = sets_[member.set].part_of;
    // From the back: what comes last goes first as a rule.
    const auto found = std::find(part_of.rbegin(), part_of.rend(), id);
    if (found == part_of.rend()) continue;
    *found = part_of.back();
    part_of.pop_back();
  }
}

void NextHopSets::object_changed(uint32_t object) {
  const NextHopObject* now = objects_.find(object);
  // A group is no member of a group: those that hold it must let go of it first.
  if (now != nullptr && !now->members.empty()) refresh_users_of_object(object);
  refresh_object(object);
  refresh_users_of_object(object);
}

void NextHopSets::refresh_object(uint32_t object) {
  for (SetId id = 0; id < sets_.size(); ++id)
    if (sets_[id].references != 0 && sets_[id].object == object) refresh(id);
}

// Sets of object groups that name this object now.
void NextHopSets::refresh_users_of_object(uint32_t object) {
  for (SetId id = 0; id < sets_.size(); ++id) {
    if (sets_[id].references == 0 || sets_[id].object == 0) continue;
    const NextHopObject* group = objects_.find(sets_[id].object);
    if (group == nullptr) continue;
    bool names = std::any_of(group->members.begin(), group->members.end(),
                             [object](const auto& member) { return member.id == object; });
    if (names) refresh(id);
  }
}

bool NextHopSets::names_object(uint32_t object) const {
  return std::any_of(sets_.begin(), sets_.end(), [&](const Set& set) {
    if (set.references == 0 || set.object == 0) return false;
    if (set.object == object) return true;
    const NextHopObject* group = objects_.find(set.object);
    return group != nullptr &&
           std::any_of(group->members.begin(), group->members.end(),
                       [object](const auto& member) { return member.id == object; });
  });
}

std::set<int> NextHopSets::devices(SetId id) const {
  std::set<int> found;
  const auto add_object = [&](uint32_t number) {
    const NextHopObject* object = objects_.find(number);
    if (object != nullptr && object->next_hop) found.insert(object->next_hop->ifindex);
    return object;
  };
  for (const NextHop& hop : sets_[id].next_hops) found.insert(hop.ifindex);
  if (const NextHopObject* object = add_object(sets_[id].object); object != nullptr) {
    for (const NextHopObject::Member& member : object->members) add_object(member.id);
  }
  return found;
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
