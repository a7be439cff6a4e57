// What the tables have of each set: its group, with one record or with members and their buckets.
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "lookup/consistent.hpp"
#include "router/rib/next_hop_sets.hpp"

namespace hecto::router {

using lookup::NextHopRecord;

namespace {

// FNV-1a, which is the same on every machine.
uint64_t identity(const IpAddress& gateway, uint64_t number) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : gateway.bytes) hash = (hash ^ byte) * 0x100000001b3;
  return (hash ^ number) * 0x100000001b3;
}

}  // namespace

// Members that are dead or down are left out as long as another one lives.
std::vector<lookup::WeightedMember> NextHopSets::live_members(const Set& set) const {
  std::vector<lookup::WeightedMember> live;
  for (bool all : {false, true}) {
    for (const Member& member : set.members) {
      const Set& single = sets_[member.set];
      if (single.group == lookup::kNoRoute) continue;
      if (!all && (member.dead || !single.now.alive)) continue;
      auto same = std::find_if(live.begin(), live.end(),
                               [&](const auto& other) { return other.group == single.group; });
      if (same == live.end()) {
        live.push_back({single.group, member.weight});
      } else {
        same->weight = static_cast<uint16_t>(std::min(256, same->weight + member.weight));
      }
    }
    if (!live.empty()) break;
  }
  return live;
}

UrpfInterfaces NextHopSets::reachable_by(const Set& set) const {
  UrpfInterfaces interfaces = set.now.reachable_by;
  for (const Member& member : set.members) interfaces |= sets_[member.set].now.reachable_by;
  return interfaces;
}

// A member has come to life, or died: the flows of those that have it move.
void NextHopSets::write_users(SetId member) {
  const std::vector<SetId> users = sets_[member].part_of;
  for (SetId id : users)
    if (sets_[id].references != 0) write(sets_[id]);  // one before it may have let it go
}

bool NextHopSets::allocate_group(Set& set) {
  auto group = table_.allocate();
  if (!group) return false;
  set.group = *group;
  --without_group_;
  by_group_.emplace(*group, set.self);
  return true;
}

// Brings the group up to what the set says now; what the table refuses is tried again by retry().
void NextHopSets::write(Set& set) {
  if (!set.members.empty() && set.group == lookup::kNoRoute && live_members(set).empty()) return;
  if (set.group == lookup::kNoRoute && !allocate_group(set)) {
    groups_refused_ += !std::exchange(set.refused, true);
    return;
  }
  urpf_.set(set.group, reachable_by(set));
  auto write_once = [&] { return set.members.empty() ? write_record(set) : write_members(set); };
  auto written = write_once();
  if (!written) {
    table_.reclaim();
    written = write_once();
  }
  bool left_out = std::any_of(set.members.begin(), set.members.end(), [this](const Member& member) {
    return sets_[member.set].group == lookup::kNoRoute;
  });
  dirty_ -= set.dirty;
  set.dirty = !written || left_out;
  dirty_ += set.dirty;
  if (!written) return;
  for (SetId member : std::exchange(set.retired, {})) release(member);
}

tl::expected<void, lookup::Error> NextHopSets::write_record(Set& set) {
  set.live.clear();
  NextHopRecord in_table = table_.get(set.group);
  if (std::memcmp(&in_table, &set.now.record, sizeof(in_table)) == 0) return {};
  auto written = table_.set(set.group, set.now.record);
  records_written_ += written.has_value();
  return written;
}

tl::expected<void, lookup::Error> NextHopSets::write_members(Set& set) {
  std::vector<lookup::WeightedMember> live = live_members(set);
  auto same = [](const lookup::WeightedMember& a, const lookup::WeightedMember& b) {
    return a.group == b.group && a.weight == b.weight;
  };
  if (std::equal(live.begin(), live.end(), set.live.begin(), set.live.end(), same)) return {};
  if (live.empty()) return {};
  if (consistent_.on && write_consistent(set, live)) {
    set.live = std::move(live);
    ++records_written_;
    return {};
  }
  if (consistent_.on && consistent_.no_room) std::exchange(consistent_.no_room, nullptr)();
  // Once: a set that the table refused begins as it can, and one of few where most are large small.
  const bool inherits = set.live.empty() && !set.dirty && !consistent_.on;
  const std::vector<GroupId> before = inherits ? heritage(set) : std::vector<GroupId>{};
  auto written = table_.set_members(set.group, live, before);
  // The other's buckets may be more than this one needs.
  if (!written && !before.empty()) written = table_.set_members(set.group, live);
  if (written) set.live = std::move(live);
  records_written_ += written.has_value();
  return written;
}

// Who a member is, the same on every router: its gateway; a link's number where it has none.
tl::expected<void, lookup::Error> NextHopSets::write_consistent(
    const Set& set, std::span<const lookup::WeightedMember> live) {
  std::map<GroupId, Adjacency> adjacency_of;
  for (const Member& member : set.members)
    adjacency_of.emplace(sets_[member.set].group, adjacency(member.set));
  std::vector<std::pair<Adjacency, lookup::WeightedMember>> ordered;
  for (const lookup::WeightedMember& member : live)
    ordered.emplace_back(adjacency_of[member.group], member);
  // Of one neighbor, with other labels: as the set has them.
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.gateway, a.first.interface) <
           std::tie(b.first.gateway, b.first.interface);
  });
  std::vector<lookup::KeyedMember> members;
  uint64_t alike = 0;  // of equal link-local gateways, by interface
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto& [next_hop, member] = ordered[i];
    const bool again = i > 0 && ordered[i - 1].first.gateway == next_hop.gateway;
    alike = again ? alike + 1 : 0;
    members.push_back({member.group, member.weight, identity(next_hop.gateway, alike)});
  }
  return table_.set_buckets(set.group, lookup::consistent_buckets(members));
}

bool NextHopSets::retry() {
  if (without_group_ == 0 && dirty_ == 0) return false;
  bool found_group = false;
  bool none_left = false;
  for (bool several : {false, true}) {
    for (SetId id = 0; id < sets_.size(); ++id) {
      Set& set = sets_[id];
      if (set.references == 0 || set.members.empty() == several) continue;
      bool without_group = set.group == lookup::kNoRoute;
      if (without_group ? none_left : !set.dirty) continue;
      refresh(id);
      found_group |= without_group && set.group != lookup::kNoRoute;
      // Of several next hops one may lack a group, which says nothing of the others.
      none_left |= !several && set.group == lookup::kNoRoute;
    }
  }
  return found_group;
}

}  // namespace hecto::router
