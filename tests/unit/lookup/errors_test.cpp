// What a FIB refuses, and that it is the same afterwards: every answer and every byte used.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/beds/naive.hpp"
#include "tests/beds/qsbr.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::lookup {
namespace {

struct Snapshot {
  std::vector<GroupId> groups;
  uint64_t prefixes;
  uint64_t used_bytes;

  bool operator==(const Snapshot&) const = default;
};

// Fails the allocation of that number, counted from 1, and no other.
class FailingMemory final : public Memory {
 public:
  explicit FailingMemory(uint32_t fails) : fails_(fails) {}
  ~FailingMemory() override { EXPECT_EQ(live_, 0); }
  void* allocate(size_t bytes, int socket) noexcept override {
    if (++count_ == fails_) return nullptr;
    ++live_;
    return Memory::system().allocate(bytes, socket);
  }
  void release(void* block, size_t bytes) noexcept override {
    --live_;
    Memory::system().release(block, bytes);
  }
  bool has_failed() const { return count_ >= fails_; }

 private:
  uint32_t fails_;
  uint32_t count_ = 0;
  int live_ = 0;
};

template <typename Kind>
class ErrorsTest : public ::testing::Test {
 protected:
  using Address = typename Kind::Address;
  using PrefixType = Prefix<Address>;

  void fill(TestTable<Kind>& table, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(table.add(random_.prefix(), static_cast<GroupId>(random_.rng()() % 9)));
    }
    table.publish();
  }
  // Of destinations that are the same each time.
  Snapshot snapshot(const TestTable<Kind>& table) {
    while (destinations_.size() < 3000) destinations_.push_back(random_.destination());
    FibStatistics statistics = table.statistics();
    return {table.lookup(destinations_), statistics.prefixes, statistics.used_bytes};
  }
  uint64_t seed_ = test_seed();
  testing::ScopedTrace trace_{__FILE__, __LINE__, testing::Message() << "seed " << seed_};
  RandomTable<Address> random_{seed_};
  std::vector<Address> destinations_;
};
TYPED_TEST_SUITE(ErrorsTest, TableKinds);

TYPED_TEST(ErrorsTest, WrongArgumentsChangeNothing) {
  using PrefixType = Prefix<typename TypeParam::Address>;
  TestTable<TypeParam> table;
  this->fill(table, 300);
  auto good = TypeParam::numbered(PrefixType::kMaxLength, 1);
  ASSERT_TRUE(table.add(good, 1));
  table.publish();
  PrefixType host_bits = good;
  host_bits.length = 16;
  PrefixType too_long = good;
  too_long.length = PrefixType::kMaxLength + 1;
  PrefixType absent = TypeParam::numbered(PrefixType::kMaxLength, 2);
  TableId unknown = TypeParam::kTable + 1;
  Snapshot before = this->snapshot(table);
  for (auto& wrong : {host_bits, too_long}) {
    EXPECT_EQ(table.add(wrong, 2).error(), Error::kBadPrefix);
    EXPECT_EQ(table.insert(wrong, 2).error(), Error::kBadPrefix);
    EXPECT_EQ(table.remove(wrong).error(), Error::kBadPrefix);
  }
  EXPECT_EQ(table.add(good, kMaxGroupId + 1).error(), Error::kUnknownGroup);
  EXPECT_EQ(table.insert(absent, kMaxGroupId + 1).error(), Error::kUnknownGroup);
  EXPECT_EQ(table.insert(good, 2).error(), Error::kDuplicate);
  EXPECT_EQ(table.remove(absent).error(), Error::kNotFound);
  EXPECT_EQ(table.fib().add(good, 2, unknown).error(), Error::kUnknownTable);
  EXPECT_EQ(table.fib().insert(good, 2, unknown).error(), Error::kUnknownTable);
  EXPECT_EQ(table.fib().remove(good, unknown).error(), Error::kUnknownTable);
  EXPECT_EQ(this->snapshot(table), before);
}

TYPED_TEST(ErrorsTest, RefusesToBeMadeOfNothing) {
  EXPECT_EQ(TypeParam::Fib::create({.sockets = {}}).error(), Error::kNoMemory);
  FibOptions too_small = TypeParam::with({.max_bytes = 4096});
  EXPECT_EQ(TypeParam::Fib::create(too_small).error(), Error::kNoMemory);
}

TYPED_TEST(ErrorsTest, FullTableRefusesNewPrefixesOnly) {
  TestTable<TypeParam> table({.max_prefixes = 3});
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(table.add(TypeParam::numbered(32, i), 5));
  Snapshot before = this->snapshot(table);
  EXPECT_EQ(table.add(TypeParam::numbered(32, 3), 6).error(), Error::kTableFull);
  EXPECT_EQ(table.insert(TypeParam::numbered(24, 3), 6).error(), Error::kTableFull);
  EXPECT_EQ(this->snapshot(table), before);
  EXPECT_TRUE(table.add(TypeParam::numbered(32, 1), 9)) << "replaces";
  ASSERT_TRUE(table.remove(TypeParam::numbered(32, 0)));
  EXPECT_TRUE(table.add(TypeParam::numbered(32, 3), 6));
  EXPECT_EQ(table.lookup(TypeParam::numbered(32, 3).address), 6);
  EXPECT_EQ(table.lookup(TypeParam::numbered(32, 0).address), kNoRoute);
}

TYPED_TEST(ErrorsTest, FullArenaRefusesAndGoesOn) {
  using Address = typename TypeParam::Address;
  TestTable<TypeParam> table(little_room<TypeParam>());
  NaiveFib<Address> naive;
  std::set<Prefix<Address>> present;
  uint64_t empty = table.statistics().used_bytes;
  uint64_t bytes = table.statistics().bytes;
  int refused = 0;
  for (int i = 0; i < 4000 && refused < 200; ++i) {
    auto prefix = this->random_.prefix();
    auto group = static_cast<GroupId>(1 + this->random_.rng()() % kMaxGroupId);
    table.publish();
    Snapshot before;
    if (refused % 8 == 0) before = this->snapshot(table);
    auto added = table.add(prefix, group);
    if (added) {
      naive.add(prefix, group);
      present.insert(prefix);
      continue;
    }
    ASSERT_EQ(added.error(), Error::kArenaFull);
    if (refused++ % 8 == 0) {
      ASSERT_EQ(this->snapshot(table), before) << prefix.to_string();
    }
  }
  EXPECT_EQ(refused, 200) << "never full";
  EXPECT_EQ(table.statistics().bytes, bytes);
  for (int i = 0; i < 3000; ++i) {
    Address destination = this->random_.destination();
    ASSERT_EQ(table.lookup(destination), naive.lookup(destination)) << destination.to_string();
  }
  // Everything can go, in any order.
  std::vector<Prefix<Address>> order(present.begin(), present.end());
  std::shuffle(order.begin(), order.end(), this->random_.rng());
  for (const auto& prefix : order) {
    auto removed = table.remove(prefix);
    ASSERT_TRUE(removed) << to_string(removed.error()) << ": " << prefix.to_string();
  }
  table.publish();
  EXPECT_EQ(table.statistics().used_bytes, empty);
}

TYPED_TEST(ErrorsTest, BlocksReturnOnlyAfterTheGracePeriod) {
  Qsbr qsbr;
  TestTable<TypeParam> table(little_room<TypeParam>(), Memory::system(), qsbr);
  uint64_t empty = table.statistics().used_bytes;
  uint32_t count = 0;
  while (table.add(TypeParam::numbered(32, count << 8), 1)) ++count;
  ASSERT_GT(count, 0u);
  while (count != 0) {
    ASSERT_TRUE(table.remove(TypeParam::numbered(32, --count << 8)));
  }
  table.publish();
  EXPECT_GT(table.statistics().used_bytes, empty);
  table.publish();
  EXPECT_GT(table.statistics().used_bytes, empty) << "readers may still be there";
  qsbr.quiescent();
  table.publish();
  EXPECT_EQ(table.statistics().used_bytes, empty);
}

TYPED_TEST(ErrorsTest, EveryAllocationMayFail) {
  FibOptions options = TypeParam::with({.sockets = {0, 1}});
  uint32_t failures = 0;
  for (uint32_t fails = 1; fails <= 6; ++fails) {
    FailingMemory memory(fails);
    auto fib = TypeParam::Fib::create(options, memory);
    if (!fib) {
      EXPECT_EQ(fib.error(), Error::kNoMemory);
      EXPECT_LE(fails, 2u);
      continue;
    }
    TestTable<TypeParam> table(std::move(*fib));
    uint32_t i = 0;
    for (; i < 20000 && !memory.has_failed(); ++i) {
      auto prefix = TypeParam::numbered(32, i << 8);
      auto group = static_cast<GroupId>(1 + i % kMaxGroupId);
      auto added = table.add(prefix, group);
      ASSERT_EQ(added.has_value(), !memory.has_failed());
      if (added) continue;
      ++failures;
      EXPECT_EQ(added.error(), Error::kArenaFull);
      EXPECT_EQ(table.lookup(prefix.address), kNoRoute);
      EXPECT_EQ(table.statistics().prefixes, i);
      EXPECT_TRUE(table.add(prefix, group)) << "there is memory again";
    }
    for (uint32_t k = 0; k < i; ++k) {
      ASSERT_EQ(table.lookup(TypeParam::numbered(32, k << 8).address), 1 + k % kMaxGroupId);
    }
  }
  EXPECT_EQ(failures, 4u);
}

}  // namespace
}  // namespace hecto::lookup
