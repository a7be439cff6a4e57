#include "lookup/nexthop.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/beds/qsbr.hpp"

namespace hecto::lookup {
namespace {

NextHopRecord forward(uint16_t port) {
  NextHopRecord record{};
  record.kind = RecordKind::kForward;
  record.port = port;
  record.header_length = 14;
  return record;
}

std::unique_ptr<NextHopTable> make(NextHopOptions options = {},
                                   Reclaimer& reclaimer = Reclaimer::none()) {
  return NextHopTable::create(options, Memory::system(), reclaimer).value();
}

std::vector<GroupId> forwarders(NextHopTable& table, size_t count) {
  std::vector<GroupId> groups(count);
  for (auto& group : groups) {
    group = table.allocate().value();
    EXPECT_TRUE(table.set(group, forward(group)));
  }
  return groups;
}

std::map<GroupId, size_t> shares(const std::vector<GroupId>& buckets) {
  std::map<GroupId, size_t> result;
  for (GroupId group : buckets) ++result[group];
  return result;
}

TEST(NextHopTable, NoRouteAndFreshGroupsDropWithTheGivenReason) {
  auto table = make({.no_route_reason = 42, .no_route_kind = RecordKind::kPunt});
  GroupId group = table->allocate().value();
  EXPECT_NE(group, kNoRoute);
  for (GroupId each : {kNoRoute, group}) {
    EXPECT_EQ(table->view(0).record(each).kind, RecordKind::kPunt);
    EXPECT_EQ(table->view(0).record(each).reason, 42);
  }
}

TEST(NextHopTable, SetReachesEverySocketsReplica) {
  auto table = make({.sockets = {0, 1}});
  GroupId group = table->allocate().value();
  ASSERT_TRUE(table->set(group, forward(17)));
  EXPECT_EQ(table->view(0).record(group).port, 17);
  EXPECT_EQ(table->view(1).record(group).port, 17);
  EXPECT_NE(table->view(0).records, table->view(1).records);
  EXPECT_EQ(table->get(group).port, 17);
}

TEST(NextHopTable, RefusesGroupsThatDoNotExist) {
  auto table = make({.max_groups = 8});
  EXPECT_EQ(table->set(3, forward(1)).error(), Error::kUnknownGroup);
  EXPECT_EQ(table->set(kMaxGroupId, forward(1)).error(), Error::kUnknownGroup);
  EXPECT_EQ(table->release(3).error(), Error::kUnknownGroup);
  EXPECT_EQ(table->release(kNoRoute).error(), Error::kUnknownGroup);
  GroupId head = table->allocate().value();
  WeightedMember stranger{7};
  EXPECT_EQ(table->set_members(head, {&stranger, 1}).error(), Error::kUnknownGroup);
  EXPECT_TRUE(table->buckets(7).empty());
}

TEST(NextHopTable, RefusesRecordsThatLie) {
  auto table = make();
  GroupId group = table->allocate().value();
  NextHopRecord record = forward(1);
  record.header_length = 25;
  EXPECT_EQ(table->set(group, record).error(), Error::kBadGroup);
  record = forward(1);
  record.kind = RecordKind::kMultipath;
  EXPECT_EQ(table->set(group, record).error(), Error::kBadGroup);
}

TEST(NextHopTable, RefusesNestedEmptyAndWeightlessGroups) {
  auto table = make();
  auto members = forwarders(*table, 2);
  GroupId inner = table->allocate().value(), outer = table->allocate().value();
  EXPECT_EQ(table->set_members(inner, {}).error(), Error::kBadGroup);
  std::vector<WeightedMember> none{{members[0], 0}}, heavy{{members[0], 257}}, self{{inner}};
  EXPECT_EQ(table->set_members(inner, none).error(), Error::kBadGroup);
  EXPECT_EQ(table->set_members(inner, heavy).error(), Error::kBadGroup);
  EXPECT_EQ(table->set_members(inner, self).error(), Error::kBadGroup);
  std::vector<WeightedMember> both{{members[0]}, {members[1]}};
  ASSERT_TRUE(table->set_members(inner, both));
  std::vector<WeightedMember> nested{{inner}}, plain{{outer}};
  EXPECT_EQ(table->set_members(outer, nested).error(), Error::kBadGroup);
  EXPECT_EQ(table->set_members(members[0], plain).error(), Error::kBadGroup) << "is a member";
  EXPECT_EQ(table->release(members[0]).error(), Error::kBadGroup) << "is a member";
  ASSERT_TRUE(table->set(inner, forward(1)));
  EXPECT_TRUE(table->release(members[0]));
}

TEST(NextHopTable, GroupsReturnAfterTheGracePeriod) {
  Qsbr qsbr;
  auto table = make({.max_groups = 2}, qsbr);
  GroupId group = table->allocate().value();
  EXPECT_EQ(table->allocate().error(), Error::kTableFull);
  ASSERT_TRUE(table->set(group, forward(1)));
  ASSERT_TRUE(table->release(group));
  EXPECT_EQ(table->groups_used(), 1u);
  EXPECT_EQ(table->allocate().error(), Error::kTableFull);
  qsbr.quiescent();
  EXPECT_EQ(table->allocate().value(), group);
  EXPECT_EQ(table->get(group).kind, RecordKind::kDrop);
}

TEST(NextHopTable, RecordsRunOutOnlyWhileReadersHoldThem) {
  Qsbr qsbr;
  auto table = make({.max_groups = 2}, qsbr);
  GroupId group = table->allocate().value();
  uint16_t port = 0;
  while (table->set(group, forward(++port))) ASSERT_LT(port, 1000);
  EXPECT_EQ(table->get(group).port, port - 1) << "the refused record left no trace";
  qsbr.quiescent();
  EXPECT_TRUE(table->set(group, forward(port)));
}

TEST(NextHopTable, BucketsRunOutWithAClearError) {
  auto table = make({.max_buckets = 64});
  auto members = forwarders(*table, 2);
  std::vector<WeightedMember> both{{members[0]}, {members[1]}};
  GroupId one = table->allocate().value(), two = table->allocate().value();
  ASSERT_TRUE(table->set_members(one, both));
  EXPECT_EQ(table->set_members(two, both).error(), Error::kTableFull);
  EXPECT_EQ(table->get(two).kind, RecordKind::kDrop);
  ASSERT_TRUE(table->release(one));
  EXPECT_TRUE(table->set_members(two, both));
}

TEST(NextHopTable, BucketsFollowTheWeights) {
  auto table = make();
  auto members = forwarders(*table, 3);
  GroupId head = table->allocate().value();
  std::vector<WeightedMember> weighted{{members[0], 1}, {members[1], 2}, {members[2], 5}};
  ASSERT_TRUE(table->set_members(head, weighted));
  auto buckets = table->buckets(head);
  auto share = shares(buckets);
  EXPECT_EQ(share[members[0]] * 8, buckets.size());
  EXPECT_EQ(share[members[1]] * 4, buckets.size());
  const NextHopRecord& record = table->view(0).record(head);
  EXPECT_EQ(record.kind, RecordKind::kMultipath);
  EXPECT_EQ(record.bucket_mask + 1u, buckets.size());
  for (size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(table->view(0).buckets[record.bucket_offset + i], buckets[i]);
  }
}

TEST(NextHopTable, EvenTheLightestMemberOwnsABucket) {
  auto table = make();
  auto members = forwarders(*table, 40);
  std::vector<WeightedMember> weighted;
  for (GroupId member : members) weighted.push_back({member, 1});
  for (size_t i = 1; i < weighted.size(); ++i) weighted[i].weight = 256;
  GroupId head = table->allocate().value();
  ASSERT_TRUE(table->set_members(head, weighted));
  EXPECT_EQ(shares(table->buckets(head)).size(), members.size());
}

TEST(NextHopTable, OnlyTheFlowsOfALeavingMemberMove) {
  auto table = make();
  auto members = forwarders(*table, 5);
  std::vector<WeightedMember> all;
  for (GroupId member : members) all.push_back({member});
  GroupId head = table->allocate().value();
  ASSERT_TRUE(table->set_members(head, all));
  auto before = table->buckets(head);
  uint32_t slot = table->view(0).slots[head];
  all.erase(all.begin() + 2);
  ASSERT_TRUE(table->set_members(head, all));
  auto after = table->buckets(head);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(table->view(0).slots[head], slot) << "updated in place";
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != members[2]) {
      EXPECT_EQ(after[i], before[i]) << i;
    } else {
      EXPECT_NE(after[i], members[2]) << i;
    }
  }
}

// Another group that takes the place of one: as if one had changed.
TEST(NextHopTable, AFreshGroupGoesOnWithAnothersBuckets) {
  auto table = make();
  auto members = forwarders(*table, 64);
  std::vector<WeightedMember> all;
  for (GroupId member : members) all.push_back({member});
  GroupId head = table->allocate().value(), heir = table->allocate().value();
  ASSERT_TRUE(table->set_members(head, all));
  const auto before = table->buckets(head);
  all.erase(all.begin() + 20);
  ASSERT_TRUE(table->set_members(heir, all, before));
  const auto after = table->buckets(heir);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != members[20]) {
      EXPECT_EQ(after[i], before[i]) << i;
    }
  }
  // What it has by now counts, not what another had.
  ASSERT_TRUE(table->set_members(heir, all, std::vector<GroupId>(64, members[0])));
  EXPECT_EQ(table->buckets(heir), after);
  EXPECT_EQ(table->set_members(table->allocate().value(), all, std::vector<GroupId>(3)).error(),
            Error::kBadGroup);
}

TEST(NextHopTable, AJoiningMemberTakesNoMoreThanItsShare) {
  auto table = make();
  auto members = forwarders(*table, 4);
  std::vector<WeightedMember> some{{members[0]}, {members[1]}, {members[2]}};
  GroupId head = table->allocate().value();
  ASSERT_TRUE(table->set_members(head, some));
  auto before = table->buckets(head);
  some.push_back({members[3]});
  ASSERT_TRUE(table->set_members(head, some));
  auto after = table->buckets(head);
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (after[i] == before[i]) continue;
    EXPECT_EQ(after[i], members[3]);
    ++moved;
  }
  EXPECT_EQ(moved, before.size() / 4);
}

TEST(NextHopTable, GrowingKeepsWhereHashesLead) {
  auto table = make();
  auto members = forwarders(*table, 40);
  std::vector<WeightedMember> some;
  for (size_t i = 0; i < 8; ++i) some.push_back({members[i]});
  GroupId head = table->allocate().value();
  ASSERT_TRUE(table->set_members(head, some));
  auto before = table->buckets(head);
  for (size_t i = 8; i < 10; ++i) some.push_back({members[i]});
  ASSERT_TRUE(table->set_members(head, some));
  auto after = table->buckets(head);
  ASSERT_EQ(after.size(), 2 * before.size());
  size_t moved = 0;
  for (size_t i = 0; i < after.size(); ++i) moved += after[i] != before[i % before.size()];
  EXPECT_LE(moved, after.size() / 5 + 2);
}

TEST(NextHopTable, GoesBackToOneNextHop) {
  auto table = make();
  auto members = forwarders(*table, 2);
  GroupId head = table->allocate().value();
  std::vector<WeightedMember> both{{members[0]}, {members[1]}};
  ASSERT_TRUE(table->set_members(head, both));
  ASSERT_TRUE(table->set(head, forward(3)));
  EXPECT_TRUE(table->buckets(head).empty());
  EXPECT_EQ(table->view(0).record(head).port, 3);
}

}  // namespace
}  // namespace hecto::lookup
