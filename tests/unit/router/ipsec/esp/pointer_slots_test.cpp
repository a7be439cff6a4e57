#include "router/ipsec/esp/pointer_slots.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hecto::router::esp {
namespace {

// One slot for all of them, and tags of their own.
constexpr uint64_t hash_of(uint64_t n) {
  return (2 * n + 1) << 48 | 5;
}

struct Crowd {
  PointerSlots<int> slots{16};
  std::array<int, 12> entries{};

  auto is(size_t n) const {
    return [this, n](const int& entry) { return &entry == &entries[n]; };
  }
  Crowd() {
    for (size_t n = 0; n < entries.size(); ++n) slots.put(hash_of(n), &entries[n], is(n));
  }
};

TEST(PointerSlots, CandidateIsWhatFindFindsWhereItsSlotWasTaken) {
  const Crowd crowd;
  for (size_t n = 0; n < crowd.entries.size(); ++n) {
    EXPECT_EQ(crowd.slots.candidate(hash_of(n)), &crowd.entries[n]) << n;
    EXPECT_EQ(crowd.slots.find(hash_of(n), crowd.is(n)), &crowd.entries[n]) << n;
  }
  EXPECT_EQ(crowd.slots.candidate(hash_of(crowd.entries.size())), nullptr);
}

TEST(PointerSlots, CandidateLooksBehindWhatWasTakenOut) {
  Crowd crowd;
  crowd.slots.take(hash_of(3), crowd.is(3));
  EXPECT_EQ(crowd.slots.candidate(hash_of(3)), nullptr);
  EXPECT_EQ(crowd.slots.candidate(hash_of(4)), &crowd.entries[4]);
}

TEST(PointerSlots, CandidateOfAnEmptyTableIsNone) {
  EXPECT_EQ(PointerSlots<int>(0).candidate(hash_of(0)), nullptr);
}

}  // namespace
}  // namespace hecto::router::esp
