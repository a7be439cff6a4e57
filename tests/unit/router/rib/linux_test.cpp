// Linux's own rules: replacing, partial removals, resynchronisation.
#include "tests/unit/router/rib/linux_bed.hpp"

namespace hecto::router::test {

TEST_F(Linux, ReplaceTakesThePlace) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}), true);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
  EXPECT_EQ(bed.routing->counts().ipv4, 1u);
}

TEST_F(Linux, AppendedRouteWaitsBehindTheFirst) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
  bed.remove(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
}

TEST_F(Linux, PrependedRouteComesBeforeTheOthersOfItsMetric) {
  const auto by = [](const std::string& gateway, bool first) {
    Route route = linux_route("203.0.113.0/24", {hop(11, gateway)});
    route.first = first;
    return route;
  };
  bed.add(by("10.0.0.1", false));
  bed.add(by("10.0.0.2", false));
  bed.add(by("10.0.0.3", true));
  bed.add(by("10.0.0.4", true));
  for (const char* first : {"04", "03", "01", "02"}) {
    EXPECT_EQ(bed.verdict("203.0.113.1"), std::string("if0 ") + first);
    bed.remove(by("10.0.0." + std::string(first + 1), false));
  }
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
}

TEST_F(Linux, ARouteToldAgainAsPrependedKeepsItsPlaceInAResync) {
  Route first = linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")});
  const Route second = linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")});
  bed.add(first);
  bed.add(second);
  first.first = true;
  bed.add(first);  // a notification that the dump had
  first.first = false;
  bed.routing->resync_begin("test");
  bed.add(second);  // Linux has changed their order meanwhile
  bed.add(first);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
}

TEST_F(Linux, AResyncKeepsThePrependedRouteWhereLinuxHasIt) {
  Route first = linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")});
  first.first = true;
  const Route second = linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")});
  bed.add(second);
  bed.add(first);
  bed.routing->resync_begin("test");
  first.first = false;  // a dump tells them in order
  bed.add(first);
  bed.add(second);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
}

TEST_F(Linux, TheMtuOfARouteIsItsPacketsWhereItIsLess) {
  const auto with_mtu = [](Route route, uint16_t mtu) {
    route.mtu = mtu;
    return route;
  };
  bed.add(with_mtu(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}), 1300));
  EXPECT_EQ(bed.record("203.0.113.1").mtu, 1300);
  bed.add(with_mtu(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}), 1200), true);
  EXPECT_EQ(bed.record("203.0.113.1").mtu, 1200);
  bed.add(with_mtu(linux_route("198.51.100.0/24", {hop(11, "10.0.0.1")}), 9000));
  EXPECT_EQ(bed.record("198.51.100.1").mtu, 1500) << "the interface's";
  bed.add(linux_route("192.0.2.0/24", {hop(11, "10.0.0.1")}));
  EXPECT_EQ(bed.record("192.0.2.1").mtu, 1500) << "of another route by the same gateway";
  bed.remove(with_mtu(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}), 1200));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
}

TEST_F(Linux, TheMtuOfARouteHoldsForEachOfItsNextHops) {
  Route route = linux_route("2001:db8::/32", {hop(11, "fe80::1"), hop(11, "fe80::2")}, 1024);
  route.mtu = 1400;
  const auto mtus = [&] {
    std::set<int> seen;
    for (GroupId bucket : bed.next_hops->buckets(bed.group(ip("2001:db8::1"))))
      seen.insert(bed.next_hops->view(0).record(bucket).mtu);
    return seen;
  };
  bed.add(route);
  EXPECT_EQ(mtus(), std::set{1400});
  bed.add(linux_route("2001:db8:1::/48", {hop(11, "fe80::1"), hop(11, "fe80::2")}, 1024));
  EXPECT_EQ(mtus(), std::set{1400});
  route.next_hops = {hop(11, "fe80::2")};
  bed.remove(route);
  EXPECT_EQ(bed.record("2001:db8::1").mtu, 1400) << "and for the one that is left";
}

TEST_F(Linux, TheMtuOfARouteHoldsWithANextHopObject) {
  bed.routing->nexthop_object(object(7, "10.0.0.1"), false);
  Route route = by_object("203.0.113.0/24", 7);
  route.mtu = 1300;
  bed.add(route);
  bed.add(by_object("198.51.100.0/24", 7));
  EXPECT_EQ(bed.record("203.0.113.1").mtu, 1300);
  EXPECT_EQ(bed.record("198.51.100.1").mtu, 1500);
  bed.routing->nexthop_object(object(7, "10.0.0.2"), false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
  EXPECT_EQ(bed.verdict("198.51.100.1"), "if0 02");
  EXPECT_EQ(bed.record("203.0.113.1").mtu, 1300);
}

TEST_F(Linux, TheMtuOfAConnectedRouteHoldsForItsNeighbors) {
  Route route = linux_route("10.0.0.0/24", {hop(11)});
  bed.add(route);
  EXPECT_EQ(bed.record("10.0.0.1").mtu, 1500);
  route.mtu = 1300;
  bed.add(route, true);
  EXPECT_EQ(bed.verdict("10.0.0.1"), "if0 01");
  EXPECT_EQ(bed.record("10.0.0.1").mtu, 1300);
}

TEST_F(Linux, RoutesOfDifferentMetricStandSideBySide) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}, 20));
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}, 10));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
  bed.remove(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}, 10));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
}

TEST_F(Linux, RemovalFindsTheRouteThoughItsNextHopDied) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  NextHop dead = hop(11, "10.0.0.1");
  dead.dead = true;
  bed.remove(linux_route("203.0.113.0/24", {dead}));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
  bed.remove(linux_route("203.0.113.0/24", {dead}));
  EXPECT_EQ(bed.routing->statistics().unmatched_removals, 1u);
}

TEST_F(Linux, RoutesWithATosAreCountedAndLeftAlone) {
  Route route = linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")});
  route.tos = 4;
  bed.add(route);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
  EXPECT_EQ(bed.routing->statistics().ignored_tos, 1u);
}

TEST_F(Linux, Ipv6MultipathGrowsAndShrinksByItsMembers) {
  auto route = [](std::vector<NextHop> hops) {
    return linux_route("2001:db8::/32", std::move(hops), 1024);
  };
  bed.add(route({hop(11, "fe80::1")}));
  bed.add(route({hop(11, "fe80::1"), hop(11, "fe80::2")}));  // all of them, told again
  EXPECT_EQ(bed.verdict("2001:db8::9"), "{if0 01 | if0 02}");
  EXPECT_EQ(bed.routing->counts().ipv6, 1u);
  bed.add(route({hop(11, "fe80::1"), hop(11, "fe80::2"), hop(11, "fe80::3")}));
  bed.remove(route({hop(11, "fe80::2")}));
  EXPECT_EQ(bed.verdict("2001:db8::9"), "{if0 01 | if0 03}");
  bed.remove(route({hop(11, "fe80::1")}));
  EXPECT_EQ(bed.verdict("2001:db8::9"), "if0 03");
  bed.remove(route({hop(11, "fe80::3")}));
  EXPECT_EQ(bed.verdict("2001:db8::9"), "punt no_route");
}

TEST_F(Linux, Ipv6ConnectedRoutesOfOneMetricAreDifferentRoutes) {
  bed.add(linux_route("fe80::/64", {hop(11)}, 256));
  bed.add(linux_route("fe80::/64", {hop(12)}, 256));
  EXPECT_EQ(bed.routing->counts().ipv6, 2u);
  bed.remove(linux_route("fe80::/64", {hop(11)}, 256));
  EXPECT_EQ(bed.routing->counts().ipv6, 1u);
  EXPECT_EQ(bed.verdict("fe80::99"), "punt glean");
}

TEST_F(Linux, Ipv6ReplaceKeepsToRoutesWithGateways) {
  bed.add(linux_route("2001:db8::/64", {hop(12)}, 256));
  bed.add(linux_route("2001:db8::/64", {hop(11, "fe80::1")}, 256));
  bed.add(linux_route("2001:db8::/64", {hop(11, "fe80::2"), hop(11, "fe80::3")}, 256), true);
  EXPECT_EQ(bed.routing->counts().ipv6, 2u);
  bed.remove(linux_route("2001:db8::/64", {hop(12)}, 256));
  EXPECT_EQ(bed.verdict("2001:db8::9"), "{if0 02 | if0 03}");
}

TEST_F(Linux, DownLinkDropsAtOnce) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  bed.link(0, true);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
  bed.link(0, false);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "drop interface_down");
  bed.link(0, true);
  bed.link(0, true, true);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "drop interface_down");
}

TEST_F(Linux, ResyncSweepsWhatLinuxNoLongerHas) {
  bed.link(0, true);
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("10.2.0.0/16", {hop(11, "10.0.0.2")}));
  ASSERT_TRUE(bed.routing->add(api_route("10.3.0.0/16", "10.0.0.1")));
  uint64_t fib_writes = bed.fib_writes();
  bed.routing->resync_begin("a test");
  bed.link(0, true);
  bed.neighbor(11, "10.0.0.2", 2);
  bed.add(linux_route("10.2.0.0/16", {hop(11, "10.0.0.2")}));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01") << "the old state serves until the end";
  EXPECT_EQ(bed.fib_writes(), fib_writes);
  bed.routing->resync_end();
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("10.1.0.1"), "punt no_route");
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 02");
  EXPECT_EQ(bed.routing->counts().total, 2u);
  EXPECT_EQ(bed.fib_writes(), fib_writes + 1);
  EXPECT_EQ(bed.routing->statistics().swept, 1u);
  EXPECT_EQ(bed.routing->neighbors().size(), 1u);
}

TEST_F(Linux, ResyncBringsRoutesIntoLinuxsOrder) {
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.2")}));
  bed.routing->resync_begin("a test");
  for (uint8_t i = 1; i <= 6; ++i) bed.neighbor(11, fmt::format("10.0.0.{}", i), i);
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.2")}));
  bed.routing->resync_end();
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01");
  EXPECT_EQ(bed.routing->counts().total, 2u);
}

TEST_F(Linux, ResyncMayStartAnew) {
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  bed.routing->resync_begin("first");
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  bed.routing->resync_begin("second");
  bed.routing->resync_end();
  EXPECT_EQ(bed.routing->counts().total, 0u);
}

TEST_F(Linux, AResyncOfOneDeviceSweepsWhatLeavesByItAlone) {
  for (InterfaceId id : {InterfaceId{0}, InterfaceId{1}}) bed.link(id, true);
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("10.2.0.0/16", {hop(11, "10.0.0.2")}));
  bed.add(linux_route("10.3.0.0/16", {hop(12, "10.0.1.1")}));
  bed.add(linux_route("10.4.0.0/16", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1")}));
  bed.add(typed_route("10.5.0.1/32", RouteType::kLocal, kTableLocal));
  bed.add(typed_route("10.6.0.1/32", RouteType::kLocal, kTableLocal));
  bed.routing->nexthop_object({7, false, hop(11, "10.0.0.1"), {}}, false);
  Route by_object = linux_route("10.7.0.0/16", {});
  by_object.nexthop_object = 7;
  bed.add(by_object);
  EXPECT_EQ(bed.routing->devices_beside(11), (std::vector<int>{11, 12}));
  EXPECT_EQ(bed.routing->devices_beside(13), std::vector<int>{13});
  bed.routing->device_resync_begin(11, "a test");
  bed.add(linux_route("10.2.0.0/16", {hop(11, "10.0.0.2")}));
  bed.add(typed_route("10.6.0.1/32", RouteType::kLocal, kTableLocal));
  bed.routing->resync_end();
  std::vector<std::string> left;
  for (const auto& route : bed.routing->routes({}, 100).routes)
    left.push_back(route.prefix.to_string());
  EXPECT_EQ(left, (std::vector<std::string>{"10.2.0.0/16", "10.3.0.0/16", "10.6.0.1/32"}));
  EXPECT_TRUE(bed.routing->interfaces().up(bed.routing->interfaces().all().at(1)));
}

TEST_F(Linux, AResyncOfOneDeviceKeepsLinuxsOrder) {
  for (InterfaceId id : {InterfaceId{0}, InterfaceId{1}}) bed.link(id, true);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(12, "10.0.1.1", 2);
  NextHop first = hop(11, "10.0.0.1");
  bed.add(linux_route("10.1.0.0/16", {first}));
  bed.add(linux_route("10.1.0.0/16", {hop(12, "10.0.1.1")}));
  for (const bool dead : {true, false}) {
    first.dead = dead;
    bed.routing->device_resync_begin(11, "a test");
    bed.add(linux_route("10.1.0.0/16", {first}));
    bed.routing->resync_end();
    EXPECT_EQ(bed.routing->counts().total, 2u) << dead;
    EXPECT_EQ(bed.verdict("10.1.0.1"), dead ? "drop interface_down" : "if0 01");
  }
  bed.routing->device_resync_begin(12, "a test");
  bed.add(linux_route("10.1.0.0/16", {hop(12, "10.0.1.1")}));
  bed.routing->resync_end();
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01");
}

// In the table of a VRF own addresses stand beside the routes.
TEST_F(Linux, AResyncOfOneDeviceSweepsItsAddressesInAVrf) {
  const auto own = [](const std::string& prefix, RouteType type, int ifindex) {
    Route route = typed_route(prefix, type, 10);
    route.next_hops = {hop(ifindex)};
    return route;
  };
  for (const int ifindex : {11, 12}) {
    bed.add(own(fmt::format("10.{}.0.1/32", ifindex), RouteType::kLocal, ifindex));
    bed.add(own(fmt::format("10.{}.0.255/32", ifindex), RouteType::kBroadcast, ifindex));
    bed.add(own(fmt::format("fd00:{}::1/128", ifindex), RouteType::kLocal, ifindex));
  }
  bed.add(typed_route("0.0.0.0/0", RouteType::kUnreachable, 10));
  ASSERT_EQ(bed.routing->counts().total, 7u);
  EXPECT_EQ(bed.routing->devices_beside(11), std::vector<int>{11});
  bed.routing->device_resync_begin(11, "a test");
  bed.add(own("10.11.0.1/32", RouteType::kLocal, 11));
  bed.routing->resync_end();
  EXPECT_EQ(bed.routing->counts().total, 5u) << "one of its own, three of the other, one of none";
}

// Whoever cannot tell by what device a route leaves reads everything.
TEST_F(Linux, NothingIsBesideADeviceWhereThatIsNotKnown) {
  bed.add(typed_route("10.5.0.1/32", RouteType::kLocal, kTableLocal));
  EXPECT_EQ(bed.routing->devices_beside(11), std::vector<int>{11});
  bed.add(typed_route("10.5.0.2/32", RouteType::kLocal));
  EXPECT_TRUE(bed.routing->devices_beside(11).empty());
  bed.routing->resync_begin("a test");
  bed.routing->resync_end();
  EXPECT_EQ(bed.routing->devices_beside(11), std::vector<int>{11});
  for (int i = 0; i < 200; ++i) {  // rounds must not come round
    ASSERT_FALSE(bed.routing->devices_beside(11).empty()) << i;
    bed.routing->device_resync_begin(11, "a test");
    bed.routing->resync_end();
  }
  EXPECT_TRUE(bed.routing->devices_beside(11).empty());
}

// Who else hears of such a link: link_events_test.cpp.
TEST_F(Linux, ResyncTakesLinksThatWent) {
  bed.link(1, true);
  bed.routing->resync_begin("a test");
  bed.routing->resync_end();
  EXPECT_FALSE(bed.routing->interfaces().up(bed.routing->interfaces().all().at(1)));
}

// A route-based tunnel: what is routed into Linux's xfrm interface is for the policies of its
// if_id.
TEST_F(Linux, ARouteByAnIpsecInterfaceNamesItsIfId) {
  bed.add(linux_route("30.0.0.0/16", {hop(99)}));
  EXPECT_EQ(bed.record("30.0.0.7").if_id, 0u) << "a device that only Linux has";
  LinuxLink tunnel;
  tunnel.ifindex = 99;
  tunnel.name = "ipsec0";
  tunnel.if_id = 5;
  const auto said = [&](bool up, bool removed) {
    tunnel.up = tunnel.carrier = up;
    bed.routing->link(tunnel, removed);
    bed.routing->commit();
    return bed.record("30.0.0.7").if_id;
  };
  EXPECT_EQ(said(true, false), 5u);
  EXPECT_EQ(said(false, false), 0u) << "down";
  EXPECT_EQ(said(true, false), 5u);
  EXPECT_EQ(said(true, true), 0u) << "gone";
  EXPECT_EQ(bed.record("30.0.0.7").own, 0);
}

}  // namespace hecto::router::test
