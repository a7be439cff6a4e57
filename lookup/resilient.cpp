#include "lookup/resilient.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace hecto::lookup {
namespace {

struct Share {
  GroupId group;
  uint32_t weight;
  uint32_t held = 0;       // buckets before
  uint32_t quota = 0;      // buckets it shall own
  uint64_t remainder = 0;  // of the division that gave the quota
};

uint32_t bucket_count(const std::vector<Share>& shares, size_t old_count) {
  uint64_t total = 0;
  uint32_t divisor = 0;
  for (const Share& share : shares) {
    total += share.weight;
    divisor = std::gcd(divisor, share.weight);
  }
  auto wanted = std::clamp<uint64_t>(8 * total / divisor, kMinBuckets, kMaxWeightBuckets);
  wanted = std::min<uint64_t>(std::max<uint64_t>(wanted, 4 * shares.size()), kMaxGroupBuckets);
  return std::max(std::bit_ceil(static_cast<uint32_t>(wanted)), static_cast<uint32_t>(old_count));
}

// Largest remainders; of equal ones, those that hold more buckets now.
void set_quotas(std::vector<Share>& shares, uint32_t count) {
  uint64_t total = 0;
  for (const Share& share : shares) total += share.weight;
  uint32_t given = 0;
  for (Share& share : shares) {
    uint64_t exact = uint64_t{share.weight} * count;
    share.quota = static_cast<uint32_t>(exact / total);
    share.remainder = exact % total;
    if (share.quota == 0) {
      share.quota = 1;
      share.remainder = 0;
    }
    given += share.quota;
  }
  std::vector<Share*> order;
  for (Share& share : shares) order.push_back(&share);
  std::sort(order.begin(), order.end(), [](const Share* a, const Share* b) {
    if (a->remainder != b->remainder) return a->remainder > b->remainder;
    return a->held != b->held ? a->held > b->held : a->group < b->group;
  });
  for (size_t i = 0; given < count; i = (i + 1) % order.size()) {
    ++order[i]->quota;
    ++given;
  }
  // Members whose share was below one bucket took it from the largest.
  while (given > count) {
    auto largest = std::max_element(shares.begin(), shares.end(),
                                    [](const auto& a, const auto& b) { return a.quota < b.quota; });
    --largest->quota;
    --given;
  }
}

}  // namespace

std::vector<GroupId> assign_buckets(const std::map<GroupId, uint32_t>& weights,
                                    const std::vector<GroupId>& old) {
  std::vector<Share> shares;
  for (const auto& [group, weight] : weights) shares.push_back({group, weight});
  uint32_t count = bucket_count(shares, old.size());

  auto share_of = [&shares](GroupId group) -> Share* {
    auto found = std::lower_bound(shares.begin(), shares.end(), group,
                                  [](const Share& a, GroupId b) { return a.group < b; });
    return found != shares.end() && found->group == group ? &*found : nullptr;
  };
  std::vector<Share*> owner(count, nullptr);
  for (uint32_t i = 0; i < count && !old.empty(); ++i) {
    owner[i] = share_of(old[i % old.size()]);
    if (owner[i] != nullptr) ++owner[i]->held;
  }
  set_quotas(shares, count);
  for (Share*& share : owner) {
    if (share == nullptr) continue;
    if (share->held > share->quota) {
      --share->held;
      share = nullptr;
    }
  }
  // Free buckets are dealt round and round to the members that lack some.
  std::vector<Share*> lacking;
  for (Share& share : shares) {
    if (share.held < share.quota) lacking.push_back(&share);
  }
  size_t turn = 0;
  for (Share*& share : owner) {
    if (share != nullptr) continue;
    turn %= lacking.size();
    share = lacking[turn];
    if (++share->held == share->quota) {
      lacking.erase(lacking.begin() + static_cast<ptrdiff_t>(turn));
    } else {
      ++turn;
    }
  }
  std::vector<GroupId> result(count);
  std::transform(owner.begin(), owner.end(), result.begin(),
                 [](const Share* share) { return share->group; });
  return result;
}

}  // namespace hecto::lookup
