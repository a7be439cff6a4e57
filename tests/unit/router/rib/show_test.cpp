// What the operator is shown: explanations, walks, groups, neighbors, reverse paths.
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

TEST(Explain, TellsTheWholeWayOfAPacket) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(11, "10.0.0.2", 2);
  bed.add(linux_route("0.0.0.0/0", {hop(11, "10.0.0.2")}));
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}, 20));
  ASSERT_TRUE(bed.routing->add(api_route("203.0.113.0/24", "10.0.0.2", 30)));
  Explanation explanation = bed.routing->explain(ip("203.0.113.9"));
  ASSERT_TRUE(explanation.match);
  EXPECT_EQ(*explanation.match, net("203.0.113.0/24"));
  ASSERT_EQ(explanation.why.size(), 2u);
  EXPECT_EQ(explanation.why[0],
            "203.0.113.0/24 is the longest of 2 prefixes that hold 203.0.113.9");
  EXPECT_EQ(explanation.why[1],
            "of its 2 routes the one of linux is selected: metric 20 is below 30");
  ASSERT_EQ(explanation.candidates.size(), 3u);
  EXPECT_EQ(explanation.candidates[0].why, "selected");
  EXPECT_TRUE(explanation.candidates[0].installed);
  EXPECT_EQ(explanation.candidates[1].why, "metric 30 is above 20");
  EXPECT_FALSE(explanation.candidates[1].selected);
  EXPECT_EQ(explanation.candidates[2].why, "a shorter prefix");
  ASSERT_TRUE(explanation.group);
  ASSERT_EQ(explanation.group->members.size(), 1u);
  const GroupMemberView& member = explanation.group->members[0];
  EXPECT_EQ(member.next_hop.interface_name, "if0");
  EXPECT_EQ(member.next_hop.gateway, ip("10.0.0.1"));
  ASSERT_TRUE(member.neighbor);
  EXPECT_EQ(member.neighbor->mac, mac(1));
  EXPECT_EQ(member.record.header_length, 14);
  EXPECT_EQ(explanation.group->routes, 1u);
}

TEST(Explain, SaysWhenThereIsNoRoute) {
  Bed bed;
  Explanation explanation = bed.routing->explain(ip("2001:db8::9"));
  EXPECT_FALSE(explanation.match);
  EXPECT_FALSE(explanation.group);
  EXPECT_EQ(explanation.why, std::vector<std::string>{"no prefix holds 2001:db8::9"});
}

TEST(Explain, ShowsTheMembersOfEcmp) {
  Bed bed;
  bed.add_interface(0);
  bed.add_interface(1);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(12, "10.0.1.1", 2);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1")}));
  bed.link(1, false);
  Explanation explanation = bed.routing->explain(ip("203.0.113.9"));
  ASSERT_TRUE(explanation.group);
  ASSERT_EQ(explanation.group->members.size(), 2u);
  EXPECT_EQ(explanation.group->members[0].buckets, explanation.group->buckets);
  EXPECT_TRUE(explanation.group->members[1].dead);
  EXPECT_EQ(explanation.group->members[1].buckets, 0u);
  EXPECT_EQ(explanation.group->members[1].next_hop.interface_name, "if1");
}

TEST(ShowRoutes, PagesThroughBothFamilies) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  std::vector<std::string> expected;
  for (int i = 0; i < 7; ++i) expected.push_back(fmt::format("20.{}.0.0/16", i));
  for (int i = 1; i < 5; ++i) expected.push_back(fmt::format("2001:db8:{}::/48", i));
  for (const std::string& prefix : expected) bed.add(linux_route(prefix, {hop(11, "fe80::1")}));
  for (size_t limit : {1u, 2u, 3u, 4u, 7u, 11u, 100u}) {
    std::vector<std::string> seen;
    std::optional<IpPrefix> after;
    size_t pages = 0;
    do {
      RoutePage page = bed.routing->routes(after, limit);
      ASSERT_LE(page.routes.size(), limit);
      for (const RouteView& route : page.routes) seen.push_back(route.prefix.to_string());
      after = page.next;
      ++pages;
    } while (after);
    EXPECT_EQ(seen, expected) << "limit " << limit;
    EXPECT_EQ(pages, (expected.size() + limit - 1) / limit);
  }
}

TEST(ShowRoutes, Filters) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  bed.add(linux_route("20.1.0.0/16", {hop(11, "10.0.0.1")}, 20));
  bed.add(linux_route("20.1.2.0/24", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("20.2.0.0/16", {hop(11, "10.0.0.1")}));
  ASSERT_TRUE(bed.routing->add(api_route("20.1.0.0/16", "10.0.0.1", 10)));
  auto shown = [&](const RouteFilter& filter) {
    std::vector<std::string> seen;
    for (const RouteView& route : bed.routing->routes({}, 100, filter).routes) {
      seen.push_back(route.prefix.to_string());
    }
    return fmt::format("{}", fmt::join(seen, " "));
  };
  RouteFilter within;
  within.within = net("20.1.0.0/16");
  EXPECT_EQ(shown(within), "20.1.0.0/16 20.1.0.0/16 20.1.2.0/24");
  within.selected_only = true;
  EXPECT_EQ(shown(within), "20.1.0.0/16 20.1.2.0/24");
  RouteFilter api;
  api.origin = RouteOrigin::kApi;
  EXPECT_EQ(shown(api), "20.1.0.0/16");
  RouteFilter bgp;
  bgp.protocol = 186;
  EXPECT_EQ(shown(bgp), "20.1.0.0/16 20.1.2.0/24 20.2.0.0/16");
  RouteFilter ipv6;
  ipv6.within = net("::/0");
  EXPECT_EQ(shown(ipv6), "");
  RouteCounts counts = bed.routing->counts();
  EXPECT_EQ(counts.ipv4, 4u);
  EXPECT_EQ(counts.by_protocol[186], 3u);
  EXPECT_EQ(counts.by_protocol[4], 1u);
}

TEST(ShowRoutes, WhatLinuxHasOfTheFileIsThereOnce) {
  Bed bed;
  bed.add_interface(0, "10.0.0.254/24");
  bed.neighbor(11, "10.0.0.1", 1);
  ASSERT_TRUE(bed.routing->add(api_route("203.0.113.0/24", "10.0.0.1", 0)));
  Route echo = linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")});
  echo.protocol = 100;
  bed.add(echo);
  Route other = linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}, 7);
  other.protocol = 100;
  bed.add(other);
  Route bgp = linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}, 20);
  bgp.protocol = 186;
  bed.add(bgp);
  RouteFilter filter;
  filter.within = net("203.0.113.0/24");
  const auto routes = bed.routing->routes({}, 10, filter).routes;
  ASSERT_EQ(routes.size(), 3u) << "another next hop, and another protocol, are other routes";
  EXPECT_EQ(routes[0].also.size(), 1u);
  EXPECT_TRUE(routes[0].selected);
  EXPECT_TRUE(routes[1].also.empty());
  EXPECT_TRUE(routes[2].also.empty());
  filter.origin = RouteOrigin::kLinux;
  EXPECT_EQ(bed.routing->routes({}, 10, filter).routes.size(), 3u) << "asked for by name";
}

TEST(ShowRoutes, ByTheInterfaceThatTheyLeadOutBy) {
  Bed bed;
  bed.add_interface(0);
  bed.add_interface(1);
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1")}));
  bed.add(linux_route("198.51.100.0/24", {hop(11, "10.0.0.1")}));
  RouteFilter filter;
  filter.origin = RouteOrigin::kLinux;
  filter.interface = 1;
  auto routes = bed.routing->routes({}, 10, filter).routes;
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes[0].prefix, net("203.0.113.0/24"));
  filter.interface = 0;
  EXPECT_EQ(bed.routing->routes({}, 10, filter).routes.size(), 2u);
}

// A page that a filter leaves almost empty ends all the same, and the next goes on behind it.
TEST(ShowRoutes, APageLooksAtSoManyPrefixesAndNoMore) {
  Bed bed;
  bed.add_interface(0);
  for (uint32_t i = 0; i < 60'000; ++i)
    bed.add(linux_route(fmt::format("20.{}.{}.0/24", i >> 8, i & 255), {hop(11, "10.0.0.1")}));
  RouteFilter filter;
  filter.protocol = 77;
  const RoutePage first = bed.routing->routes({}, 10, filter);
  EXPECT_TRUE(first.routes.empty());
  ASSERT_TRUE(first.next);
  EXPECT_FALSE(bed.routing->routes(first.next, 10, filter).next);
}

TEST(ShowNextHops, CountsThePrefixesOfAGroup) {
  Bed bed;
  bed.add_interface(0);
  for (int i = 0; i < 5; ++i) {
    bed.add(linux_route(fmt::format("20.{}.0.0/16", i), {hop(11, "10.0.0.1")}));
  }
  bed.remove(linux_route("20.0.0.0/16", {hop(11, "10.0.0.1")}));
  std::vector<GroupView> groups = bed.routing->next_hops();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].routes, 4u);
  EXPECT_EQ(groups[0].group, bed.group(ip("20.1.0.1")));
}

TEST(ShowNeighbors, NamesTheGroupThatSendsThere) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.neighbor(99, "10.0.0.2", 2);
  bed.add(linux_route("20.0.0.0/16", {hop(11, "10.0.0.1")}));
  std::vector<NeighborView> neighbors = bed.routing->neighbors();
  ASSERT_EQ(neighbors.size(), 2u);
  EXPECT_EQ(neighbors[0].group, bed.group(ip("20.0.0.1")));
  EXPECT_EQ(neighbors[0].interface_name, "if0");
  EXPECT_EQ(neighbors[1].group, lookup::kNoRoute);
  EXPECT_EQ(neighbors[1].interface, kNoInterface);
}

TEST(Urpf, KnowsTheWaysBack) {
  Bed bed;
  bed.add_interface(0);
  bed.add_interface(1);
  bed.add(linux_route("10.0.0.0/24", {hop(11)}));
  bed.add(linux_route("20.0.0.0/16", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1")}));
  bed.add(linux_route("30.0.0.0/16", {hop(99, "172.16.0.1")}));
  bed.add(typed_route("40.0.0.0/16", RouteType::kBlackhole));
  bed.add(typed_route("10.0.0.254/32", RouteType::kLocal, kTableLocal));
  UrpfView view = bed.routing->urpf(0);
  auto by = [&](const std::string& address) {
    GroupId group = bed.group(ip(address));
    return fmt::format("{}{}{}", view.reachable_by(group, 0) ? "0" : "-",
                       view.reachable_by(group, 1) ? "1" : "-", view.reachable(group) ? "*" : "-");
  };
  EXPECT_EQ(by("10.0.0.7"), "0-*") << "connected, though it punts";
  EXPECT_EQ(by("20.0.0.7"), "01*");
  EXPECT_EQ(by("30.0.0.7"), "--*") << "by a device of Linux's";
  EXPECT_EQ(by("40.0.0.7"), "---");
  EXPECT_EQ(by("10.0.0.254"), "---") << "our own address is no source";
  EXPECT_EQ(by("50.0.0.1"), "---");
  bed.neighbor(11, "10.0.0.7", 7);
  EXPECT_EQ(by("10.0.0.7"), "0-*");
  bed.link(0, false);
  EXPECT_EQ(by("20.0.0.7"), "01*") << "a way that is down is still a way";
}

TEST(Urpf, ReusedGroupForgetsItsInterfaces) {
  UrpfTable table({0, 1}, 8);
  UrpfInterfaces interfaces;
  interfaces.set(0).set(63).set(64).set(kMaxInterfaceId).set(kUrpfAnyBit);
  table.set(3, interfaces);
  EXPECT_EQ(table.get(3), interfaces);
  EXPECT_TRUE(table.view(1).reachable_by(3, kMaxInterfaceId));
  EXPECT_FALSE(table.view(1).reachable_by(3, 65));
  table.set(3, UrpfInterfaces().set(5));
  EXPECT_FALSE(table.view(0).reachable_by(3, 64));
  table.set(8, interfaces);  // beyond its end: nothing happens
}

}  // namespace hecto::router::test
