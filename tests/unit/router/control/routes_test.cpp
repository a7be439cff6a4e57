#include <future>

#include "router/control/route_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kRouteBase = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24, "2001:db8::1/64"]}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]
neighbors:
  - {address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}
  - {address: 10.1.0.9, interface: lan0, mac: "02:00:00:00:00:0a"}
)";

config::RouteConfig via_on(const std::string& prefix, const std::string& gateway,
                           const std::string& interface = "", uint32_t metric = 0) {
  return {net(prefix), RouteType::kUnicast, {{ip(gateway), interface, 1}}, metric};
}

std::shared_ptr<RouteTable> table(const ControlBed& bed, const Said& prefixes) {
  auto routes = std::make_shared<RouteTable>();
  routes->next_hop_sets = {{*bed.routes.next_hop({ip("192.0.2.9"), "", 1})}};
  for (const std::string& prefix : prefixes) routes->entries.push_back({net(prefix), 0});
  return routes;
}

CheckedTable checked(std::shared_ptr<const RouteTable> routes) {
  return check_table(std::move(routes)).value();
}

// As of a file that names no interface.
ReadRouteFile file(std::shared_ptr<RouteTable> routes) {
  for (NextHop& hop : routes->next_hop_sets[0]) hop.interface = kNoInterface;
  return {routes, {}, checked(routes)};
}

TEST(Routes, AGatewayIsFoundByTheAddressesOrByName) {
  const auto bed = ControlBed::started(kRouteBase, true);
  const auto found = bed->routes.next_hop({ip("10.1.0.7"), "", 3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->interface, bed->interface("lan0").id);
  EXPECT_EQ(found->ifindex, 12);
  EXPECT_EQ(found->weight, 3);
  const auto named = bed->routes.next_hop({ip("10.1.0.7"), "wan0", 1});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->ifindex, 11);
}

TEST(Routes, AGatewayThatNobodyReachesIsRefused) {
  const auto bed = ControlBed::started(kRouteBase);
  const auto nowhere = bed->routes.next_hop({ip("172.16.0.1"), "", 1});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().error_number, ENETUNREACH);
  const auto unknown =
      bed->routes.add(via_on("198.51.100.0/24", "10.1.0.9", "lan7"), RouteOrigin::kApi);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "route 198.51.100.0/24: gateway 10.1.0.9: there is no interface lan7");
  EXPECT_EQ(unknown.error().error_number, ENODEV);
}

TEST(Routes, FileAndApiAreApart) {
  const auto bed = ControlBed::started(kRouteBase);
  EXPECT_FALSE(*bed->routes.add(via_on("203.0.113.0/24", "10.1.0.9"), RouteOrigin::kApi));
  EXPECT_EQ(bed->way("203.0.113.5"), "wan0");  // the file's comes first
  ASSERT_TRUE(bed->routes.remove(net("203.0.113.0/24"), 0, RouteOrigin::kFile));
  EXPECT_EQ(bed->way("203.0.113.5"), "lan0");
  EXPECT_FALSE(bed->routes.remove(net("203.0.113.0/24"), 0, RouteOrigin::kFile));
  ASSERT_TRUE(bed->routes.remove(net("203.0.113.0/24"), 0, RouteOrigin::kApi));
  EXPECT_EQ(bed->way("203.0.113.5"), "no_route");
}

TEST(Routes, TheSameRouteIsReplaced) {
  const auto bed = ControlBed::started(kRouteBase);
  EXPECT_FALSE(*bed->routes.add(via_on("198.51.100.0/24", "192.0.2.9"), RouteOrigin::kApi));
  EXPECT_TRUE(*bed->routes.add(via_on("198.51.100.0/24", "10.1.0.9"), RouteOrigin::kApi));
  EXPECT_EQ(bed->way("198.51.100.5"), "lan0");
  EXPECT_FALSE(*bed->routes.add(via_on("198.51.100.0/24", "192.0.2.9", "", 5), RouteOrigin::kApi));
  EXPECT_EQ(bed->way("198.51.100.5"), "lan0");  // the lower metric
}

TEST(Routes, TypesWithoutAGateway) {
  const auto bed = ControlBed::started(kRouteBase);
  for (const auto& [type, reason] : {std::pair(RouteType::kBlackhole, "blackhole"),
                                     std::pair(RouteType::kUnreachable, "unreachable"),
                                     std::pair(RouteType::kProhibit, "prohibit")}) {
    ASSERT_TRUE(bed->routes.add({net("198.51.100.0/24"), type, {}, 0}, RouteOrigin::kApi));
    EXPECT_EQ(bed->way("198.51.100.5"), reason);
  }
}

TEST(Routes, LinuxGetsTheFilesAndNotTheApis) {
  const auto bed = ControlBed::started(kRouteBase, true);
  ASSERT_TRUE(bed->routes.add(via_on("198.51.100.0/24", "10.1.0.9"), RouteOrigin::kApi));
  bed->routes.write_to_linux();
  EXPECT_EQ(bed->said, Said{"route 203.0.113.0/24"});
}

Said tables_of(uint32_t network, uint32_t count) {
  Said prefixes;
  for (uint32_t i = 0; i < count; ++i)
    prefixes.push_back(
        IpPrefix{IpAddress::from(lookup::Ipv4Address{network + (i << 8)}), 24}.to_string());
  return prefixes;
}

size_t turns(ControlBed& bed) {
  size_t count = 0;
  for (; bed.routes.loading() && count < 1000; ++count) bed.routes.continue_loads();
  return count;
}

TEST(Routes, LoadsGoOnOneAfterTheOther) {
  const auto bed = ControlBed::started(kRouteBase);
  Said done;
  const auto tell = [&](const std::string& which) {
    return [&done, which](Result<LoadCounts> counts) {
      done.push_back(fmt::format("{} {}", which, counts ? counts->added : 0));
    };
  };
  bed->routes.load(checked(table(*bed, {"198.51.100.0/25", "198.51.100.128/25"})), {},
                   tell("first"));
  bed->routes.load(checked(table(*bed, {"198.18.0.0/15"})), {}, tell("second"));
  EXPECT_TRUE(done.empty());
  turns(*bed);
  EXPECT_FALSE(bed->routes.loading());
  EXPECT_EQ(done, (Said{"first 2", "second 1"}));
  EXPECT_EQ(bed->way("198.51.100.200"), "wan0");
}

TEST(Routes, ALargeLoadTakesSeveralTurns) {
  const auto bed = ControlBed::started(kRouteBase);
  auto routes = table(*bed, {});
  for (uint32_t i = 0; i < 20000; ++i)
    routes->entries.push_back(
        {{IpAddress::from(lookup::Ipv4Address{(100u << 24) + (i << 8)}), 24}, 0});
  size_t added = 0;
  bed->routes.load(checked(routes), {}, [&](Result<LoadCounts> counts) { added = counts->added; });
  bed->routes.continue_loads();
  EXPECT_TRUE(bed->routes.loading());
  EXPECT_EQ(added, 0u);
  turns(*bed);
  EXPECT_EQ(added, 20000u);
}

size_t loaded(const ControlBed& bed) {
  return bed.routing.counts().by_origin[static_cast<size_t>(RouteOrigin::kApi)];
}

// A look at the clock behind each small step: a slow box does less in a turn, a quick one more.
TEST(Routes, ATurnOfLoadingEndsWhenItsTimeIsSpent) {
  const auto bed = ControlBed::started(kRouteBase);
  const auto routes = table(*bed, tables_of(100u << 24, 20000));
  bed->look_takes = RouteControl::kShare;
  bed->routes.load(checked(routes), {}, [](const Result<LoadCounts>&) {});
  bed->routes.continue_loads();
  const size_t step = loaded(*bed);
  EXPECT_GT(step, 0u);
  EXPECT_LE(step, 512u);
  bed->look_takes = RouteControl::kShare / 4;
  bed->routes.continue_loads();
  EXPECT_EQ(loaded(*bed), 5 * step);
  bed->look_takes = {};
  bed->routes.continue_loads();
  EXPECT_EQ(loaded(*bed), 20000u);
  EXPECT_FALSE(bed->routes.loading());
}

TEST(Routes, SoDoesATurnOfSweeping) {
  const auto bed = ControlBed::started(kRouteBase);
  bed->look_takes = {};
  bed->routes.load(checked(table(*bed, tables_of(100u << 24, 20000))), {},
                   [](const Result<LoadCounts>&) {});
  bed->routes.continue_loads();
  ASSERT_EQ(loaded(*bed), 20000u);
  bed->routes.remove_all(RouteOrigin::kApi, [](const Result<size_t>&) {});
  bed->look_takes = RouteControl::kShare;
  bed->routes.continue_loads();
  EXPECT_LT(loaded(*bed), 20000u);
  EXPECT_GE(loaded(*bed), 20000u - 512u);
}

TEST(Routes, WhatTakesLongIsRemovedInSeveralTurns) {
  const auto bed = ControlBed::started(kRouteBase);
  const auto routes = table(*bed, tables_of(100u << 24, 30000));
  bed->routes.load(checked(routes), {}, [](const Result<LoadCounts>&) {});
  turns(*bed);
  size_t listed = 0, removed = 0;
  auto some = std::make_shared<RouteTable>(*routes);
  some->entries.resize(20000);
  bed->routes.remove_listed(some, RouteOrigin::kApi, [&](Result<size_t> n) { listed = *n; });
  EXPECT_GT(turns(*bed), 1u);
  EXPECT_EQ(listed, 20000u);
  bed->routes.remove_all(RouteOrigin::kApi, [&](Result<size_t> n) { removed = *n; });
  EXPECT_GT(turns(*bed), 1u);
  EXPECT_EQ(removed, 10000u);
}

TEST(Routes, AFileIsLoadedInStepsAndTheOneThatWentLeavesBehindIt) {
  const auto bed = ControlBed::started(kRouteBase);
  ReadRouteFile old_file = file(table(*bed, tables_of(100u << 24, 20000)));
  ASSERT_TRUE(bed->routes.load_file("old", old_file));
  bed->routes.unload_file("old");
  ReadRouteFile new_file = file(table(*bed, tables_of(100u << 24, 10000)));
  ASSERT_TRUE(bed->routes.begin_file("new", new_file));
  bool done = false;
  bed->routes.when_done([&](const Result<void>&) { done = true; });
  size_t count = 0;
  for (; bed->routes.loading() && count < 1000; ++count) {
    bed->routes.continue_loads();
    EXPECT_EQ(bed->way("100.0.0.1"), "wan0") << "both files have it: it is never missing";
  }
  EXPECT_TRUE(done);
  EXPECT_GT(count, 3u);
  EXPECT_EQ(bed->way("100.78.31.1"), "no_route");  // the old one's alone
}

// One that goes before it is loaded leaves nothing, and no one waits for it.
TEST(Routes, AFileCanGoWhileItIsLoaded) {
  const auto bed = ControlBed::started(kRouteBase);
  ReadRouteFile long_file = file(table(*bed, tables_of(100u << 24, 20000)));
  ASSERT_TRUE(bed->routes.begin_file("long", long_file));
  bed->routes.continue_loads();
  EXPECT_EQ(bed->way("100.0.0.1"), "wan0");
  bed->routes.unload_file("long");
  turns(*bed);
  EXPECT_EQ(bed->way("100.0.0.1"), "no_route");
}

// A table of /25s, each with a block of the small FIB of its own.
std::shared_ptr<RouteTable> too_many(const ControlBed& bed) {
  auto routes = table(bed, {});
  for (uint32_t i = 0; i < 300'000; ++i)
    routes->entries.push_back(
        {{IpAddress::from(lookup::Ipv4Address{(100u << 24) + (i << 8)}), 25}, 0});
  return routes;
}

TEST(Routes, ATableThatDoesNotFitIsRefusedAsAWhole) {
  const auto bed = ControlBed::started(kRouteBase);
  Result<LoadCounts> outcome;
  bed->routes.load(check_table(too_many(*bed)).value(), {},
                   [&](Result<LoadCounts> counts) { outcome = counts; });
  turns(*bed);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find(" of 300000 routes did not fit: "), std::string::npos);
  EXPECT_TRUE(outcome.error().message.ends_with("; nothing was changed"));
  EXPECT_EQ(bed->routing.counts().by_origin[static_cast<size_t>(RouteOrigin::kApi)], 0u);
  EXPECT_EQ(bed->way("100.0.0.1"), "no_route");
}

TEST(Routes, OneThatTookThePlaceOfRoutesStaysAndIsTold) {
  const auto bed = ControlBed::started(kRouteBase);
  ASSERT_TRUE(bed->routes.add(via_on("100.0.0.0/25", "10.1.0.9"), RouteOrigin::kApi));
  ASSERT_TRUE(bed->routes.add(via_on("198.18.0.0/15", "10.1.0.9"), RouteOrigin::kApi));
  LoadOptions replace;
  replace.replace = true;
  Result<LoadCounts> outcome;
  bed->routes.load(check_table(too_many(*bed)).value(), replace,
                   [&](Result<LoadCounts> counts) { outcome = counts; });
  turns(*bed);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().message.ends_with("; the others are in, and none was removed"));
  EXPECT_TRUE(bed->noted("of 300000 routes did not fit"));
  EXPECT_EQ(bed->way("100.0.0.1"), "wan0");
  EXPECT_EQ(bed->way("198.18.0.1"), "lan0") << "not replaced by what did not fit";
}

TEST(Routes, WhoWaitsForALoadIsToldWhenItIsDropped) {
  const auto bed = ControlBed::started(kRouteBase);
  auto promise = std::make_shared<std::promise<void>>();
  auto future = promise->get_future();
  bed->routes.load(checked(table(*bed, {"198.18.0.0/15"})), {},
                   [promise](Result<LoadCounts>) { promise->set_value(); });
  promise.reset();
  bed->routes.drop_loads();
  EXPECT_THROW(future.get(), std::future_error);
}

}  // namespace
}  // namespace hecto::router::test
