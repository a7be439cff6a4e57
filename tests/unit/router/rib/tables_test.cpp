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
  EXPECT_EQ(bed.routing->interfaces().vrf_of(state).table, 0u) << "its master is not known yet";
  bed.routing->link(red, false);
  EXPECT_EQ(bed.routing->interfaces().vrf_of(state).table, 100u);
  red.vrf_table = 0;  // a bridge, say
  bed.routing->link(red, false);
  EXPECT_EQ(bed.routing->interfaces().vrf_of(state).table, 0u);
  EXPECT_NE(bed.routing->interfaces().master_of(state), nullptr);
  bed.routing->link(red, true);
  EXPECT_EQ(bed.routing->interfaces().master_of(state), nullptr);
}

// A table with many prefixes has a FIB of its own as well, which answers as that of all does.
class LargeTable : public testing::Test {
 protected:
  static constexpr uint32_t kTable = 100;
  void SetUp() override {
    bed.add_interface(0);
    for (uint8_t i = 1; i <= 6; ++i) bed.neighbor(11, fmt::format("10.0.0.{}", i), i);
  }
  static Route route(unsigned number, unsigned length, unsigned via) {
    return in_table(linux_route(fmt::format("10.{}.{}.0/{}", number >> 8, number & 255, length),
                                {hop(11, fmt::format("10.0.0.{}", via))}),
                    kTable);
  }
  void fill(unsigned count) {
    for (unsigned i = 0; i < count; ++i) bed.add(route(i, 24, i % 6 + 1));
  }
  const lookup::Fib4View* view() {
    return bed.routing->large_views(0)->ipv4.find(bed.routing->fib_table(kTable).value());
  }
  // Of its own FIB, and of that of all.
  std::pair<GroupId, GroupId> groups(const std::string& address) {
    const uint32_t destination = ip(address).v4().value;
    GroupId direct;
    lookup_batch(*view(), &destination, &direct, 1);
    return {direct, bed.group(ip(address), kTable)};
  }
  Bed bed{512, 0, lookup::Reclaimer::none(), 200};
};

TEST_F(LargeTable, HasAFibOfItsOwnOnceItIsLarge) {
  fill(199);
  bed.routing->commit();
  bed.routing->commit();
  EXPECT_EQ(view(), nullptr);
  EXPECT_FALSE(bed.routing->tables()[1].large4);
  fill(300);
  for (int i = 0; i < 3; ++i) bed.routing->commit();
  ASSERT_NE(view(), nullptr);
  EXPECT_TRUE(bed.routing->tables()[1].large4);
  for (const char* address : {"10.0.5.1", "10.1.43.9", "10.1.44.9", "11.0.0.1"}) {
    const auto [direct, compact] = groups(address);
    EXPECT_EQ(direct, compact) << address;
  }
}

TEST_F(LargeTable, FollowsEachChange) {
  fill(300);
  bed.routing->commit();  // the copy begins
  bed.remove(route(7, 24, 7 % 6 + 1));
  for (int i = 0; i < 3; ++i) bed.routing->commit();
  ASSERT_NE(view(), nullptr);
  bed.add(in_table(linux_route("10.1.0.0/16", {hop(11, "10.0.0.3")}), kTable));
  bed.add(route(5, 24, 6), true);
  bed.remove(route(9, 24, 9 % 6 + 1));
  bed.add(in_table(linux_route("10.0.20.128/25", {hop(11, "10.0.0.4")}), kTable));
  bed.link(0, false);  // every next hop
  for (const bool up : {false, true}) {
    bed.link(0, up);
    bed.routing->commit();
    for (const char* address :
         {"10.0.7.1", "10.0.5.1", "10.0.9.1", "10.0.20.1", "10.0.20.200", "10.0.8.1"}) {
      const auto [direct, compact] = groups(address);
      EXPECT_EQ(direct, compact) << address;
    }
  }
  EXPECT_NE(groups("10.0.20.1").first, groups("10.0.20.200").first);
}

TEST_F(LargeTable, OfIpv6IsOneByItself) {
  bed.neighbor(11, "fe80::1", 1);
  for (unsigned i = 0; i < 300; ++i)
    bed.add(in_table(linux_route(fmt::format("2001:db8:{:x}::/48", i), {hop(11, "fe80::1")}, 1024),
                     kTable));
  for (int i = 0; i < 4; ++i) bed.routing->commit();
  EXPECT_EQ(view(), nullptr);
  const TableView shown = bed.routing->tables()[1];
  EXPECT_TRUE(shown.large6 && !shown.large4);
  const lookup::Fib6View* const own =
      bed.routing->large_views(0)->ipv6.find(bed.routing->fib_table(kTable).value());
  ASSERT_NE(own, nullptr);
  for (const char* address : {"2001:db8:7::1", "2001:db8:12c::1", "fe00::1"}) {
    const lookup::Ipv6Address destination = ip(address).v6();
    GroupId group;
    lookup_batch(*own, &destination, &group, 1);
    EXPECT_EQ(group, bed.group(ip(address), kTable)) << address;
  }
}

TEST_F(LargeTable, WithoutMemoryItStaysAmongTheSmallOnesAndThatIsSaidOnce) {
  bed.large_bytes = 0;
  fill(300);
  for (int i = 0; i < 4; ++i) bed.routing->commit();
  EXPECT_EQ(view(), nullptr);
  EXPECT_EQ(std::count_if(bed.log.begin(), bed.log.end(),
                          [](const std::string& line) {
                            return line.find("stays with the small ones") != std::string::npos;
                          }),
            1);
}

TEST_F(LargeTable, ThatDoesNotFitAnyMoreIsAmongTheSmallOnesAgain) {
  fill(300);
  for (int i = 0; i < 3; ++i) bed.routing->commit();
  ASSERT_NE(view(), nullptr);
  for (unsigned i = 0; i < 200; ++i)  // each takes a node of its own, and there are 64
    bed.add(in_table(linux_route(fmt::format("10.0.{}.128/25", i), {hop(11, "10.0.0.4")}), kTable));
  bed.routing->commit();
  EXPECT_EQ(view(), nullptr);
  EXPECT_EQ(bed.verdict("10.0.150.200", kTable), "if0 04");
  for (int i = 0; i < 3; ++i) bed.routing->commit();
  EXPECT_EQ(view(), nullptr) << "it is not tried again and again";
}

InterfaceState in_vrf(InterfaceId id, const Vrf& vrf) {
  InterfaceState state = Bed::state(id, "192.0.2.254/24");
  state.ifindex = 0;
  state.vrf = vrf;
  return state;
}

// Without Linux, which would tell of their routes.
TEST(Vrfs, HaveTheRoutesOfTheirInterfaces) {
  Bed bed;
  ASSERT_TRUE(bed.routing->add_interface(in_vrf(0, {"red", 100})));
  ASSERT_TRUE(bed.routing->add_interface(in_vrf(1, {"blue", 200})));
  ASSERT_TRUE(bed.routing->add_neighbor(1, ip("192.0.2.9"), mac(0x52)));
  EXPECT_EQ(bed.verdict("192.0.2.254", 100), "punt local");
  EXPECT_EQ(bed.verdict("192.0.2.255", 200), "punt broadcast");
  EXPECT_EQ(bed.verdict("192.0.2.9", 100), "punt glean");
  EXPECT_EQ(bed.verdict("192.0.2.9", 200), "if1 52");
  EXPECT_EQ(bed.verdict("192.0.2.254"), "punt no_route") << "main has none of it";
  // Out of its VRF, into the other one, and away.
  ASSERT_TRUE(bed.routing->update_interface(in_vrf(1, {})));
  EXPECT_EQ(bed.verdict("192.0.2.9"), "if1 52");
  EXPECT_EQ(bed.verdict("192.0.2.254", 200), "punt no_route");
  ASSERT_TRUE(bed.routing->update_interface(in_vrf(1, {"green", 300})));
  EXPECT_EQ(bed.verdict("192.0.2.9", 300), "if1 52");
  EXPECT_EQ(bed.verdict("192.0.2.9"), "punt no_route");
  ASSERT_TRUE(bed.routing->remove_interface(1));
  ASSERT_TRUE(bed.routing->remove_interface(0));
  EXPECT_EQ(bed.verdict("192.0.2.254", 100), "punt no_route");
}

TEST(Vrfs, AreRefusedWithoutRoomForTheirTable) {
  Bed bed;
  for (uint32_t table = 1; table <= Bed::kFurtherTables; ++table)
    ASSERT_TRUE(bed.routing->fib_table(table));
  const auto refused = bed.routing->add_interface(in_vrf(0, {"red", 100}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "interface if0: there is no room for table 100 of VRF red; a restart of hectod forgets "
            "those that are in use no more");
  EXPECT_TRUE(bed.routing->interfaces().all().empty());
  EXPECT_TRUE(bed.routing->add_interface(in_vrf(0, {"red", 3})));
}

TEST(Vrfs, AGatewayIsOnAnInterfaceOfItsTable) {
  Bed bed;
  ASSERT_TRUE(bed.routing->add_interface(in_vrf(0, {"red", 100})));
  ASSERT_TRUE(bed.routing->add_interface(in_vrf(1, {})));
  const Interfaces& interfaces = bed.routing->interfaces();
  EXPECT_EQ(interfaces.covering(ip("192.0.2.9"), 100), 0);
  EXPECT_EQ(interfaces.covering(ip("192.0.2.9")), 1);
  EXPECT_EQ(interfaces.covering(ip("192.0.2.9"), kTableMain), 1);
  EXPECT_EQ(interfaces.covering(ip("192.0.2.9"), 300), 1) << "no VRF has that table";
  ASSERT_TRUE(bed.routing->remove_interface(1));
  EXPECT_EQ(interfaces.covering(ip("192.0.2.9")), kNoInterface);
}

}  // namespace
}  // namespace hecto::router::test
