#include "lookup/fib.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "family.hpp"
#include "lookup/naive.hpp"
#include "qsbr.hpp"
#include "random_table.hpp"

namespace hecto::lookup {
namespace {

template <typename Family>
class FibTest : public ::testing::Test {
 protected:
  using Address = typename Family::Address;
  using Fib = typename Family::Fib;
  using PrefixType = Prefix<Address>;

  static std::unique_ptr<Fib> make(FibOptions options = {}) { return Fib::create(options).value(); }
  static PrefixType default_route() { return *PrefixType::parse(Family::kDefault); }
  // A prefix of that length, the `number`th from some address.
  static PrefixType numbered(uint8_t length, uint32_t number) {
    Address address{};
    if constexpr (sizeof(Address) == 4) {
      address.value = 0x0a000000u + (number << (32 - length));
    } else {
      address.bytes[0] = 0x20;
      for (unsigned i = 0; i < 4 && i < length / 8u; ++i) {
        address.bytes[length / 8 - 1 - i] |= static_cast<uint8_t>(number >> 8 * i);
      }
    }
    return PrefixType::make(address, length);
  }
};
TYPED_TEST_SUITE(FibTest, Families);

TYPED_TEST(FibTest, FindsNothingInAnEmptyTable) {
  using Address = typename TypeParam::Address;
  auto fib = this->make();
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(lookup_one<TypeParam>(*fib, random_address(rng, Address{})), kNoRoute);
  }
}

TYPED_TEST(FibTest, DefaultRouteAnswersEverywhereUntilItGoes) {
  using Address = typename TypeParam::Address;
  auto fib = this->make();
  ASSERT_TRUE(fib->add(this->default_route(), 7));
  Rng rng(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(lookup_one<TypeParam>(*fib, random_address(rng, Address{})), 7);
  }
  ASSERT_TRUE(fib->remove(this->default_route()));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(lookup_one<TypeParam>(*fib, random_address(rng, Address{})), kNoRoute);
  }
}

TYPED_TEST(FibTest, EveryLengthOfOneAddressNestsAndUncovers) {
  using PrefixType = Prefix<typename TypeParam::Address>;
  Rng rng(3);
  auto address = random_address(rng, typename TypeParam::Address{});
  auto fib = this->make();
  for (unsigned length = PrefixType::kMaxLength + 1; length-- > 0;) {
    ASSERT_TRUE(fib->add(PrefixType::make(address, static_cast<uint8_t>(length)),
                         static_cast<GroupId>(length + 1)));
    ASSERT_EQ(lookup_one<TypeParam>(*fib, address), PrefixType::kMaxLength + 1);
  }
  for (unsigned length = PrefixType::kMaxLength + 1; length-- > 0;) {
    ASSERT_TRUE(fib->remove(PrefixType::make(address, static_cast<uint8_t>(length))));
    ASSERT_EQ(lookup_one<TypeParam>(*fib, address), length);
  }
  EXPECT_EQ(fib->statistics().prefixes, 0u);
  EXPECT_EQ(fib->statistics().nodes_used, TypeParam::kDefault[0] == ':' ? 13u : 1u);
  fib->publish();
  EXPECT_EQ(fib->statistics().nodes_used, 0u);
}

TYPED_TEST(FibTest, HolesAreLegal) {
  auto fib = this->make();
  auto hole = this->numbered(32, 1);
  ASSERT_TRUE(fib->add(this->default_route(), 1));
  ASSERT_TRUE(fib->add(hole, kNoRoute));
  EXPECT_EQ(lookup_one<TypeParam>(*fib, hole.address), kNoRoute);
  ASSERT_TRUE(fib->remove(hole));
  EXPECT_EQ(lookup_one<TypeParam>(*fib, hole.address), 1);
}

TYPED_TEST(FibTest, RefusesWhatIsWrongAndStaysAsItWas) {
  using PrefixType = Prefix<typename TypeParam::Address>;
  auto fib = this->make();
  auto good = this->numbered(32, 1);
  ASSERT_TRUE(fib->add(good, 1));
  PrefixType host_bits = good;
  host_bits.length = 16;
  PrefixType too_long = good;
  too_long.length = PrefixType::kMaxLength + 1;
  EXPECT_EQ(fib->add(host_bits, 2).error(), Error::kBadPrefix);
  EXPECT_EQ(fib->add(too_long, 2).error(), Error::kBadPrefix);
  EXPECT_EQ(fib->remove(host_bits).error(), Error::kBadPrefix);
  EXPECT_EQ(fib->remove(too_long).error(), Error::kBadPrefix);
  EXPECT_EQ(fib->add(good, kMaxGroupId + 1).error(), Error::kUnknownGroup);
  EXPECT_EQ(fib->remove(this->numbered(32, 2)).error(), Error::kNotFound);
  EXPECT_EQ(fib->statistics().prefixes, 1u);
  EXPECT_EQ(lookup_one<TypeParam>(*fib, good.address), 1);
}

TYPED_TEST(FibTest, FullTableRefusesAndGoesOn) {
  auto fib = this->make({.sockets = {0}, .max_nodes = 3});
  auto at = [&](uint32_t i) { return this->numbered(32, i << 8); };  // one node each
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(fib->add(at(i), 5));
  EXPECT_EQ(fib->add(at(3), 6).error(), Error::kTableFull);
  EXPECT_EQ(fib->statistics().prefixes, 3u);
  EXPECT_EQ(lookup_one<TypeParam>(*fib, at(3).address), kNoRoute);
  EXPECT_TRUE(fib->add(this->numbered(24, 3), 8)) << "needs no node";
  EXPECT_TRUE(fib->add(this->numbered(32, 1), 9)) << "shares one";
  ASSERT_TRUE(fib->remove(at(1)));
  EXPECT_TRUE(fib->add(at(3), 6)) << "takes the freed one";
  EXPECT_EQ(lookup_one<TypeParam>(*fib, at(3).address), 6);
}

TEST(Fib6, DeepPathThatDoesNotFitWritesNothing) {
  auto fib = Fib6::create({.sockets = {0}, .max_nodes = 5}).value();
  EXPECT_EQ(fib->add(*Prefix6::parse("2001:db8::1/128"), 1).error(), Error::kTableFull);
  EXPECT_EQ(fib->statistics().nodes_used, 0u);
  EXPECT_TRUE(fib->add(*Prefix6::parse("2001:db8:0:1::/64"), 2)) << "five nodes";
}

TYPED_TEST(FibTest, NodesReturnOnlyAfterTheGracePeriod) {
  Qsbr qsbr;
  auto fib = TypeParam::Fib::create({.sockets = {0}, .max_nodes = 1}, Memory::system(), qsbr);
  auto one = this->numbered(32, 0), two = this->numbered(32, 1 << 8);
  ASSERT_TRUE((*fib)->add(one, 1));
  ASSERT_TRUE((*fib)->remove(one));
  EXPECT_EQ((*fib)->add(two, 2).error(), Error::kTableFull);
  (*fib)->publish();
  EXPECT_EQ((*fib)->add(two, 2).error(), Error::kTableFull);
  qsbr.quiescent();
  EXPECT_TRUE((*fib)->add(two, 2));
}

TYPED_TEST(FibTest, EverySocketsReplicaIsTheSameBytes) {
  auto fib = this->make({.sockets = {0, 3}, .max_nodes = 64});
  for (uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(fib->add(this->numbered(32, i * 100), static_cast<GroupId>(i)));
  }
  for (uint32_t i = 0; i < 40; i += 3) ASSERT_TRUE(fib->remove(this->numbered(32, i * 100)));
  fib->publish();
  const uint32_t* one = fib->view(0).arena;
  const uint32_t* other = fib->view(3).arena;
  EXPECT_NE(one, other);
  EXPECT_EQ(std::memcmp(one, other, fib->statistics().bytes), 0);
  EXPECT_EQ(fib->view(9).arena, one) << "a socket without a replica reads the first";
}

TYPED_TEST(FibTest, HeaderDescribesTheArena) {
  auto fib = this->make({.sockets = {0}, .max_nodes = 16});
  ArenaHeader header;
  uint32_t checksum = 0;
  for (uint64_t generation = 0; generation < 3; ++generation) {
    std::memcpy(&header, fib->view(0).arena, sizeof(header));
    EXPECT_EQ(header.generation, generation);
    EXPECT_EQ(fib->statistics().generation, generation);
    EXPECT_NE(header.checksum, checksum);
    checksum = header.checksum;
    fib->publish();
  }
  EXPECT_EQ(
      std::memcmp(&header.magic, sizeof(typename TypeParam::Address) == 4 ? "HF4\1" : "HF6\1", 4),
      0);
  EXPECT_EQ(header.words * size_t{4}, fib->statistics().bytes);
  EXPECT_EQ(header.node_count, 16u);
  EXPECT_EQ(header.root_offset, 16u);
  EXPECT_GT(header.nodes_offset, header.root_offset);
}

TYPED_TEST(FibTest, FailsWithoutMemory) {
  class NoMemory final : public Memory {
    void* allocate(size_t, int) noexcept override { return nullptr; }
    void release(void*, size_t) noexcept override { FAIL(); }
  } none;
  EXPECT_EQ(TypeParam::Fib::create({}, none).error(), Error::kNoMemory);
  EXPECT_EQ(TypeParam::Fib::create({.sockets = {}}).error(), Error::kNoMemory);
}

// The differential tests: random changes, then everything held against the naive twin.
TYPED_TEST(FibTest, AgreesWithTheNaiveTwinAfterRandomChanges) {
  using Address = typename TypeParam::Address;
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  NaiveFib<Address> naive;
  auto fib = this->make();
  for (int round = 0; round < 60; ++round) {
    for (int change = 0; change < 50; ++change) {
      auto prefix = round == 0 || random.rng()() % 2 ? random.prefix() : random.some();
      auto group = static_cast<GroupId>(random.rng()() & kMaxGroupId);
      if (random.rng()() % 5 < 3) {
        ASSERT_TRUE(fib->add(prefix, group)) << prefix.to_string();
        naive.add(prefix, group);
      } else {
        ASSERT_EQ(fib->remove(prefix).has_value(), naive.remove(prefix)) << prefix.to_string();
      }
    }
    fib->publish();
    std::vector<Address> destinations(round * 257 % 258 + (round % 4) * 100);
    for (auto& destination : destinations) destination = random.destination();
    auto groups = lookup_all<TypeParam>(*fib, destinations);
    for (size_t i = 0; i < groups.size(); ++i) {
      ASSERT_EQ(groups[i], naive.lookup(destinations[i])) << destinations[i].to_string();
    }
  }
}

TYPED_TEST(FibTest, IsEmptyAgainAfterEverythingIsRemovedInRandomOrder) {
  using Address = typename TypeParam::Address;
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomTable<Address> random(seed);
  std::set<Prefix<Address>> prefixes;
  auto fib = this->make();
  while (prefixes.size() < 1000) {
    auto prefix = random.prefix();
    ASSERT_TRUE(fib->add(prefix, 9));
    prefixes.insert(prefix);
  }
  std::vector<Prefix<Address>> order(prefixes.begin(), prefixes.end());
  std::shuffle(order.begin(), order.end(), random.rng());
  for (auto& prefix : order) ASSERT_TRUE(fib->remove(prefix));
  fib->publish();
  EXPECT_EQ(fib->statistics().nodes_used, 0u);
  EXPECT_EQ(fib->statistics().prefixes, 0u);
  std::vector<Address> destinations(5000);
  for (auto& destination : destinations) destination = random.destination();
  for (GroupId group : lookup_all<TypeParam>(*fib, destinations)) ASSERT_EQ(group, kNoRoute);
}

}  // namespace
}  // namespace hecto::lookup
