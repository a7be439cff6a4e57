#include "lookup/consistent.hpp"

#include <algorithm>
#include <cmath>

#include "lookup/resilient.hpp"

namespace hecto::lookup {
namespace {

// splitmix64's last step: each bit of the input reaches each of the output.
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// -w / ln(u) of a u in (0, 1) that key and bucket give: the largest of them wins in proportion to w.
double score(const KeyedMember& member, uint32_t bucket) {
  const uint64_t hash = mixed(member.key + 0x9e3779b97f4a7c15 * (uint64_t{bucket} + 1));
  const double u = (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
  return -static_cast<double>(member.weight) / std::log(u);
}

uint32_t bucket_total(size_t members) {
  for (const ConsistentStep& step : kConsistentSteps)
    if (members <= step.members) return step.buckets;
  return kMaxGroupBuckets;
}

}  // namespace

std::vector<GroupId> consistent_buckets(std::span<const KeyedMember> members) {
  if (members.empty()) return {};
  std::vector<GroupId> owners(bucket_total(members.size()));
  for (uint32_t bucket = 0; bucket < owners.size(); ++bucket) {
    const KeyedMember* best = nullptr;
    double most = 0;
    for (const KeyedMember& member : members) {
      const double own = score(member, bucket);
      if (best != nullptr && (own < most || (own == most && member.group > best->group))) continue;
      best = &member;
      most = own;
    }
    owners[bucket] = best->group;
  }
  return owners;
}

}  // namespace hecto::lookup
