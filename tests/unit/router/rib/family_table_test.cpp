// The RIB and FIB of one family by themselves: what is installed, and who holds which set.
#include "tests/unit/router/rib/store_bed.hpp"

namespace hecto::router::test {
namespace {

class FamilyTableTest : public testing::Test {
 protected:
  void SetUp() override { bed.add_interface(0); }
  Candidate by(const std::string& gateway, uint32_t metric) {
    return bed.candidate(linux_route("203.0.113.0/24", {hop(11, gateway)}, metric));
  }
  GroupId group_of(const Candidate& candidate) {
    return bed.store->sets().group(candidate.next_hop_set);
  }
  StoreBed bed;
  InstallContext context{bed.store->sets(), lookup::Reclaimer::none(), 64, log,
                         lookup::kNoRoute,  std::vector<uint32_t>(64)};
  RoutingLog log = [](LogLevel, const std::string&) {};
  FamilyTable<lookup::Ipv4Address> table{*bed.fib4, context};
  lookup::Prefix4 prefix = net("203.0.113.0/24").v4();
};

TEST_F(FamilyTableTest, FibFollowsTheBestCandidate) {
  Candidate worse = by("10.0.0.1", 20);
  Candidate better = by("10.0.0.2", 10);
  const GroupId group_of_worse = group_of(worse);
  const GroupId group_of_better = group_of(better);
  table.insert_or_replace(prefix, kNoRouteId, worse);
  EXPECT_EQ(bed.group("203.0.113.1"), group_of_worse);
  auto change = table.insert_or_replace(prefix, kNoRouteId, better);
  EXPECT_EQ(bed.group("203.0.113.1"), group_of_better);
  EXPECT_TRUE(change.next_hops_changed);
  EXPECT_EQ(context.prefixes_of_group[group_of_better], 1u);
  EXPECT_EQ(context.prefixes_of_group[group_of_worse], 0u);
  table.erase(prefix, change.id);
  EXPECT_EQ(bed.group("203.0.113.1"), group_of_worse);
}

TEST_F(FamilyTableTest, WorseCandidateLeavesTheFibAlone) {
  table.insert_or_replace(prefix, kNoRouteId, by("10.0.0.1", 10));
  const uint64_t writes = table.statistics().fib_writes;
  table.insert_or_replace(prefix, kNoRouteId, by("10.0.0.2", 20));
  EXPECT_EQ(table.statistics().fib_writes, writes);
}

TEST_F(FamilyTableTest, SetsGoWithTheirCandidates) {
  const uint32_t before = bed.sets();
  auto first = table.insert_or_replace(prefix, kNoRouteId, by("10.0.0.1", 10));
  auto twin = table.insert_or_replace(prefix, kNoRouteId, by("10.0.0.1", 10));
  EXPECT_EQ(twin.id, kNoRouteId);
  EXPECT_FALSE(twin.next_hops_changed);
  table.insert_or_replace(prefix, first.id, by("10.0.0.2", 10));
  EXPECT_EQ(bed.sets(), before + 1);
  table.erase(prefix, first.id);
  EXPECT_EQ(bed.sets(), before);
  EXPECT_EQ(table.statistics().by_origin[static_cast<size_t>(RouteOrigin::kLinux)], 0u);
  EXPECT_EQ(bed.group("203.0.113.1"), lookup::kNoRoute);
}

TEST_F(FamilyTableTest, SameNextHopsAreNoChange) {
  auto first = table.insert_or_replace(prefix, kNoRouteId, by("10.0.0.1", 10));
  auto again = table.insert_or_replace(prefix, first.id, by("10.0.0.1", 10));
  EXPECT_EQ(again.id, first.id);
  EXPECT_FALSE(again.next_hops_changed);
}

}  // namespace
}  // namespace hecto::router::test
