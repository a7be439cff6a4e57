#include "lookup/consistent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "lookup/nexthop.hpp"

namespace hecto::lookup {
namespace {

std::vector<KeyedMember> members_of(size_t count, uint64_t first_key = 1000) {
  std::vector<KeyedMember> members;
  for (size_t i = 0; i < count; ++i)
    members.push_back({static_cast<GroupId>(10 + i), 1, first_key + i});
  return members;
}

std::map<GroupId, size_t> shares_of(const std::vector<GroupId>& buckets) {
  std::map<GroupId, size_t> shares;
  for (const GroupId group : buckets) ++shares[group];
  return shares;
}

TEST(ConsistentBuckets, HasNoneOfNoMembersAndGivesAllToOne) {
  EXPECT_TRUE(consistent_buckets({}).empty());
  const auto one = members_of(1);
  EXPECT_EQ(consistent_buckets(one), std::vector<GroupId>(1024, 10));
}

TEST(ConsistentBuckets, DoesNotKnowInWhichOrderMembersCame) {
  auto members = members_of(16);
  const auto buckets = consistent_buckets(members);
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(members.begin(), members.end(), random);
    EXPECT_EQ(consistent_buckets(members), buckets);
  }
}

// On another router the same members have other groups' numbers.
TEST(ConsistentBuckets, GoesByKeysAndNotByGroups) {
  auto there = members_of(8);
  const auto here = consistent_buckets(there);
  for (KeyedMember& member : there) member.group = static_cast<GroupId>(500 - member.group);
  const auto other = consistent_buckets(there);
  for (size_t i = 0; i < here.size(); ++i) ASSERT_EQ(other[i], 500 - here[i]) << i;
}

TEST(ConsistentBuckets, WhoLeavesGivesItsOwnAwayAndNothingElseMoves) {
  for (const size_t count : {2, 3, 16, 64, 200}) {
    const auto members = members_of(count);
    const auto before = consistent_buckets(members);
    for (size_t gone = 0; gone < count; gone += 1 + count / 5) {
      auto left = members;
      left.erase(left.begin() + static_cast<ptrdiff_t>(gone));
      const auto after = consistent_buckets(left);
      if (after.size() != before.size()) continue;  // 65 to 64: begins anew
      for (size_t i = 0; i < before.size(); ++i) {
        if (before[i] != members[gone].group) {
          ASSERT_EQ(after[i], before[i]) << count;
        }
      }
    }
  }
}

TEST(ConsistentBuckets, SharesAreAboutEvenAndFollowWeights) {
  for (const auto& [group, buckets] : shares_of(consistent_buckets(members_of(4))))
    EXPECT_NEAR(static_cast<double>(buckets), 256, 5 * 16) << group;
  for (const auto& [group, buckets] : shares_of(consistent_buckets(members_of(16))))
    EXPECT_NEAR(static_cast<double>(buckets), 64, 5 * 8) << group;
  auto weighted = members_of(2);
  weighted[1].weight = 3;
  EXPECT_NEAR(static_cast<double>(shares_of(consistent_buckets(weighted))[11]), 768, 80);
}

TEST(ConsistentBuckets, TakesMoreForManyMembersAndFitsTheTable) {
  EXPECT_EQ(consistent_buckets(members_of(64)).size(), 1024u);
  EXPECT_EQ(consistent_buckets(members_of(65)).size(), 8192u);
  EXPECT_EQ(consistent_buckets(members_of(513)).size(), 65536u);
}

// What other versions of hecto have to give as well, or two boxes would not agree.
TEST(ConsistentBuckets, StaysAsItIsFromVersionToVersion) {
  const auto buckets = consistent_buckets(members_of(4));
  uint64_t digest = 0xcbf29ce484222325;
  for (const GroupId group : buckets) digest = (digest ^ group) * 0x100000001b3;
  EXPECT_EQ(digest, 0xb3155d85babd6e06);
}

TEST(SetBuckets, WritesThemAsTheyAreAndRefusesWhatIsNone) {
  auto table = NextHopTable::create({}).value();
  const GroupId head = table->allocate().value();
  std::vector<GroupId> singles;
  for (int i = 0; i < 3; ++i) {
    singles.push_back(table->allocate().value());
    NextHopRecord record{};
    record.kind = RecordKind::kForward;
    ASSERT_TRUE(table->set(singles.back(), record));
  }
  const std::vector<GroupId> buckets = {singles[2], singles[0], singles[2], singles[1]};
  ASSERT_TRUE(table->set_buckets(head, buckets));
  EXPECT_EQ(table->buckets(head), buckets);
  const std::vector<GroupId> other = {singles[0], singles[0], singles[0], singles[0]};
  ASSERT_TRUE(table->set_buckets(head, other));
  EXPECT_EQ(table->buckets(head), other);
  EXPECT_TRUE(table->release(singles[2])) << "no bucket names it any more";
  EXPECT_FALSE(table->release(singles[0]));
  const std::vector<GroupId> three(3, singles[0]), stranger(4, 999), self(4, head);
  EXPECT_EQ(table->set_buckets(head, three).error(), Error::kBadGroup);
  EXPECT_EQ(table->set_buckets(head, {}).error(), Error::kBadGroup);
  EXPECT_EQ(table->set_buckets(head, stranger).error(), Error::kUnknownGroup);
  EXPECT_EQ(table->set_buckets(head, self).error(), Error::kBadGroup);
  EXPECT_EQ(table->set_buckets(kNoRoute, other).error(), Error::kBadGroup);
  EXPECT_EQ(table->buckets(head), other) << "what was refused changed nothing";
}

}  // namespace
}  // namespace hecto::lookup
