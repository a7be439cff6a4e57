// Routes, next hops, neighbors and interfaces: what the tables say afterwards.
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

TEST(Routing, ForwardsByAResolvedGateway) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "192.0.2.1", 5);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "192.0.2.1")}));
  lookup::NextHopRecord record = bed.record("203.0.113.9");
  EXPECT_EQ(record.kind, lookup::RecordKind::kForward);
  EXPECT_EQ(record.port, 100);
  EXPECT_EQ(record.interface, 0);
  EXPECT_EQ(record.mtu, 1500);
  ASSERT_EQ(record.header_length, 14);
  const uint8_t expected[] = {2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 0xa0, 8, 0};
  EXPECT_EQ(std::vector<uint8_t>(record.header, record.header + 14),
            std::vector<uint8_t>(expected, expected + 14));
}

TEST(Routing, TagsTheHeaderOfAVlanInterface) {
  Bed bed;
  InterfaceState state = Bed::state(3);
  state.tags.vlan = 0x123;
  ASSERT_TRUE(bed.routing->add_interface(state));
  bed.neighbor(14, "2001:db8::1", 7);
  bed.add(linux_route("2001:db8:1::/48", {hop(14, "2001:db8::1")}));
  lookup::NextHopRecord record = bed.record("2001:db8:1::9");
  ASSERT_EQ(record.header_length, 18);
  const uint8_t expected[] = {0x81, 0x00, 0x01, 0x23, 0x86, 0xdd};
  EXPECT_EQ(std::vector<uint8_t>(record.header + 12, record.header + 18),
            std::vector<uint8_t>(expected, expected + 6));
}

TEST(Routing, EtherTypeFollowsThePacketByAnIpv6Gateway) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "fe80::1", 5);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "fe80::1")}));  // RFC 8950
  bed.add(linux_route("2001:db8:1::/48", {hop(11, "fe80::1")}));
  EXPECT_EQ(bed.record("203.0.113.9").header[12], 0x08);
  EXPECT_EQ(bed.record("2001:db8:1::9").header[12], 0x86);
}

TEST(Routing, PuntsToResolveAnUnknownGateway) {
  Bed bed;
  bed.add_interface(0);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "192.0.2.1")}));
  EXPECT_EQ(bed.verdict("203.0.113.9"), "punt glean");
  bed.neighbor(11, "192.0.2.1", 5);
  EXPECT_EQ(bed.verdict("203.0.113.9"), "if0 05");
  bed.neighbor(11, "192.0.2.1", 0, false);
  EXPECT_EQ(bed.verdict("203.0.113.9"), "punt glean");
}

TEST(Routing, EveryTypeHasItsVerdict) {
  Bed bed;
  bed.add(typed_route("10.1.0.1/32", RouteType::kLocal, kTableLocal));
  bed.add(typed_route("10.1.0.255/32", RouteType::kBroadcast, kTableLocal));
  bed.add(typed_route("ff00::/8", RouteType::kMulticast, kTableLocal));
  bed.add(typed_route("10.2.0.0/16", RouteType::kBlackhole));
  bed.add(typed_route("10.3.0.0/16", RouteType::kUnreachable));
  bed.add(typed_route("10.4.0.0/16", RouteType::kProhibit));
  bed.add(linux_route("10.5.0.0/16", {hop(99, "10.5.0.1")}));  // a device of Linux's alone
  EXPECT_EQ(bed.verdict("10.1.0.1"), "punt local");
  EXPECT_EQ(bed.verdict("10.1.0.255"), "punt broadcast");
  EXPECT_EQ(bed.verdict("ff02::5"), "punt multicast");
  EXPECT_EQ(bed.verdict("10.2.0.1"), "drop blackhole");
  EXPECT_EQ(bed.verdict("10.3.0.1"), "punt unreachable");
  EXPECT_EQ(bed.verdict("10.4.0.1"), "punt prohibit");
  EXPECT_EQ(bed.verdict("10.5.0.1"), "punt local");
  EXPECT_EQ(bed.verdict("10.6.0.1"), "punt no_route");
}

TEST(Routing, ChangeOfMacWritesOneRecordAndNoRoute) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "192.0.2.1", 5);
  for (int i = 0; i < 1000; ++i) {
    bed.add(linux_route(fmt::format("10.{}.{}.0/24", i / 250, i % 250), {hop(11, "192.0.2.1")}));
  }
  uint64_t fib_writes = bed.fib_writes(), records = bed.records_written();
  bed.neighbor(11, "192.0.2.1", 6);
  EXPECT_EQ(bed.verdict("10.3.7.1"), "if0 06");
  bed.neighbor(11, "192.0.2.1", 6, false);
  EXPECT_EQ(bed.verdict("10.3.7.1"), "punt glean");
  EXPECT_EQ(bed.records_written(), records + 2);
  EXPECT_EQ(bed.fib_writes(), fib_writes);
}

TEST(Routing, SameNextHopsShareAGroup) {
  Bed bed;
  bed.add_interface(0);
  uint32_t before = bed.next_hops->groups_used();
  bed.add(linux_route("10.1.0.0/16", {hop(11, "192.0.2.1"), hop(11, "192.0.2.2")}));
  bed.add(linux_route("10.2.0.0/16", {hop(11, "192.0.2.2"), hop(11, "192.0.2.1")}));
  EXPECT_EQ(bed.group(ip("10.1.0.1")), bed.group(ip("10.2.0.1")));
  EXPECT_EQ(bed.next_hops->groups_used(), before + 3);  // two single ones, and their ECMP
  bed.remove(linux_route("10.1.0.0/16", {hop(11, "192.0.2.1"), hop(11, "192.0.2.2")}));
  bed.remove(linux_route("10.2.0.0/16", {hop(11, "192.0.2.1"), hop(11, "192.0.2.2")}));
  EXPECT_EQ(bed.next_hops->groups_used(), before);
}

TEST(Routing, RoutesWaitForTheirInterface) {
  Bed bed;
  bed.neighbor(11, "10.0.0.1", 1);
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "punt local");
  bed.add_interface(0);
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01");
  ASSERT_TRUE(bed.routing->remove_interface(0));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "punt local");
}

TEST(Routing, NextHopWithBothNumbersOutlivesTheTwin) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  ASSERT_TRUE(bed.routing->add_neighbor(0, ip("10.0.0.1"), mac(1)));
  Route route = api_route("10.1.0.0/16", "10.0.0.1");
  route.next_hops[0].ifindex = 11;
  route.next_hops[0].interface = 0;
  ASSERT_TRUE(bed.routing->add(route));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01");
  InterfaceState alone = Bed::state(0, "10.0.0.254/24");
  alone.ifindex = 0;
  ASSERT_TRUE(bed.routing->update_interface(alone));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01");
}

TEST(Routing, SmallerMtuOfTheTwinCounts) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  LinuxLink link{11, "if0", {}, 1400, true, true, 0, 0};
  bed.routing->link(link, false);
  EXPECT_EQ(bed.record("10.1.0.1").mtu, 1400);
}

TEST(Routing, RefusesInterfacesThatClash) {
  Bed bed;
  bed.add_interface(0);
  EXPECT_FALSE(bed.routing->add_interface(Bed::state(0)));
  InterfaceState same_ifindex = Bed::state(1);
  same_ifindex.ifindex = 11;
  auto added = bed.routing->add_interface(same_ifindex);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "interface if1: ifindex 11 belongs to if0");
  EXPECT_FALSE(bed.routing->add_interface(Bed::state(kMaxInterfaceId + 1)));
  EXPECT_FALSE(bed.routing->remove_interface(7));
}

TEST(Routing, InterfaceWithoutTwinMakesItsOwnRoutes) {
  Bed bed;
  bed.add_plain_interface(0, {"192.0.2.1/24", "2001:db8::1/64"});
  EXPECT_EQ(bed.verdict("192.0.2.1"), "punt local");
  EXPECT_EQ(bed.verdict("192.0.2.255"), "punt broadcast");
  EXPECT_EQ(bed.verdict("192.0.2.7"), "punt glean");
  EXPECT_EQ(bed.verdict("2001:db8::1"), "punt local");
  EXPECT_EQ(bed.verdict("2001:db8::"), "punt local");
  EXPECT_EQ(bed.verdict("2001:db8::7"), "punt glean");
  ASSERT_TRUE(bed.routing->add_neighbor(0, ip("192.0.2.7"), mac(7)));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("192.0.2.7"), "if0 07");

  InterfaceState moved = bed.routing->interfaces().all().at(0);
  moved.addresses = {IpPrefix::parse_interface("192.0.2.1/31").value()};
  ASSERT_TRUE(bed.routing->update_interface(moved));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("192.0.2.0"), "punt glean");  // RFC 3021: a host
  EXPECT_EQ(bed.verdict("192.0.2.7"), "punt no_route");
  EXPECT_EQ(bed.verdict("2001:db8::7"), "punt no_route");
  ASSERT_TRUE(bed.routing->remove_interface(0));
  EXPECT_EQ(bed.routing->counts().total, 0u);
}

TEST(Routing, TwoAddressesOfOneNetworkShareItsRoutes) {
  Bed bed;
  bed.add_plain_interface(0, {"192.0.2.1/24", "192.0.2.2/24"});
  EXPECT_EQ(bed.routing->counts().total, 4u);  // two local, the network, its broadcast
  InterfaceState fewer = bed.routing->interfaces().all().at(0);
  fewer.addresses.pop_back();
  ASSERT_TRUE(bed.routing->update_interface(fewer));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("192.0.2.2"), "punt glean");
  EXPECT_EQ(bed.verdict("192.0.2.255"), "punt broadcast");
  ASSERT_TRUE(bed.routing->remove_interface(0));
  EXPECT_EQ(bed.routing->counts().total, 0u);
  EXPECT_EQ(bed.routing->statistics().sets, 0u);
}

TEST(Routing, FileRouteFindsItsInterfaceByAddress) {
  Bed bed;
  bed.add_plain_interface(0, {"192.0.2.1/24"});
  bed.add_plain_interface(1, {"198.51.100.1/24"});
  ASSERT_TRUE(bed.routing->add_neighbor(1, ip("198.51.100.9"), mac(9)));
  ASSERT_TRUE(bed.routing->add(api_route("203.0.113.0/24", "198.51.100.9")));
  ASSERT_TRUE(bed.routing->add(api_route("203.0.114.0/24", "10.9.9.9")));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if1 09");
  EXPECT_EQ(bed.verdict("203.0.114.1"), "punt no_route");  // on nobody's network
}

TEST(Routing, RefusesWrongRoutesWithWords) {
  Bed bed;
  bed.add_plain_interface(0, {"192.0.2.1/24"});
  auto message = [&](const Route& route) {
    auto added = bed.routing->add(route);
    return added ? std::string("added") : added.error().message;
  };
  Route route = api_route("10.0.0.0/8", "192.0.2.9");
  route.prefix.address = ip("10.1.0.0");
  EXPECT_EQ(message(route), "route 10.1.0.0/8: host bits are set; use 10.0.0.0/8");
  route = api_route("10.0.0.0/8", "192.0.2.9");
  route.next_hops.clear();
  EXPECT_EQ(message(route), "route 10.0.0.0/8: no next hop");
  route.type = RouteType::kBlackhole;
  EXPECT_EQ(message(route), "added");
  route = api_route("2001:db8::/32", "192.0.2.9");
  EXPECT_EQ(message(route),
            "route 2001:db8::/32: 192.0.2.9 is an IPv4 gateway; an IPv6 route needs an IPv6 one");
  route = api_route("10.0.0.0/8", "192.0.2.9");
  route.table = 0;
  EXPECT_EQ(message(route), "route 10.0.0.0/8: there is no room for table 0; use 254 (main)");
  route = api_route("10.0.0.0/8", "192.0.2.9");
  route.next_hops[0].weight = 257;
  EXPECT_EQ(message(route), "route 10.0.0.0/8: weight 257 is out of range; use 1 to 256");
  route.next_hops = {NextHop{}};
  EXPECT_EQ(message(route), "route 10.0.0.0/8: a next hop has neither gateway nor interface");
  EXPECT_FALSE(bed.routing->add_neighbor(0, ip("192.0.2.9"), {1, 0, 0, 0, 0, 1}));
  EXPECT_FALSE(bed.routing->add_neighbor(9, ip("192.0.2.9"), mac(1)));
  EXPECT_FALSE(bed.routing->remove(api_route("10.9.0.0/16", "192.0.2.9")));
}

TEST(Routing, ConfiguredNeighborComesBeforeLinuxs) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.add(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}));
  ASSERT_TRUE(bed.routing->add_neighbor(0, ip("10.0.0.1"), mac(0x77)));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 77");
  ASSERT_TRUE(bed.routing->remove_neighbor(0, ip("10.0.0.1")));
  EXPECT_EQ(bed.verdict("10.1.0.1"), "if0 01");
}

TEST(Routing, LowerMetricThenOriginDecides) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  for (uint8_t i = 1; i <= 4; ++i) bed.neighbor(11, fmt::format("10.0.0.{}", i), i);
  ASSERT_TRUE(bed.routing->add(api_route("203.0.113.0/24", "10.0.0.1", 20)));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}, 20));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
  Route file = api_route("203.0.113.0/24", "10.0.0.3", 10);
  file.origin = RouteOrigin::kFile;
  ASSERT_TRUE(bed.routing->add(file));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 03");
  bed.add(typed_route("203.0.113.0/24", RouteType::kLocal, kTableLocal));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt local");
  bed.remove(typed_route("203.0.113.0/24", RouteType::kLocal, kTableLocal));
  ASSERT_TRUE(bed.routing->remove(file));
  bed.remove(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}, 20));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
}

TEST(Routing, AddingToAnApiSlotReplaces) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(11, "10.0.0.2", 2);
  auto first = bed.routing->add(api_route("203.0.113.0/24", "10.0.0.1"));
  auto second = bed.routing->add(api_route("203.0.113.0/24", "10.0.0.2"));
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(*first);
  EXPECT_TRUE(*second);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 02");
  EXPECT_EQ(bed.routing->counts().by_origin[2], 1u);
  EXPECT_EQ(bed.routing->remove_origin(RouteOrigin::kApi), 1u);
  EXPECT_EQ(bed.verdict("203.0.113.1"), "punt no_route");
}

}  // namespace hecto::router::test
