#include "lookup/radix_tree.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::lookup {
namespace {

template <typename Address>
class RadixTreeTest : public ::testing::Test {};
using Addresses = ::testing::Types<Ipv4Address, Ipv6Address>;
TYPED_TEST_SUITE(RadixTreeTest, Addresses);

template <typename Address>
using Twin = std::map<Prefix<Address>, int>;

template <typename Address>
const typename Twin<Address>::value_type* longest(const Twin<Address>& twin, const Address& host,
                                                  int max_length) {
  for (int length = max_length; length >= 0; --length) {
    auto at = twin.find(Prefix<Address>::make(host, static_cast<uint8_t>(length)));
    if (at != twin.end()) return &*at;
  }
  return nullptr;
}

template <typename Match, typename Expected>
void expect_same(const Match& match, const Expected* expected) {
  ASSERT_EQ(match.has_value(), expected != nullptr);
  if (!match) return;
  EXPECT_EQ(match->prefix, expected->first);
  EXPECT_EQ(*match->value, expected->second);
}

TYPED_TEST(RadixTreeTest, AgreesWithAMapAfterRandomChanges) {
  using Address = TypeParam;
  uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  RadixTree<Address, int> tree;
  Twin<Address> twin;
  for (int round = 0; round < 6000; ++round) {
    bool fresh = twin.empty() || random.rng()() % 3 != 0;
    auto prefix = fresh ? random.prefix() : random.some();
    if (random.rng()() % 2 == 0) {
      ASSERT_EQ(tree.insert(prefix, round).second, twin.emplace(prefix, round).second);
    } else {
      ASSERT_EQ(tree.erase(prefix), twin.erase(prefix) == 1);
    }
    ASSERT_EQ(tree.size(), twin.size());
    Address host = random.destination();
    expect_same(tree.longest_match(host), longest(twin, host, Prefix<Address>::kMaxLength));
    expect_same(tree.parent(prefix), longest(twin, prefix.address, prefix.length - 1));
    auto at = twin.find(prefix);
    const int* value = tree.find(prefix);
    ASSERT_EQ(value != nullptr, at != twin.end());
    if (value) {
      ASSERT_EQ(*value, at->second);
    }
    auto other = random.some();
    auto following = twin.lower_bound(other);
    int left = 20;
    tree.walk(other, [&](const Prefix<Address>& here, int number) {
      EXPECT_TRUE(following != twin.end() && following->first == here &&
                  following->second == number);
      ++following;
      return --left > 0;
    });
    ASSERT_TRUE(left == 0 || following == twin.end());
    ASSERT_FALSE(this->HasFailure());
  }
}

TYPED_TEST(RadixTreeTest, ReusesTheNodesOfErasedPrefixes) {
  using Address = TypeParam;
  RandomTable<Address> random(1);
  RadixTree<Address, int> tree;
  std::vector<Prefix<Address>> prefixes(1000);
  for (auto& prefix : prefixes) prefix = random.prefix();
  for (auto& prefix : prefixes) tree.insert(prefix, 1);
  size_t bytes = tree.bytes();
  for (int round = 0; round < 20; ++round) {
    for (auto& prefix : prefixes) tree.erase(prefix);
    EXPECT_TRUE(tree.empty());
    for (auto& prefix : prefixes) tree.insert(prefix, 1);
  }
  EXPECT_EQ(tree.bytes(), bytes);
}

TEST(RadixTree, InsertKeepsTheValueThatIsThere) {
  RadixTree<Ipv4Address, int> tree;
  tree.insert(*Prefix4::parse("10.0.0.0/8"), 1);
  auto [value, fresh] = tree.insert(*Prefix4::parse("10.0.0.0/8"), 2);
  EXPECT_FALSE(fresh);
  EXPECT_EQ(*value, 1);
}

TEST(RadixTree, WalksInOrderOfAddressThenLength) {
  RadixTree<Ipv4Address, int> tree;
  for (const char* text : {"10.1.0.0/16", "0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/24", "9.0.0.0/8"}) {
    tree.insert(*Prefix4::parse(text), 0);
  }
  std::string seen;
  tree.walk(*Prefix4::parse("9.1.0.0/16"), [&](const Prefix4& prefix, int) {
    seen += prefix.to_string() + " ";
    return true;
  });
  EXPECT_EQ(seen, "10.0.0.0/8 10.0.0.0/24 10.1.0.0/16 ");
}

}  // namespace
}  // namespace hecto::lookup
