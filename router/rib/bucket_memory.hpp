// Which member of an ECMP group owned which bucket: what a set that takes another's place begins
// with, so that flows of members that stay do not move (the idea of RFC 2992 §3's table, kept over
// the change of a whole set). Linux's daemons replace sets rather than change them.
//
// Control thread; not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/net.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {

// A next hop, whatever names it: a route's list or a kernel object.
struct Adjacency {
  InterfaceId interface = kNoInterface;
  lookup::IpAddress gateway;  // none: unspecified
  auto operator<=>(const Adjacency&) const = default;
};

struct BucketPattern {
  std::vector<Adjacency> members;
  std::vector<uint16_t> owners;  // by bucket: index of a member
};

// Members of both over members of either: 1 the same, 0 none in common. Each in any order.
double similarity(std::span<const Adjacency> a, std::span<const Adjacency> b);

// Patterns of sets that have gone, the last kKept.
class BucketMemory {
 public:
  static constexpr size_t kKept = 64;
  void remember(BucketPattern pattern);
  // The latest of those most similar, if it is more similar than `than`; null: none is.
  const BucketPattern* closest(std::span<const Adjacency> members, double than) const;

 private:
  std::deque<BucketPattern> past_;  // newest first
};

}  // namespace hecto::router
