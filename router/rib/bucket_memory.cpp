#include "router/rib/bucket_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hecto::router {

double similarity(std::span<const Adjacency> a, std::span<const Adjacency> b) {
  std::vector<Adjacency> left(a.begin(), a.end()), right(b.begin(), b.end()), both;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(both));
  const size_t either = left.size() + right.size() - both.size();
  return either == 0 ? 0.0 : static_cast<double>(both.size()) / static_cast<double>(either);
}

void BucketMemory::remember(BucketPattern pattern) {
  if (past_.size() == kKept) past_.pop_back();
  past_.push_front(std::move(pattern));
}

const BucketPattern* BucketMemory::closest(std::span<const Adjacency> members, double than) const {
  const BucketPattern* best = nullptr;
  for (const BucketPattern& pattern : past_) {
    const double found = similarity(members, pattern.members);
    if (found <= than) continue;
    than = found;
    best = &pattern;
  }
  return best;
}

}  // namespace hecto::router
