// A table as ranges of addresses: each begins at `start` and ends where the next begins.
#pragma once

#include <algorithm>
#include <vector>

#include "lookup/address_bits.hpp"
#include "lookup/fib.hpp"
#include "lookup/radix_tree.hpp"

namespace hecto::lookup {

template <typename Bits>
struct Interval {
  Bits start;
  GroupId group;
};

template <typename Bits>
class Intervals {
 public:
  using Item = Interval<Bits>;

  void clear() { items_.clear(); }
  // Starts do not fall; the same start again replaces. Neighbors of one group become one.
  void put(Bits start, GroupId group) {
    if (!items_.empty() && items_.back().start == start) items_.pop_back();
    if (items_.empty() || items_.back().group != group) items_.push_back({start, group});
  }
  const std::vector<Item>& items() const { return items_; }
  // The item in which `at` lies; the first one begins not behind it. Quick for one that rises.
  size_t index_of(Bits at) const {
    for (size_t guess : {near_, near_ + 1}) {
      if (guess < items_.size() && items_[guess].start <= at &&
          (guess + 1 == items_.size() || at < items_[guess + 1].start)) {
        return near_ = guess;
      }
    }
    auto behind = std::upper_bound(items_.begin(), items_.end(), at,
                                   [](Bits bits, const Item& item) { return bits < item.start; });
    return near_ = static_cast<size_t>(behind - items_.begin()) - 1;
  }
  GroupId group_at(Bits at) const { return items_[index_of(at)].group; }

 private:
  std::vector<Item> items_;
  mutable size_t near_ = 0;  // what index_of gave last
};

// What `prefix` covers, as the routes in `routes` have it.
template <typename Address>
void paint(const RadixTree<Address, GroupId>& routes, const Prefix<Address>& prefix,
           Intervals<typename BitsOf<Address>::Type>& painted) {
  using Bits = typename BitsOf<Address>::Type;
  struct Covering {
    Bits last;
    GroupId group;
  };
  auto bounds = Bounds<Address>::of(prefix);
  GroupId ground = kNoRoute;
  if (auto above = routes.parent(prefix)) ground = *above->value;
  Covering covering[Prefix<Address>::kMaxLength + 2] = {{bounds.last, ground}};
  size_t top = 0;
  painted.clear();
  painted.put(bounds.first, ground);
  auto leave = [&] {
    Bits last = covering[top--].last;
    if (last != bounds.last) painted.put(last + 1, covering[top].group);
  };
  routes.walk(prefix, [&](const Prefix<Address>& inner, GroupId group) {
    auto inside = Bounds<Address>::of(inner);
    if (inside.first > bounds.last) return false;
    while (top != 0 && covering[top].last < inside.first) leave();
    painted.put(inside.first, group);
    covering[++top] = {inside.last, group};
    return true;
  });
  while (top != 0) leave();
}

}  // namespace hecto::lookup
