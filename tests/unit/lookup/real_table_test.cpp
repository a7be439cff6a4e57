// Every kind of table with the whole table of a real router.
#include "tests/beds/real_table.hpp"

#include <gtest/gtest.h>

#include "lookup/radix_tree.hpp"
#include "tests/beds/naive.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

template <typename Kind>
class RealTableTest : public ::testing::Test {};
TYPED_TEST_SUITE(RealTableTest, TableKinds);

TYPED_TEST(RealTableTest, EveryPrefixAnswersAndLeavesCleanly) {
  using Address = typename TypeParam::Address;
  using PrefixType = Prefix<Address>;
  auto lines = read_real_table();
  if (lines.empty()) GTEST_SKIP() << "no " << kRealTable << " in HECTO_DATA or ../shared/data";
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);

  TestTable<TypeParam> table;
  RadixTree<Address, GroupId> tree;
  std::vector<PrefixType> prefixes;
  for (const std::string& text : lines) {
    auto prefix = PrefixType::parse(text);
    if (!prefix) continue;
    prefixes.push_back(*prefix);
    ASSERT_TRUE(table.add(*prefix, group_of(text)));
    tree.insert(*prefix, group_of(text));
  }
  ASSERT_GT(prefixes.size(), 100000u);
  EXPECT_EQ(table.statistics().prefixes, tree.size());

  auto verify = [&](size_t count) {
    std::vector<Address> destinations(count);
    for (auto& destination : destinations) {
      destination = random_address(rng, Address{});
      if (rng() % 8) destination = put_inside(prefixes[rng() % prefixes.size()], destination);
    }
    auto groups = table.lookup(destinations);
    for (size_t i = 0; i < count; ++i) {
      auto match = tree.longest_match(destinations[i]);
      ASSERT_EQ(groups[i], match ? *match->value : kNoRoute) << destinations[i].to_string();
    }
  };
  verify(200000);
  for (int i = 0; i < 50000; ++i) {
    const PrefixType& prefix = prefixes[rng() % prefixes.size()];
    ASSERT_EQ(table.remove(prefix).has_value(), tree.erase(prefix));
  }
  table.publish();
  verify(100000);
}

}  // namespace
}  // namespace hecto::lookup
