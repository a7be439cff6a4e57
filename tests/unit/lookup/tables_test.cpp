// Several tables in one FIB.
#include <gtest/gtest.h>

#include <set>

#include "tests/beds/naive.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

template <typename Address>
GroupId lookup_one(const Fib<Address>& fib, const Address& address, TableId table) {
  GroupId group = 0xdead;
  lookup_in(fib.view(0, table), &address, &group, 1);
  return group;
}

// Which engine the main table has beside the others.
template <typename A, Engine kEngineOfMain>
struct MainTable {
  using Address = A;
  static constexpr Engine kEngine = kEngineOfMain;
};

template <typename Main>
class TablesTest : public ::testing::Test {};
using Mains =
    ::testing::Types<MainTable<Ipv4Address, Engine::kDirect>, MainTable<Ipv4Address, Engine::kTrie>,
                     MainTable<Ipv6Address, Engine::kAuto>>;
TYPED_TEST_SUITE(TablesTest, Mains);

TYPED_TEST(TablesTest, AnswerFromTheirOwnRoutesOnly) {
  using Address = typename TypeParam::Address;
  constexpr TableId kTables = 5;
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  auto fib = Fib<Address>::create({.tables = kTables, .engine = TypeParam::kEngine}).value();
  uint64_t empty = fib->statistics().used_bytes;
  std::vector<NaiveFib<Address>> naive(kTables);
  std::vector<std::set<Prefix<Address>>> present(kTables);
  auto verify = [&] {
    for (int i = 0; i < 500; ++i) {
      Address destination = random.destination();
      for (TableId table = 0; table < kTables; ++table) {
        ASSERT_EQ(lookup_one(*fib, destination, table), naive[table].lookup(destination))
            << destination.to_string() << " in table " << table;
      }
    }
  };
  // The same prefixes in all tables, most in some only.
  for (int round = 0; round < 20; ++round) {
    for (int change = 0; change < 200; ++change) {
      auto prefix = round == 0 || random.rng()() % 2 ? random.prefix() : random.some();
      auto table = static_cast<TableId>(random.rng()() % kTables);
      auto group = static_cast<GroupId>(random.rng()() & kMaxGroupId);
      if (random.rng()() % 3 != 0) {
        ASSERT_TRUE(fib->add(prefix, group, table));
        naive[table].add(prefix, group);
        present[table].insert(prefix);
      } else {
        bool known = present[table].erase(prefix) == 1;
        ASSERT_EQ(fib->remove(prefix, table).has_value(), known);
        naive[table].remove(prefix);
      }
    }
    fib->publish();
    verify();
    if (testing::Test::HasFatalFailure()) return;
  }
  size_t prefixes = 0;
  for (auto& each : present) prefixes += each.size();
  EXPECT_EQ(fib->statistics().prefixes, prefixes);
  // Table by table: what goes in one stays in the others.
  for (TableId table = 0; table < kTables; ++table) {
    for (const auto& prefix : present[table]) {
      ASSERT_TRUE(fib->remove(prefix, table));
      naive[table].remove(prefix);
    }
    verify();
    if (testing::Test::HasFatalFailure()) return;
  }
  fib->publish();
  EXPECT_EQ(fib->statistics().used_bytes, empty);
  EXPECT_EQ(fib->statistics().prefixes, 0u);
}

TYPED_TEST(TablesTest, LimitOnPrefixesIsForAllTables) {
  using Address = typename TypeParam::Address;
  using PrefixType = Prefix<Address>;
  auto fib =
      Fib<Address>::create({.tables = 3, .engine = TypeParam::kEngine, .max_prefixes = 4}).value();
  auto any = PrefixType::make({}, 8);
  for (TableId table = 0; table < 3; ++table) ASSERT_TRUE(fib->add(any, 1, table));
  auto another = PrefixType::make({}, 16);
  ASSERT_TRUE(fib->add(another, 1, 1));
  for (TableId table : {0, 2}) {
    EXPECT_EQ(fib->add(another, 1, table).error(), Error::kTableFull) << "table " << table;
  }
  EXPECT_TRUE(fib->add(any, 2, 0)) << "replaces";
  ASSERT_TRUE(fib->remove(any, 1));
  EXPECT_TRUE(fib->add(another, 1, 0));
}

// A default route and a few networks, as a customer's table has them.
template <typename Address>
uint64_t bytes_of_small_tables(const std::vector<std::string>& prefixes) {
  constexpr TableId kVrfs = 200;
  uint64_t without = Fib<Address>::create({})->get()->statistics().bytes;
  auto fib = Fib<Address>::create({.tables = kVrfs + 1}).value();
  for (TableId table = 1; table <= kVrfs; ++table) {
    GroupId group(table);
    for (const std::string& text : prefixes) {
      EXPECT_TRUE(fib->add(Prefix<Address>::parse(text).value(), group, table));
      ++group;
    }
  }
  fib->publish();
  return fib->statistics().bytes - without;
}

TEST(Tables, TwoHundredSmallOnesAreSmall) {
  uint64_t bytes4 = bytes_of_small_tables<Ipv4Address>({"0.0.0.0/0", "10.1.0.0/16"});
  uint64_t bytes6 = bytes_of_small_tables<Ipv6Address>({"::/0", "fd00::/16"});
  EXPECT_LT(bytes4 + bytes6, 100'000u) << bytes4 << " + " << bytes6;
}

}  // namespace
}  // namespace hecto::lookup
