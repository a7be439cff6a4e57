// Linux's next-hop objects, and the routes that name them.
#include "tests/unit/router/rib/linux_bed.hpp"

namespace hecto::router::test {

TEST_F(Linux, ReplacedObjectWritesOneRecordAndNoRoute) {
  bed.routing->nexthop_object(object(1, "10.0.0.1"), false);
  for (int i = 0; i < 100; ++i) bed.add(by_object(fmt::format("10.9.{}.0/24", i), 1));
  EXPECT_EQ(bed.verdict("10.9.7.1"), "if0 01");
  uint64_t fib_writes = bed.fib_writes(), records = bed.records_written();
  bed.routing->nexthop_object(object(1, "10.0.0.2"), false);
  EXPECT_EQ(bed.verdict("10.9.7.1"), "if0 02");
  EXPECT_EQ(bed.fib_writes(), fib_writes);
  EXPECT_EQ(bed.records_written(), records + 1);
}

TEST_F(Linux, ObjectGroupFollowsItsMembers) {
  bed.routing->nexthop_object(object(1, "10.0.0.1"), false);
  bed.routing->nexthop_object(object(2, "10.0.0.2"), false);
  NextHopObject group;
  group.id = 9;
  group.members = {{1, 1}, {2, 1}};
  bed.routing->nexthop_object(group, false);
  bed.add(by_object("203.0.113.0/24", 9));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 01 | if0 02}");
  bed.routing->nexthop_object(object(2, "10.0.0.3"), false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 01 | if0 03}");
  group.members = {{2, 1}};
  bed.routing->nexthop_object(group, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 03}");
  group.members = {{2, 1}, {9, 1}};  // itself
  bed.routing->nexthop_object(group, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "{if0 03}");
  NextHopObject nested;  // a member that becomes a group is left out
  nested.id = 2;
  nested.members = {{1, 1}};
  bed.routing->nexthop_object(nested, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
  NextHopObject hole;
  hole.id = 9;
  hole.blackhole = true;
  bed.routing->nexthop_object(hole, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "drop blackhole");
}

TEST_F(Linux, RouteMayComeBeforeItsObject) {
  bed.add(by_object("203.0.113.0/24", 5));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
  bed.routing->nexthop_object(object(5, "10.0.0.1"), false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
  bed.routing->nexthop_object(object(5, "10.0.0.1"), true);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
  bed.remove(by_object("203.0.113.0/24", 5));
  EXPECT_EQ(bed.routing->counts().total, 0u);
}

TEST_F(Linux, ObjectOnLinkLeadsToHostRoutes) {
  NextHopObject on_link;
  on_link.id = 3;
  on_link.next_hop = hop(11);
  bed.routing->nexthop_object(on_link, false);
  bed.add(by_object("10.0.0.0/24", 3));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("10.0.0.4"), "if0 04");
}

}  // namespace hecto::router::test
