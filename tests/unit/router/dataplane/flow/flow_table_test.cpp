#include "router/dataplane/flow/flow_table.hpp"

#include <gtest/gtest.h>

#include "tests/beds/qsbr.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/flow/flow_keys.hpp"

namespace hecto::router::test {
namespace {

using lookup::Memory;
using lookup::Reclaimer;

template <typename Key>
Key exact_mask() {
  Key mask;
  std::memset(static_cast<void*>(&mask), 0, sizeof mask);
  mask.protocol = 0xff;
  std::memset(mask.source, 0xff, sizeof mask.source);
  std::memset(mask.destination, 0xff, sizeof mask.destination);
  std::memset(mask.ports, 0xff, sizeof mask.ports);
  return mask;
}

template <typename Key>
Key numbered(uint32_t n) {
  Key key;
  std::memset(static_cast<void*>(&key), 0, sizeof key);
  key.protocol = 17;
  std::memcpy(key.source, &n, sizeof n);
  return key;
}

template <typename Key>
uint32_t found_one(const FlowTable<Key>& table, const Key& key) {
  uint32_t found = 0;
  table.find(table.list(), &key, 1, nullptr, &found);
  return found;
}

template <typename Key>
class FlowTableTest : public testing::Test {};
using Families = testing::Types<FilterKey4, FilterKey6>;
TYPED_TEST_SUITE(FlowTableTest, Families);

// Entries come and go, and between two of them 64 packets are looked up; 600,000 of each family.
TYPED_TEST(FlowTableTest, FindsWhatANaiveTwinFinds) {
  constexpr unsigned kRounds = 9'400;
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  FlowKeys<TypeParam> random(seed);
  lookup::Qsbr readers;
  FlowTable<TypeParam> table({2000, 0, fixed_flow_seed()}, Memory::system(), readers);
  NaiveFlows<TypeParam> twin;
  std::vector<TypeParam> masks;
  for (unsigned i = 0; i < 20; ++i) masks.push_back(random.mask());
  TypeParam keys[kFlowGroup];
  uint32_t found[kFlowGroup];
  uint64_t checks = 0, hits = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    const TypeParam& mask = masks[random.below(20)];
    const TypeParam key = masked(random.key(), mask);
    if (random.below(3) != 0 && twin.size() < 60) {
      const uint32_t priority = random.below(6);
      const auto done = table.set(key, mask, {priority, round, 0, 0, 0});
      ASSERT_TRUE(done) << done.error().message;
      twin.set({key, mask, priority, round});
    } else {
      const uint32_t index = table.index_of(key, mask);
      ASSERT_EQ(twin.erase(key, mask), index != 0);
      if (index != 0) table.erase(index);
    }
    if (random.below(400) == 0) {
      table.erase_all();
      twin = {};
    }
    table.commit();
    readers.quiescent();
    ASSERT_EQ(table.size(), twin.size());
    for (auto& each : keys) each = random.key();
    table.find(table.list(), keys, kFlowGroup, nullptr, found);
    for (unsigned i = 0; i < kFlowGroup; ++i) {
      const auto* const wanted = twin.find(keys[i]);
      ASSERT_EQ(found[i] != 0, wanted != nullptr) << "round " << round;
      ++checks;
      if (wanted == nullptr) continue;
      ++hits;
      const auto& entry = table.entry(found[i]);
      ASSERT_EQ(entry.priority, wanted->priority) << "round " << round;
      ASSERT_TRUE(NaiveFlows<TypeParam>::holds(keys[i], table.mask_of(entry), entry.key));
    }
  }
  EXPECT_GT(checks, 600'000u);
  EXPECT_GT(hits, checks / 10) << "too few are found for a test";
  EXPECT_LT(hits, checks * 9 / 10) << "too few are not found for a test";
}

TYPED_TEST(FlowTableTest, GrowsToMoreThanAHundredThousandEntries) {
  constexpr uint32_t kEntries = 150'000;
  FlowTable<TypeParam> table({kEntries, 0, random_flow_seed()}, Memory::system(),
                             Reclaimer::none());
  const auto mask = exact_mask<TypeParam>();
  for (uint32_t n = 0; n < kEntries; ++n)
    ASSERT_TRUE(table.set(numbered<TypeParam>(n), mask, {1, n, 0, 0, 0}));
  table.commit();
  const auto full = table.set(numbered<TypeParam>(kEntries), mask, {1, 0, 0, 0, 0});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message,
            "flows: the table is full: it has 150000 entries; raise flows.entries, or delete some");
  ASSERT_TRUE(table.set(numbered<TypeParam>(7), mask, {1, 7, 0, 0, 0})) << "in the place of one";
  table.commit();
  for (uint32_t n = 0; n < kEntries; ++n) {
    const uint32_t index = found_one(table, numbered<TypeParam>(n));
    ASSERT_NE(index, 0u) << n;
    ASSERT_EQ(table.entry(index).action, n);
  }
  EXPECT_EQ(found_one(table, numbered<TypeParam>(kEntries)), 0u);
  ASSERT_EQ(table.masks().size(), 1u);
  EXPECT_LE(table.masks()[0].bytes, kEntries / 2 * 64u) << "lines are at least a quarter full";
}

// Who knows the seed, as nobody can, makes keys that all lie in the same two lines.
TYPED_TEST(FlowTableTest, RefusesKeysThatAllMeetAndKeepsTheOthers) {
  constexpr unsigned kMeeting = 17, kBits = 7;
  const FlowSeed seed = fixed_flow_seed();
  FlowTable<TypeParam> table({100'000, 0, seed}, Memory::system(), Reclaimer::none());
  const auto mask = exact_mask<TypeParam>();
  std::vector<TypeParam> meeting;
  uint32_t n = 0;
  for (; meeting.size() < kMeeting; ++n) {
    const auto key = numbered<TypeParam>(n);
    const uint64_t hash = flow_hash_of(key, mask, seed);
    // The first line of 128, and the second for each number of lines up to that.
    if (hash >> (64 - kBits) == 5 && (hash >> 16 & 0x7f) >> 1 == 9) meeting.push_back(key);
  }
  for (unsigned i = 0; i < 16; ++i) ASSERT_TRUE(table.set(meeting[i], mask, {0, i, 0, 0, 0})) << i;
  const auto refused = table.set(meeting[16], mask, {0, 16, 0, 0, 0});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("meet in one line of the hash"), std::string::npos);
  EXPECT_LE(table.bytes(), 1u << 20) << "and takes no memory for it";
  ASSERT_TRUE(table.set(numbered<TypeParam>(n + 1), mask, {0, 99, 0, 0, 0}));
  table.commit();
  for (unsigned i = 0; i < 16; ++i) ASSERT_NE(found_one(table, meeting[i]), 0u) << i;
  EXPECT_EQ(found_one(table, meeting[16]), 0u);
  EXPECT_NE(found_one(table, numbered<TypeParam>(n + 1)), 0u);
  EXPECT_EQ(table.size(), 17u);
}

// With a seed that nobody knows the fullest of many lines is no fuller than chance has it.
TYPED_TEST(FlowTableTest, KeysInARowSpreadOverLines) {
  constexpr uint32_t kLines = 1 << 12, kKeys = kLines * 4;
  const FlowSeed seed = random_flow_seed();
  const auto mask = exact_mask<TypeParam>();
  std::vector<unsigned> lines(kLines), signatures(1 << 16);
  for (uint32_t n = 0; n < kKeys; ++n) {
    const uint64_t hash = flow_hash_of(numbered<TypeParam>(n << 8), mask, seed);
    ++lines[hash >> 52];
    ++signatures[hash & 0xffff];
  }
  EXPECT_LT(*std::max_element(lines.begin(), lines.end()), 24u);
  EXPECT_LT(*std::max_element(signatures.begin(), signatures.end()), 12u);
}

TYPED_TEST(FlowTableTest, RefusesMoreMasksThanItHasRoomFor) {
  FlowTable<TypeParam> table({1000, 0, fixed_flow_seed()}, Memory::system(), Reclaimer::none());
  TypeParam key, mask;
  std::memset(static_cast<void*>(&key), 0, sizeof key);
  for (unsigned i = 0; i <= kMostFlowMasks; ++i) {
    std::memset(static_cast<void*>(&mask), 0, sizeof mask);
    mask.ports[0] = static_cast<uint8_t>(i);
    const auto done = table.set(key, mask, {i, 0, 0, 0, 0});
    ASSERT_EQ(done.has_value(), i < kMostFlowMasks) << i;
    if (!done) {
      EXPECT_EQ(
          done.error().message,
          "flows: entries ask for 64 different sets of fields already, and one more is wanted; "
          "use the same fields, or delete those of one set");
    }
  }
  table.commit();
  std::memset(static_cast<void*>(&mask), 0, sizeof mask);
  table.erase(table.index_of(key, mask));
  table.commit();
  mask.dscp = 0xff;
  EXPECT_TRUE(table.set(key, mask, {0, 0, 0, 0, 0})) << "one set of fields is free again";
}

TYPED_TEST(FlowTableTest, AnEntryIsUsedAgainOnceReadersHaveLetGo) {
  lookup::Qsbr readers;
  FlowTable<TypeParam> table({8, 0, fixed_flow_seed()}, Memory::system(), readers);
  const auto mask = exact_mask<TypeParam>();
  const auto first = table.set(numbered<TypeParam>(1), mask, {0, 1, 0, 0, 0});
  ASSERT_TRUE(first);
  table.commit();
  readers.quiescent();
  table.erase(first->index);
  table.commit();
  for (uint32_t n = 0; n < 6; ++n) {
    const auto next = table.set(numbered<TypeParam>(10 + n), mask, {0, 1, 0, 0, 0});
    ASSERT_TRUE(next);
    EXPECT_NE(next->index, first->index);
  }
  table.commit();
  readers.quiescent();
  table.reclaim();
  const auto again = table.set(numbered<TypeParam>(20), mask, {0, 1, 0, 0, 0});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->index, first->index);
}

TYPED_TEST(FlowTableTest, UndoneChangesLeaveWhatWasThere) {
  FlowTable<TypeParam> table({8, 0, fixed_flow_seed()}, Memory::system(), Reclaimer::none());
  const auto mask = exact_mask<TypeParam>();
  TypeParam other = mask;
  other.ports[0] = 0;
  const auto key = numbered<TypeParam>(1);
  ASSERT_TRUE(table.set(key, mask, {5, 1, 0, 0, 0}));
  table.commit();
  const auto replaced = table.set(key, mask, {9, 2, 0, 0, 0});
  const auto added = table.set(numbered<TypeParam>(2), other, {9, 3, 0, 0, 0});
  ASSERT_TRUE(replaced && added);
  table.undo(*added);
  table.undo(*replaced);
  table.commit();
  EXPECT_EQ(table.size(), 1u);
  ASSERT_NE(found_one(table, key), 0u);
  EXPECT_EQ(table.entry(found_one(table, key)).action, 1u);
  EXPECT_EQ(found_one(table, numbered<TypeParam>(2)), 0u);
  ASSERT_EQ(table.masks().size(), 1u);
  EXPECT_EQ(table.masks()[0].highest, 5u);
}

}  // namespace
}  // namespace hecto::router::test
