// Neighbors on connected networks.
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

class HostRoute : public testing::Test {
 protected:
  void SetUp() override {
    bed.add_interface(0);
    bed.add_interface(1);
    bed.add(linux_route("10.0.0.0/24", {hop(11)}));
  }
  Bed bed;
};

TEST_F(HostRoute, ComesAndGoesWithTheNeighbor) {
  EXPECT_EQ(bed.verdict("10.0.0.7"), "punt glean");
  bed.neighbor(11, "10.0.0.7", 7);
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if0 07");
  EXPECT_EQ(bed.verdict("10.0.0.8"), "punt glean");
  bed.routing->neighbor({11, ip("10.0.0.7"), mac(7), 0, false}, true);
  EXPECT_EQ(bed.verdict("10.0.0.7"), "punt glean");
  EXPECT_EQ(bed.routing->counts().by_origin[3], 0u);
}

TEST_F(HostRoute, KeepsTheFibStillWhileTheNeighborIsUnreachable) {
  bed.neighbor(11, "10.0.0.7", 7);
  uint64_t fib_writes = bed.fib_writes();
  bed.neighbor(11, "10.0.0.7", 0, false);
  EXPECT_EQ(bed.verdict("10.0.0.7"), "punt glean");
  bed.neighbor(11, "10.0.0.7", 8);
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if0 08");
  EXPECT_EQ(bed.fib_writes(), fib_writes);
}

TEST_F(HostRoute, SharesItsGroupWithRoutesByTheSameGateway) {
  bed.neighbor(11, "10.0.0.7", 7);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.7")}));
  EXPECT_EQ(bed.group(ip("10.0.0.7")), bed.group(ip("203.0.113.1")));
}

TEST_F(HostRoute, UnresolvedNeighborsCostNothing) {
  uint32_t groups = bed.next_hops->groups_used();
  for (int i = 1; i < 200; ++i) bed.neighbor(11, fmt::format("10.0.0.{}", i), 0, false);
  EXPECT_EQ(bed.next_hops->groups_used(), groups);
  EXPECT_EQ(bed.routing->counts().by_origin[3], 0u);
}

TEST_F(HostRoute, OnlyWhereTheConnectedRouteLeads) {
  bed.neighbor(12, "10.0.0.7", 7);  // on the other interface
  EXPECT_EQ(bed.verdict("10.0.0.7"), "punt glean");
  bed.neighbor(11, "192.0.2.7", 7);  // on no connected network
  EXPECT_EQ(bed.verdict("192.0.2.7"), "punt no_route");
}

TEST_F(HostRoute, YieldsToAMoreSpecificRoute) {
  bed.neighbor(11, "10.0.0.7", 7);
  bed.neighbor(12, "10.1.0.1", 1);
  bed.add(linux_route("10.0.0.0/28", {hop(12, "10.1.0.1")}));
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if1 01");
  bed.add(linux_route("10.0.0.7/32", {hop(11)}));
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if0 07");
  bed.remove(linux_route("10.0.0.7/32", {hop(11)}));
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if1 01");
  bed.remove(linux_route("10.0.0.0/28", {hop(12, "10.1.0.1")}));
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if0 07");
}

TEST_F(HostRoute, GoesWithTheConnectedRoute) {
  bed.neighbor(11, "10.0.0.7", 7);
  bed.remove(linux_route("10.0.0.0/24", {hop(11)}));
  EXPECT_EQ(bed.verdict("10.0.0.7"), "punt no_route");
  bed.add(linux_route("10.0.0.0/24", {hop(11)}));
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if0 07");
}

TEST_F(HostRoute, FollowsTheInterface) {
  bed.neighbor(11, "10.0.0.7", 7);
  ASSERT_TRUE(bed.routing->remove_interface(0));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("10.0.0.7"), "punt local");
  bed.add_interface(0);
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("10.0.0.7"), "if0 07");
  bed.link(0, false);
  EXPECT_EQ(bed.verdict("10.0.0.7"), "drop interface_down");
}

TEST_F(HostRoute, OwnAddressStaysLocal) {
  bed.add(typed_route("10.0.0.1/32", RouteType::kLocal, kTableLocal));
  bed.neighbor(11, "10.0.0.1", 7);
  EXPECT_EQ(bed.verdict("10.0.0.1"), "punt local");
}

TEST_F(HostRoute, NeverForLinkLocalAddresses) {
  bed.add(linux_route("fe80::/64", {hop(11)}, 256));
  bed.add(linux_route("fe80::/64", {hop(12)}, 256));
  bed.neighbor(11, "fe80::7", 7);
  EXPECT_EQ(bed.verdict("fe80::7"), "punt glean");
}

}  // namespace hecto::router::test
