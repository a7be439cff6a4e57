// Those who write routes, each by itself: what it makes of what it is told, and what it leaves to
// the others.
#include "router/rib/linux_routes.hpp"
#include "router/rib/loaded_routes.hpp"
#include "router/rib/local_routes.hpp"
#include "tests/unit/router/rib/store_bed.hpp"

namespace hecto::router::test {
namespace {

using Outcome = StaticRoutes::Outcome;

InterfaceState without_twin(InterfaceId id, const std::string& address) {
  InterfaceState state = Bed::state(id, address);
  state.ifindex = 0;
  return state;
}

std::shared_ptr<RouteTable> table_of(const std::vector<std::string>& prefixes) {
  auto table = std::make_shared<RouteTable>();
  table->next_hop_sets.push_back({hop(11, "10.0.0.1")});
  for (const std::string& prefix : prefixes) table->entries.push_back({net(prefix), 0});
  return table;
}

TEST(LinuxRoutesTest, ResyncSweepsLinuxsRoutesAlone) {
  StoreBed bed;
  LinuxRoutes linux_routes(*bed.store);
  StaticRoutes static_routes(*bed.store);
  bed.add_interface(0);
  linux_routes.route(linux_route("10.1.0.0/16", {hop(11, "10.0.0.1")}), false, false);
  linux_routes.route(linux_route("10.2.0.0/16", {hop(11, "10.0.0.1")}), false, false);
  ASSERT_TRUE(static_routes.add(api_route("10.3.0.0/16", "10.0.0.1")));
  linux_routes.resync_begin("a test");
  linux_routes.route(linux_route("10.2.0.0/16", {hop(11, "10.0.0.1")}), false, false);
  EXPECT_EQ(bed.prefixes(), "10.1.0.0/16 10.2.0.0/16 10.3.0.0/16");
  linux_routes.resync_end();
  EXPECT_EQ(bed.prefixes(), "10.2.0.0/16 10.3.0.0/16");
  EXPECT_EQ(linux_routes.statistics().swept, 1u);
}

TEST(LinuxRoutesTest, ResyncSweepsObjectsAndNeighbors) {
  StoreBed bed;
  LinuxRoutes linux_routes(*bed.store);
  LocalRoutes local_routes(*bed.store);
  bed.add_interface(0);
  NextHopObject object;
  object.id = 7;
  object.next_hop = hop(11, "10.0.0.1");
  linux_routes.nexthop_object(object, false);
  linux_routes.neighbor({11, ip("10.0.0.1"), mac(1), 2, true}, false);
  ASSERT_TRUE(local_routes.add_neighbor(0, ip("10.0.0.2"), mac(2)));
  linux_routes.resync_begin("a test");
  linux_routes.resync_end();
  EXPECT_EQ(bed.store->objects().find(7), nullptr);
  ASSERT_EQ(bed.store->neighbors().size(), 1u);
  EXPECT_TRUE(bed.store->neighbors().all()[0].configured());
}

TEST(LocalRoutesTest, AddressesBecomeConnectedAndLocalRoutes) {
  StoreBed bed;
  LocalRoutes local_routes(*bed.store);
  ASSERT_TRUE(local_routes.add_interface(without_twin(0, "192.0.2.1/24")));
  EXPECT_EQ(bed.prefixes(), "192.0.2.0/24 192.0.2.1/32 192.0.2.255/32");
  ASSERT_TRUE(local_routes.update_interface(without_twin(0, "192.0.2.1/31")));
  EXPECT_EQ(bed.prefixes(), "192.0.2.0/31 192.0.2.1/32");
  ASSERT_TRUE(local_routes.remove_interface(0));
  EXPECT_EQ(bed.prefixes(), "");
  EXPECT_EQ(bed.sets(), 0u);
}

TEST(LocalRoutesTest, TwinsHaveNone) {
  StoreBed bed;
  LocalRoutes local_routes(*bed.store);
  ASSERT_TRUE(local_routes.add_interface(Bed::state(0, "192.0.2.1/24")));
  EXPECT_EQ(bed.prefixes(), "");
}

TEST(LocalRoutesTest, TwoInterfacesOfANetworkKeepTheirRoutesApart) {
  StoreBed bed;
  LocalRoutes local_routes(*bed.store);
  ASSERT_TRUE(local_routes.add_interface(without_twin(0, "192.0.2.1/24")));
  ASSERT_TRUE(local_routes.add_interface(without_twin(1, "192.0.2.2/24")));
  EXPECT_EQ(bed.store->counts().total, 5u);  // two connected, two local, one broadcast
  ASSERT_TRUE(local_routes.remove_interface(0));
  EXPECT_EQ(bed.prefixes(), "192.0.2.0/24 192.0.2.2/32");
}

TEST(StaticRoutesTest, OutcomeSaysWhatBecameOfTheRoute) {
  StoreBed bed;
  StaticRoutes static_routes(*bed.store);
  bed.add_interface(0);
  const lookup::Prefix4 prefix = net("10.1.0.0/16").v4();
  const Route first = api_route("10.1.0.0/16", "10.0.0.1");
  EXPECT_EQ(static_routes.add(bed.store->main(), prefix, bed.candidate(first)), Outcome::kAdded);
  EXPECT_EQ(static_routes.add(bed.store->main(), prefix, bed.candidate(first)),
            Outcome::kUnchanged);
  const Route second = api_route("10.1.0.0/16", "10.0.0.2");
  EXPECT_EQ(static_routes.add(bed.store->main(), prefix, bed.candidate(second)),
            Outcome::kReplaced);
  EXPECT_EQ(bed.sets(), 1u);
  EXPECT_TRUE(
      static_routes.remove(bed.store->main(), prefix, slot_of(RouteOrigin::kApi, kTableMain, 0)));
  EXPECT_FALSE(
      static_routes.remove(bed.store->main(), prefix, slot_of(RouteOrigin::kApi, kTableMain, 0)));
  EXPECT_EQ(bed.sets(), 0u);
}

TEST(StaticRoutesTest, AnIpv6RouteWithoutAMetricHasLinuxs) {
  Bed bed;
  bed.add_interface(0);
  bed.neighbor(11, "2001:db8::1", 1);
  bed.neighbor(11, "2001:db8::2", 2);
  const Route route = api_route("2001:db8:9::/48", "2001:db8::1");
  Route on_link = linux_route("2001:db8::/64", {hop(11)}, 256);
  bed.add(on_link);
  ASSERT_TRUE(bed.routing->add([&] {
    Route with_interface = route;
    with_interface.next_hops[0].ifindex = 11;
    return with_interface;
  }()));
  EXPECT_EQ(bed.verdict("2001:db8:9::1"), "if0 01");
  bed.add(linux_route("2001:db8:9::/48", {hop(11, "2001:db8::2")}, 1023));
  EXPECT_EQ(bed.verdict("2001:db8:9::1"), "if0 02") << "1023 is below 1024";
  ASSERT_TRUE(bed.routing->remove(route)) << "found by the metric that it was added with";
  bed.remove(linux_route("2001:db8:9::/48", {hop(11, "2001:db8::2")}, 1023));
  EXPECT_EQ(bed.verdict("2001:db8:9::1"), "punt no_route");
}

TEST(StaticRoutesTest, OriginsAreRemovedOneAtATime) {
  StoreBed bed;
  StaticRoutes static_routes(*bed.store);
  LocalRoutes local_routes(*bed.store);
  ASSERT_TRUE(local_routes.add_interface(without_twin(0, "192.0.2.1/31")));
  Route of_file = api_route("10.1.0.0/16", "192.0.2.0");
  of_file.origin = RouteOrigin::kFile;
  ASSERT_TRUE(static_routes.add(of_file));
  ASSERT_TRUE(static_routes.add(api_route("10.2.0.0/16", "192.0.2.0")));
  EXPECT_EQ(static_routes.remove_origin(RouteOrigin::kFile), 1u);  // not the interface's own
  EXPECT_EQ(bed.prefixes(), "10.2.0.0/16 192.0.2.0/31 192.0.2.1/32");
  EXPECT_EQ(static_routes.remove_origin(RouteOrigin::kApi), 1u);
}

TEST(LoadedRoutesTest, StepsOfALoadAreCounted) {
  StoreBed bed;
  StaticRoutes static_routes(*bed.store);
  LoadedRoutes loaded_routes(*bed.store, static_routes);
  bed.add_interface(0);
  auto id = loaded_routes.begin(
      check_table(table_of({"10.1.0.0/16", "10.2.0.0/16", "10.1.0.0/16"})).value(), {});
  ASSERT_TRUE(id);
  EXPECT_EQ(loaded_routes.step(*id, 2), 1u);
  EXPECT_EQ(loaded_routes.step(*id, 2), 0u);
  LoadCounts counts = loaded_routes.end(*id);
  EXPECT_EQ(counts.added, 2u);
  EXPECT_EQ(counts.unchanged, 1u);
  EXPECT_EQ(loaded_routes.step(*id, 2), 0u);  // it is over
  EXPECT_EQ(loaded_routes.remove(*id), 2u);
  EXPECT_EQ(bed.sets(), 0u);
}

TEST(LoadedRoutesTest, LoadThatIsBrokenOffLeavesNothing) {
  StoreBed bed;
  StaticRoutes static_routes(*bed.store);
  LoadedRoutes loaded_routes(*bed.store, static_routes);
  bed.add_interface(0);
  auto id = loaded_routes.begin(check_table(table_of({"10.1.0.0/16", "10.2.0.0/16"})).value(), {});
  ASSERT_TRUE(id);
  EXPECT_EQ(loaded_routes.step(*id, 1), 1u);
  EXPECT_EQ(loaded_routes.remove(*id), 1u);
  EXPECT_EQ(bed.prefixes(), "");
  EXPECT_EQ(bed.sets(), 0u);
}

TEST(LoadedRoutesTest, RefusedLoadHoldsNoSet) {
  StoreBed bed;
  StaticRoutes static_routes(*bed.store);
  LoadedRoutes loaded_routes(*bed.store, static_routes);
  auto table = table_of({"10.1.0.0/16", "10.2.0.0/16"});
  NextHop nowhere;
  table->next_hop_sets.push_back({nowhere});
  table->entries[1].next_hop_set = 1;
  EXPECT_FALSE(loaded_routes.begin(check_table(table).value(), {}));
  EXPECT_EQ(bed.sets(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
