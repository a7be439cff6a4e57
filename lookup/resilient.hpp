// Which member of a weighted ECMP group owns which bucket.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lookup/fib.hpp"

namespace hecto::lookup {

inline constexpr uint32_t kMaxWeight = 256;
inline constexpr uint32_t kMinBuckets = 64;
inline constexpr uint32_t kMaxWeightBuckets = 4096;  // more only where members are that many
inline constexpr uint32_t kMaxGroupBuckets = 65536;  // what a 16-bit mask can name

// The buckets of the group: a power of two, never fewer than before, at least eight times the
// total weight up to kMaxWeightBuckets. Each member owns its share, rounded, and one
// bucket at least. A bucket of `old` changes its owner only if the owner left or has more than
// its share; where the number of buckets doubles, old bucket i becomes i and i + old.size(), so
// that a flow's hash still finds the same owner. `old` may be empty. Pure.
std::vector<GroupId> assign_buckets(const std::map<GroupId, uint32_t>& weights,
                                    const std::vector<GroupId>& old);

}  // namespace hecto::lookup
