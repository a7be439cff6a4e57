#include "lookup/fib.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "lookup/arena_header.hpp"
#include "lookup/fetch_ahead.hpp"
#include "lookup/first_level.hpp"
#include "tests/beds/naive.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

template <typename Kind>
class FibTest : public ::testing::Test {};
TYPED_TEST_SUITE(FibTest, TableKinds);

TYPED_TEST(FibTest, FindsNothingInAnEmptyTable) {
  using Address = typename TypeParam::Address;
  TestTable<TypeParam> table;
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(table.lookup(random_address(rng, Address{})), kNoRoute);
  }
}

TYPED_TEST(FibTest, DefaultRouteAnswersEverywhereUntilItGoes) {
  using Address = typename TypeParam::Address;
  TestTable<TypeParam> table;
  ASSERT_TRUE(table.add(TypeParam::default_route(), 7));
  Rng rng(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(table.lookup(random_address(rng, Address{})), 7);
  }
  ASSERT_TRUE(table.remove(TypeParam::default_route()));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(table.lookup(random_address(rng, Address{})), kNoRoute);
  }
}

TYPED_TEST(FibTest, EveryLengthOfOneAddressNestsAndUncovers) {
  using PrefixType = Prefix<typename TypeParam::Address>;
  Rng rng(3);
  auto address = random_address(rng, typename TypeParam::Address{});
  TestTable<TypeParam> table;
  uint64_t empty = table.statistics().used_bytes;
  for (unsigned length = PrefixType::kMaxLength + 1; length-- > 0;) {
    ASSERT_TRUE(table.add(PrefixType::make(address, static_cast<uint8_t>(length)),
                          static_cast<GroupId>(length + 1)));
    ASSERT_EQ(table.lookup(address), PrefixType::kMaxLength + 1);
  }
  for (unsigned length = PrefixType::kMaxLength + 1; length-- > 0;) {
    ASSERT_TRUE(table.remove(PrefixType::make(address, static_cast<uint8_t>(length))));
    ASSERT_EQ(table.lookup(address), length);
  }
  table.publish();
  EXPECT_EQ(table.statistics().prefixes, 0u);
  EXPECT_EQ(table.statistics().used_bytes, empty);
}

TYPED_TEST(FibTest, HolesAreLegal) {
  TestTable<TypeParam> table;
  auto hole = TypeParam::numbered(32, 1);
  ASSERT_TRUE(table.add(TypeParam::default_route(), 1));
  ASSERT_TRUE(table.add(hole, kNoRoute));
  EXPECT_EQ(table.lookup(hole.address), kNoRoute);
  ASSERT_TRUE(table.remove(hole));
  EXPECT_EQ(table.lookup(hole.address), 1);
}

TYPED_TEST(FibTest, ReplacesAndInserts) {
  TestTable<TypeParam> table;
  auto prefix = TypeParam::numbered(32, 1);
  ASSERT_TRUE(table.insert(prefix, 1));
  EXPECT_EQ(table.insert(prefix, 2).error(), Error::kDuplicate);
  EXPECT_EQ(table.lookup(prefix.address), 1);
  ASSERT_TRUE(table.add(prefix, 3));
  EXPECT_EQ(table.lookup(prefix.address), 3);
  EXPECT_EQ(table.statistics().prefixes, 1u);
}

TYPED_TEST(FibTest, EverySocketsReplicaIsTheSameBytes) {
  TestTable<TypeParam> table({.sockets = {0, 3}});
  uint64_t bytes = table.statistics().bytes;
  for (uint32_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(table.add(TypeParam::numbered(32, i * 100), static_cast<GroupId>(i)));
  }
  EXPECT_GT(table.statistics().bytes, bytes) << "grew on the way";
  for (uint32_t i = 0; i < 4000; i += 3) {
    ASSERT_TRUE(table.remove(TypeParam::numbered(32, i * 100)));
  }
  table.publish();
  EXPECT_NE(table.arena(0), table.arena(3));
  EXPECT_EQ(std::memcmp(table.arena(0), table.arena(3), table.statistics().bytes), 0);
  EXPECT_EQ(table.arena(9), table.arena(0)) << "a socket without a replica reads the first";
}

TYPED_TEST(FibTest, HeaderDescribesTheArena) {
  TestTable<TypeParam> table;
  auto header = [&] { return *reinterpret_cast<const ArenaHeader*>(table.arena()); };
  const char* magic = TypeParam::kIsDirect ? "HD4\1" : TypeParam::kIsIpv4 ? "HT4\1" : "HT6\1";
  ArenaHeader empty = header();
  EXPECT_EQ(std::memcmp(&empty.magic, magic, 4), 0);
  EXPECT_EQ(empty.words * size_t{4}, table.statistics().bytes);
  EXPECT_EQ(empty.nodes * size_t{4}, table.statistics().used_bytes) << "nothing in it so far";
  EXPECT_EQ(empty.table_count, TypeParam::kIsDirect ? 0u : TypeParam::kTable + 1u);
  uint32_t checksum = empty.checksum;
  for (uint32_t generation = 1; generation < 4; ++generation) {
    ASSERT_TRUE(table.add(TypeParam::numbered(24, generation), 7));
    EXPECT_EQ(header().generation, generation - 1) << "not published yet";
    table.publish();
    EXPECT_EQ(header().generation, generation);
    EXPECT_EQ(table.statistics().generation, generation);
    EXPECT_NE(header().checksum, checksum);
    checksum = header().checksum;
    table.publish();
    EXPECT_EQ(header().generation, generation) << "nothing has changed";
  }
}

// The differential tests: random changes, then everything held against the naive twin.
TYPED_TEST(FibTest, AgreesWithTheNaiveTwinAfterRandomChanges) {
  using Address = typename TypeParam::Address;
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  NaiveFib<Address> naive;
  TestTable<TypeParam> table;
  for (int round = 0; round < 60; ++round) {
    for (int change = 0; change < 50; ++change) {
      auto prefix = round == 0 || random.rng()() % 2 ? random.prefix() : random.some();
      auto group = static_cast<GroupId>(random.rng()() & kMaxGroupId);
      if (random.rng()() % 5 < 3) {
        ASSERT_TRUE(table.add(prefix, group)) << prefix.to_string();
        naive.add(prefix, group);
      } else {
        ASSERT_EQ(table.remove(prefix).has_value(), naive.remove(prefix)) << prefix.to_string();
      }
    }
    table.publish();
    std::vector<Address> destinations(round * 257 % 258 + (round % 4) * 100);
    for (auto& destination : destinations) destination = random.destination();
    auto groups = table.lookup(destinations);
    for (size_t i = 0; i < groups.size(); ++i) {
      ASSERT_EQ(groups[i], naive.lookup(destinations[i])) << destinations[i].to_string();
    }
  }
}

TYPED_TEST(FibTest, IsEmptyAgainAfterEverythingIsRemovedInRandomOrder) {
  using Address = typename TypeParam::Address;
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  std::set<Prefix<Address>> prefixes;
  TestTable<TypeParam> table;
  uint64_t empty = table.statistics().used_bytes;
  while (prefixes.size() < 1000) {
    auto prefix = random.prefix();
    ASSERT_TRUE(table.add(prefix, 9));
    prefixes.insert(prefix);
  }
  std::vector<Prefix<Address>> order(prefixes.begin(), prefixes.end());
  std::shuffle(order.begin(), order.end(), random.rng());
  for (auto& prefix : order) ASSERT_TRUE(table.remove(prefix));
  table.publish();
  EXPECT_EQ(table.statistics().used_bytes, empty);
  EXPECT_EQ(table.statistics().prefixes, 0u);
  std::vector<Address> destinations(5000);
  for (auto& destination : destinations) destination = random.destination();
  for (GroupId group : table.lookup(destinations)) ASSERT_EQ(group, kNoRoute);
}

TEST(FirstLevel, IsWhatALookupReadsFirstAndNothingInATrie) {
  for (const Engine engine : {Engine::kDirect, Engine::kTrie}) {
    const auto fib = Fib4::create({.tables = 2, .engine = engine});
    ASSERT_TRUE(fib);
    const Prefix4 prefix = *Prefix4::parse("192.0.2.0/24");
    ASSERT_TRUE((*fib)->add(prefix, 5));
    ASSERT_TRUE((*fib)->add(prefix, 6, 1));
    const void* level = first_level((*fib)->view(0));
    EXPECT_EQ(first_level((*fib)->view(0, 1)), nullptr);
    if (engine == Engine::kTrie) {
      EXPECT_EQ(level, nullptr);
      continue;
    }
    EXPECT_EQ(*first_entry(level, 0xc0000200), 5);
    EXPECT_EQ(*first_entry(level, 0xc00002ff), 5);
    EXPECT_EQ(*first_entry(level, 0xc0000300), kNoRoute);
    EXPECT_EQ(*first_entry(level, 0xc00001ff), kNoRoute);
  }
}

// Those of up to two bits are half or quarter of the address space: in, around and beside 2000::/3.
TYPED_TEST(FibTest, ShortestPrefixesInAnyOrder) {
  using Address = typename TypeParam::Address;
  Rng rng(4);
  TestTable<TypeParam> table;
  NaiveFib<Address> naive;
  for (GroupId group = 1; group < 60; ++group) {
    auto length = static_cast<uint8_t>(rng() % 5);
    auto prefix = Prefix<Address>::make(random_address(rng, Address{}), length);
    if (group % 3 != 0) {
      ASSERT_TRUE(table.add(prefix, group));
      naive.add(prefix, group);
    } else {
      ASSERT_EQ(table.remove(prefix).has_value(), naive.remove(prefix));
    }
    for (int i = 0; i < 64; ++i) {
      Address destination = random_address(rng, Address{});
      ASSERT_EQ(table.lookup(destination), naive.lookup(destination)) << prefix.to_string();
    }
  }
}

}  // namespace
}  // namespace hecto::lookup
