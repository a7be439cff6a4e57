// What a new ECMP set goes on with: the buckets of the set that it resembles most.
#include <algorithm>
#include <iterator>

#include "router/rib/next_hop_sets.hpp"

namespace hecto::router {
namespace {

constexpr std::ptrdiff_t kRelatives =
    8;  // latest sets of a next hop that a new one is compared with

}  // namespace

Adjacency NextHopSets::adjacency(SetId id) const {
  const NextHopResolution& now = sets_[id].now;
  return {now.interface, now.gateway.value_or(IpAddress{})};
}

std::vector<Adjacency> NextHopSets::adjacencies(const Set& set) const {
  std::vector<Adjacency> found;
  for (const Member& member : set.members) found.push_back(adjacency(member.set));
  return found;
}

// Of an ECMP set that has a group.
BucketPattern NextHopSets::pattern(const Set& set) const {
  BucketPattern pattern{adjacencies(set), {}};
  std::unordered_map<GroupId, uint16_t> place;
  for (size_t i = 0; i < set.members.size(); ++i)
    place.emplace(sets_[set.members[i].set].group, static_cast<uint16_t>(i));
  for (GroupId owner : table_.buckets(set.group)) pattern.owners.push_back(place[owner]);
  return pattern;
}

// By bucket the group of the member that had it in the most similar set, kNoRoute where that is
// none of ours; empty: nothing is similar.
std::vector<GroupId> NextHopSets::heritage(const Set& set) const {
  const std::vector<Adjacency> members = adjacencies(set);
  double closest = 0;
  const Set* living = nullptr;
  std::vector<SetId> singles;
  for (const Member& member : set.members) {
    const Adjacency next_hop = adjacency(member.set);
    if (const auto same = users_.find(next_hop); same != users_.end())
      singles.insert(singles.end(),
                     same->second.end() - std::min(std::ssize(same->second), kRelatives),
                     same->second.end());
    else
      singles.push_back(member.set);
  }
  for (SetId single : singles) {
    const std::vector<SetId>& part_of = sets_[single].part_of;
    for (auto at = part_of.end() - std::min(std::ssize(part_of), kRelatives); at != part_of.end();
         ++at) {
      const Set& other = sets_[*at];
      if (other.self == set.self || other.live.empty()) continue;
      const double found = similarity(members, adjacencies(other));
      if (found <= closest) continue;
      closest = found;
      living = &other;
    }
  }
  BucketPattern of_living;
  const BucketPattern* from = memory_.closest(members, closest);
  if (from == nullptr) {
    if (living == nullptr) return {};
    of_living = pattern(*living);
    from = &of_living;
  }
  std::vector<GroupId> group_of(from->members.size(), lookup::kNoRoute);
  for (size_t i = 0; i < from->members.size(); ++i) {
    const auto same = std::find(members.begin(), members.end(), from->members[i]);
    if (same != members.end())
      group_of[i] = sets_[set.members[static_cast<size_t>(same - members.begin())].set].group;
  }
  std::vector<GroupId> buckets;
  buckets.reserve(from->owners.size());
  for (uint16_t owner : from->owners) buckets.push_back(group_of[owner]);
  return buckets;
}

}  // namespace hecto::router
