// Linux's tables other than local, main and default: each a RIB and a FIB of its own.
#include "tests/unit/router/rib/linux_bed.hpp"

namespace hecto::router::test {
namespace {

Route in_table(Route route, uint32_t table) {
  route.table = table;
  return route;
}

TEST_F(Linux, EachTableAnswersForItself) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  bed.add(in_table(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}), 100));
  bed.add(in_table(linux_route("2001:db8::/32", {hop(11, "fe80::3")}, 1024), 70000));
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
  EXPECT_EQ(bed.verdict("203.0.113.1", 100), "if0 02");
  EXPECT_EQ(bed.verdict("203.0.113.1", 70000), "punt no_route");
  EXPECT_EQ(bed.verdict("2001:db8::1", 70000), "if0 03");
  EXPECT_EQ(bed.verdict("2001:db8::1"), "punt no_route");
  bed.remove(in_table(linux_route("203.0.113.0/24", {hop(11, "10.0.0.2")}), 100));
  EXPECT_EQ(bed.verdict("203.0.113.1", 100), "punt no_route");
  EXPECT_EQ(bed.verdict("203.0.113.1"), "if0 01");
  bed.routing->commit();
  const std::vector<TableView> tables = bed.routing->tables();
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[1].linux_number, 100u);
  EXPECT_EQ(tables[2].prefixes6, 1u);
  EXPECT_EQ(bed.routing->counts().total, 2u);
}

// Two VRFs: the same network and the same neighbor's address behind two interfaces.
TEST_F(Linux, NeighborsAreThoseOfTheTablesInterfaces) {
  for (const auto& [ifindex, table, last] :
       {std::tuple{11, 100U, uint8_t{0x51}}, {12, 200U, uint8_t{0x52}}}) {
    bed.add(in_table(linux_route("192.0.2.0/24", {hop(ifindex)}), table));
    bed.add(in_table(typed_route("192.0.2.254/32", RouteType::kLocal), table));
    bed.neighbor(ifindex, "192.0.2.9", last);
    bed.add(in_table(linux_route("198.51.100.0/24", {hop(ifindex, "192.0.2.9")}), table));
  }
  EXPECT_EQ(bed.verdict("192.0.2.9", 100), "if0 51");
  EXPECT_EQ(bed.verdict("192.0.2.9", 200), "if1 52");
  EXPECT_EQ(bed.verdict("198.51.100.1", 100), "if0 51");
  EXPECT_EQ(bed.verdict("198.51.100.1", 200), "if1 52");
  EXPECT_EQ(bed.verdict("192.0.2.254", 100), "punt local");
  EXPECT_EQ(bed.verdict("192.0.2.77", 100), "punt glean");
  EXPECT_EQ(bed.verdict("192.0.2.9"), "punt no_route") << "main has none of it";
  bed.routing->neighbor({11, ip("192.0.2.9"), mac(0x51), 2, true}, true);
  EXPECT_EQ(bed.verdict("192.0.2.9", 100), "punt glean");
  EXPECT_EQ(bed.verdict("192.0.2.9", 200), "if1 52");
}

TEST_F(Linux, ThrowAndBlackholeStayInTheirTable) {
  bed.add(in_table(typed_route("203.0.113.0/24", RouteType::kBlackhole), 100));
  bed.add(in_table(linux_route("0.0.0.0/0", {hop(11, "10.0.0.1")}), 100));
  bed.add(in_table(linux_route("198.51.100.0/24", {}), 100));  // throw: without next hops
  EXPECT_EQ(bed.verdict("203.0.113.1", 100), "drop blackhole");
  EXPECT_EQ(bed.verdict("8.8.8.8", 100), "if0 01");
  EXPECT_EQ(bed.verdict("198.51.100.1", 100), "punt no_route");
}

TEST_F(Linux, AResyncSweepsEveryTable) {
  for (const uint32_t table : {kTableMain, 100U, 200U})
    for (const char* prefix : {"203.0.113.0/24", "198.51.100.0/24"})
      bed.add(in_table(linux_route(prefix, {hop(11, "10.0.0.1")}), table));
  bed.routing->resync_begin("test");
  bed.neighbor(11, "10.0.0.1", 1);
  for (const uint32_t table : {kTableMain, 100U, 200U})
    bed.add(in_table(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}), table));
  bed.routing->resync_end();
  while (bed.routing->continue_sweep(1)) {
  }
  for (const uint32_t table : {kTableMain, 100U, 200U}) {
    EXPECT_EQ(bed.verdict("203.0.113.1", table), "if0 01") << table;
    EXPECT_EQ(bed.verdict("198.51.100.1", table), "punt no_route") << table;
  }
  EXPECT_EQ(bed.routing->statistics().swept, 3u);
}

TEST_F(Linux, AResyncOfOneDeviceReachesTheOtherTables) {
  bed.add(in_table(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}), 100));
  bed.add(in_table(linux_route("198.51.100.0/24", {hop(12)}), 100));
  bed.routing->device_resync_begin(11, "test");
  bed.routing->resync_end();
  EXPECT_EQ(bed.verdict("203.0.113.1", 100), "punt no_route") << "left by it, and was not told";
  EXPECT_EQ(bed.verdict("198.51.100.1", 100), "punt glean");
}

TEST_F(Linux, TablesWithoutRoomAreSaidOnceAndLeftToLinux) {
  const Route route = linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")});
  for (uint32_t table = 100; table < 106; ++table) bed.add(in_table(route, table));
  EXPECT_EQ(bed.routing->statistics().ignored_table, 3u);
  EXPECT_FALSE(bed.routing->fib_table(103));
  EXPECT_EQ(bed.routing->fib_table(102), 3);
  bed.remove(in_table(route, 104));
  EXPECT_EQ(
      std::count(bed.log.begin(), bed.log.end(),
                 "routes: table 103 and maybe others have no room beside 3: what policy rules "
                 "send there Linux forwards"),
      1);
  EXPECT_EQ(bed.log.size(), 1u);
}

// A prefix that is not in it would be looked for in the tables behind it: nothing is, then.
TEST(Tables, OneThatLacksRoomIsNotLookedUpIn) {
  Bed bed(4);
  bed.add_interface(0);
  ASSERT_TRUE(bed.routing->fib_table(100));
  for (int i = 0; i < 8; ++i)
    bed.add(in_table(
        linux_route(fmt::format("203.0.{}.0/24", i), {hop(11, fmt::format("10.0.0.{}", i + 1))}),
        100));
  EXPECT_FALSE(bed.routing->fib_table(100));
  EXPECT_EQ(bed.routing->tables_without_room(), std::vector<uint32_t>{100});
  EXPECT_TRUE(bed.routing->fib_table(kTableMain));
  for (int i = 0; i < 8; ++i)
    bed.remove(in_table(
        linux_route(fmt::format("203.0.{}.0/24", i), {hop(11, fmt::format("10.0.0.{}", i + 1))}),
        100));
  bed.routing->commit();
  EXPECT_TRUE(bed.routing->fib_table(100));
  EXPECT_TRUE(bed.routing->tables_without_room().empty());
}

TEST_F(Linux, PagesAndExplanationsAreOfOneTable) {
  bed.add(linux_route("203.0.113.0/24", {hop(11, "10.0.0.1")}));
  bed.add(in_table(linux_route("203.0.113.128/25", {hop(11, "10.0.0.2")}), 100));
  RouteFilter filter;
  filter.table = 100;
  const RoutePage page = bed.routing->routes({}, 100, filter);
  ASSERT_EQ(page.routes.size(), 1u);
  EXPECT_EQ(page.routes[0].table, 100u);
  EXPECT_EQ(bed.routing->routes({}, 100, {}).routes.size(), 1u);
  filter.table = 9;
  EXPECT_TRUE(bed.routing->routes({}, 100, filter).routes.empty());
  EXPECT_EQ(bed.routing->explain(ip("203.0.113.200"), 100).match->to_string(), "203.0.113.128/25");
  EXPECT_EQ(bed.routing->explain(ip("203.0.113.200")).match->to_string(), "203.0.113.0/24");
  EXPECT_EQ(bed.routing->explain(ip("203.0.113.200"), 9).why.at(0), "there is no table 9");
}

// What Linux says of VRFs: which table, and who is in which.
TEST_F(Linux, KnowsWhichVrfAnInterfaceIsIn) {
  LinuxLink red;
  red.ifindex = 50;
  red.name = red.kind = "vrf-red";
  red.vrf_table = 100;
  LinuxLink twin;
  twin.ifindex = 11;
  twin.name = "if0";
  twin.up = twin.carrier = true;
  twin.master = 50;
  const InterfaceState& state = *bed.routing->interfaces().find(0);
  bed.routing->link(twin, false);
  EXPECT_EQ(bed.routing->interfaces().vrf_of(state), nullptr) << "its master is not known yet";
  bed.routing->link(red, false);
  ASSERT_NE(bed.routing->interfaces().vrf_of(state), nullptr);
  EXPECT_EQ(bed.routing->interfaces().vrf_of(state)->vrf_table, 100u);
  red.vrf_table = 0;  // a bridge, say
  bed.routing->link(red, false);
  EXPECT_EQ(bed.routing->interfaces().vrf_of(state), nullptr);
  EXPECT_NE(bed.routing->interfaces().master_of(state), nullptr);
  bed.routing->link(red, true);
  EXPECT_EQ(bed.routing->interfaces().master_of(state), nullptr);
}

}  // namespace
}  // namespace hecto::router::test
