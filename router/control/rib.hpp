// All routes of one family: per prefix a list of candidates, the best first. Storage and order
// only; Routing decides what they mean. Owned by the control thread.
//
// An entry is 8 bytes in a radix tree, a candidate 24 in one array; lists are linked by index.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "lookup/radix_tree.hpp"
#include "router/control/next_hop_sets.hpp"

namespace hecto::router {

// Linux's rules look into local, main, default in this order; other tables have no place here.
inline constexpr uint32_t kTableLocal = 255;
inline constexpr uint32_t kTableMain = 254;
inline constexpr uint32_t kTableDefault = 253;

struct Candidate {
  uint32_t next = ~uint32_t{0};
  SetId set = kNoSet;
  uint32_t metric = 0;
  uint32_t load = 0;  // which load of a route file brought it, 0: none
  uint16_t generation = 0;
  RouteOrigin origin = RouteOrigin::kLinux;
  uint8_t protocol = 0;
  uint8_t table = 0;  // 255 - table: local 0, main 1, default 2

  // Host routes of neighbors exist only where they are to win. Within a rank Linux's order holds.
  auto rank() const { return std::tuple(origin != RouteOrigin::kNeighbor, table, metric, origin); }
  bool same_slot(const Candidate& other) const { return rank() == other.rank(); }
};
static_assert(sizeof(Candidate) == 24);

struct RibEntry {
  uint32_t first = ~uint32_t{0};         // candidate
  GroupId installed = lookup::kNoRoute;  // what the FIB says
  bool in_fib = false;
  bool incomplete = false;  // the FIB or the groups were full: not what it should be
};

template <typename Address>
class Rib {
 public:
  using PrefixType = lookup::Prefix<Address>;
  static constexpr uint32_t kEnd = ~uint32_t{0};

  RibEntry* find(const PrefixType& prefix) { return tree_.find(prefix); }
  const RibEntry* find(const PrefixType& prefix) const { return tree_.find(prefix); }
  RibEntry& insert(const PrefixType& prefix) { return *tree_.insert(prefix, RibEntry{}).first; }
  void erase(const PrefixType& prefix) { tree_.erase(prefix); }
  const lookup::RadixTree<Address, RibEntry>& tree() const { return tree_; }

  Candidate& at(uint32_t index) { return candidates_[index]; }
  const Candidate& at(uint32_t index) const { return candidates_[index]; }
  const Candidate* best(const RibEntry& entry) const {
    return entry.first == kEnd ? nullptr : &candidates_[entry.first];
  }

  // The first candidate that `wanted` accepts, or kEnd.
  template <typename Wanted>
  uint32_t find_if(const RibEntry& entry, Wanted wanted) const {
    uint32_t index = entry.first;
    while (index != kEnd && !wanted(candidates_[index])) index = candidates_[index].next;
    return index;
  }

  // Behind its equals; candidates that a resync has not confirmed yet count as last of them.
  uint32_t add(RibEntry& entry, const Candidate& candidate, uint16_t generation) {
    uint32_t index = free_;
    if (index != kEnd) {
      free_ = candidates_[index].next;
    } else {
      index = static_cast<uint32_t>(candidates_.size());
      candidates_.emplace_back();
    }
    candidates_[index] = candidate;
    link(entry, index, generation);
    return index;
  }
  void remove(RibEntry& entry, uint32_t index) {
    unlink(entry, index);
    candidates_[index] = Candidate{};
    candidates_[index].next = free_;
    free_ = index;
  }
  // To the place that add() would give it.
  void move_behind_equals(RibEntry& entry, uint32_t index, uint16_t generation) {
    unlink(entry, index);
    link(entry, index, generation);
  }

  size_t bytes() const { return tree_.bytes() + candidates_.capacity() * sizeof(Candidate); }

 private:
  void link(RibEntry& entry, uint32_t index, uint16_t generation) {
    auto rank = candidates_[index].rank();
    uint32_t* place = &entry.first;
    while (*place != kEnd) {
      const Candidate& other = candidates_[*place];
      if (rank < other.rank()) break;
      bool stale = other.origin == RouteOrigin::kLinux && other.generation != generation;
      if (rank == other.rank() && stale) break;
      place = &candidates_[*place].next;
    }
    candidates_[index].next = *place;
    *place = index;
  }
  void unlink(RibEntry& entry, uint32_t index) {
    uint32_t* place = &entry.first;
    while (*place != index) place = &candidates_[*place].next;
    *place = candidates_[index].next;
  }

  lookup::RadixTree<Address, RibEntry> tree_;
  std::vector<Candidate> candidates_;
  uint32_t free_ = kEnd;
};

}  // namespace hecto::router
