// Too few groups, too small tables: refused with words, counted, told once, and made good later.
#include <thread>

#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

namespace {

// Fills all groups with single next hops 10.0.(i / 250).(i % 250 + 1) and returns how many.
int fill_groups(Bed& bed) {
  for (int i = 0;; ++i) {
    Route route =
        api_route(fmt::format("20.0.{}.0/24", i), fmt::format("10.0.{}.{}", i / 250, i % 250 + 1));
    if (!bed.routing->add(route)) return i;
  }
}

}  // namespace

TEST(Exhaustion, RefusesApiRoutesWhenGroupsRunOut) {
  Bed bed(16);
  bed.add_interface(0, "10.0.255.254/16");
  int filled = fill_groups(bed);
  EXPECT_GT(filled, 8);
  auto added = bed.routing->add(api_route("30.0.0.0/24", "10.0.100.1"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message,
            "route 30.0.0.0/24: all 16 next-hop groups are in use; raise tables.groups");
  EXPECT_EQ(bed.routing->counts().total, static_cast<uint64_t>(filled));
  EXPECT_TRUE(bed.routing->add(api_route("30.0.0.0/24", "10.0.0.1"))) << "a group that is there";
}

TEST(Exhaustion, LinuxForwardsWhatFindsNoGroupUntilOneIsFree) {
  Bed bed(16);
  bed.add_interface(0, "10.0.255.254/16");
  bed.neighbor(11, "10.0.100.1", 7);
  fill_groups(bed);
  bed.log.clear();
  bed.add(linux_route("30.0.0.0/24", {hop(11, "10.0.100.1")}));
  bed.add(linux_route("30.0.1.0/24", {hop(11, "10.0.100.1"), hop(11, "10.0.100.2")}));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("30.0.0.1"), "punt local");
  EXPECT_EQ(bed.verdict("30.0.1.1"), "punt local");
  EXPECT_EQ(bed.routing->statistics().prefixes_incomplete, 2u);
  ASSERT_EQ(bed.log.size(), 1u);
  EXPECT_NE(bed.log[0].find("raise tables.groups above 16"), std::string::npos) << bed.log[0];
  EXPECT_FALSE(bed.routing->routes(net("30.0.0.0/23"), 1).routes[0].installed);

  bed.routing->remove_origin(RouteOrigin::kApi);
  bed.routing->commit();
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("30.0.0.1"), "if0 07");
  EXPECT_EQ(bed.verdict("30.0.1.1"), "{if0 07 | punt glean}");
  EXPECT_EQ(bed.routing->statistics().prefixes_incomplete, 0u);
  EXPECT_EQ(bed.log.back(), "routes: all fit again");
}

TEST(Exhaustion, NeighborsFallBackToTheConnectedRoute) {
  Bed bed(16);
  bed.add_interface(0);
  bed.add(linux_route("10.0.0.0/16", {hop(11)}));
  for (int i = 1; i <= 40; ++i) bed.neighbor(11, fmt::format("10.0.0.{}", i), 7);
  EXPECT_EQ(bed.verdict("10.0.0.1"), "if0 07");
  EXPECT_EQ(bed.verdict("10.0.0.40"), "punt glean");
  for (int i = 1; i <= 39; ++i) {
    bed.routing->neighbor({11, ip(fmt::format("10.0.0.{}", i)), mac(7), 0, false}, true);
  }
  bed.routing->commit();
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("10.0.0.40"), "if0 07");
}

TEST(Exhaustion, RecordsThatReadersHoldDelayChangesButLoseNone) {
  LateReaders readers;
  Bed bed(16, 0, readers);
  bed.add_interface(0);
  bed.add_interface(1);
  bed.neighbor(11, "10.0.0.1", 1);
  bed.add(linux_route("20.0.0.0/16", {hop(11, "10.0.0.1")}));
  bed.add(linux_route("30.0.0.0/16", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1")}));
  readers.holding = true;
  for (int i = 0; i < 200; ++i) {
    bed.neighbor(11, "10.0.0.1", static_cast<uint8_t>(i));
    bed.link(1, i % 2 == 0);
    bed.routing->commit();
  }
  EXPECT_NE(bed.verdict("20.0.0.1"), "if0 c7");
  readers.holding = false;
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("20.0.0.1"), "if0 c7");
  EXPECT_EQ(bed.verdict("30.0.0.1"), "{if0 c7}");
  bed.remove(linux_route("30.0.0.0/16", {hop(11, "10.0.0.1"), hop(12, "10.0.1.1")}));
  bed.remove(linux_route("20.0.0.0/16", {hop(11, "10.0.0.1")}));
  EXPECT_EQ(bed.routing->statistics().sets, 0u);
}

TEST(Exhaustion, NodesThatReadersHoldAreUsedWhenTheyLetGo) {
  LateReaders readers;
  Bed bed(64, 2, readers);
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 7);
  auto route = [](int i) {
    return linux_route(fmt::format("20.0.{}.128/25", i), {hop(11, "10.0.0.1")});
  };
  for (int i = 0; i < 20; ++i) bed.add(route(i));
  bed.routing->commit();
  readers.holding = true;
  for (int i = 0; i < 19; ++i) bed.remove(route(i));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("20.0.19.200"), "punt no_route");
  readers.holding = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("20.0.19.200"), "if0 07");
}

TEST(Exhaustion, FullTableRefusesAndLeavesTheRestAlone) {
  Bed bed(512, 2);
  bed.add_interface(0, "10.0.255.254/16");
  bed.neighbor(11, "10.0.0.1", 7);
  std::string refusal;
  int added = 0;
  for (int i = 0; i < 100 && refusal.empty(); ++i) {
    auto outcome = bed.routing->add(api_route(fmt::format("20.0.{}.128/25", i), "10.0.0.1"));
    if (!outcome) refusal = outcome.error().message;
    added += outcome.has_value();
  }
  EXPECT_GT(added, 0);
  EXPECT_EQ(refusal, fmt::format("route 20.0.{}.128/25: the forwarding table is full; set "
                                 "tables.ipv4_engine: compact",
                                 added));
  EXPECT_EQ(bed.routing->counts().total, static_cast<uint64_t>(added));
  for (int i = 0; i < added; ++i) EXPECT_EQ(bed.verdict(fmt::format("20.0.{}.200", i)), "if0 07");
  EXPECT_EQ(bed.routing->statistics().prefixes_incomplete, 0u);
}

TEST(Exhaustion, LinuxsRoutesEnterTheTableWhenThereIsRoom) {
  Bed bed(512, 2);
  bed.add_interface(0);
  bed.neighbor(11, "10.0.0.1", 7);
  auto route = [](int i) {
    return linux_route(fmt::format("20.0.{}.128/25", i), {hop(11, "10.0.0.1")});
  };
  constexpr int kRoutes = 20;
  for (int i = 0; i < kRoutes; ++i) bed.add(route(i));
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("20.0.19.200"), "punt no_route");
  EXPECT_GT(bed.routing->statistics().prefixes_incomplete, 0u);
  Explanation explanation = bed.routing->explain(ip("20.0.19.200"));
  EXPECT_FALSE(explanation.match);
  ASSERT_EQ(explanation.candidates.size(), 1u);
  EXPECT_EQ(explanation.candidates[0].why, "the forwarding table was full");
  for (int i = 0; i < kRoutes - 1; ++i) bed.remove(route(i));
  bed.routing->commit();
  bed.routing->commit();
  EXPECT_EQ(bed.verdict("20.0.19.200"), "if0 07");
  EXPECT_EQ(bed.routing->statistics().prefixes_incomplete, 0u);
}

TEST(Exhaustion, WhatChangesRetiredComesBackWithoutAnotherChange) {
  LateReaders readers;
  Bed bed(64, 0, readers);
  RoutingOptions options;
  options.max_groups = 64;
  options.readers = &readers;
  bed.routing = std::make_unique<Routing>(*bed.fib4, *bed.fib6, *bed.next_hops, options);
  bed.add_interface(0);
  bed.routing->commit();
  const uint64_t before = bed.fib4->statistics().used_bytes;
  readers.holding = true;
  bed.add(linux_route("20.0.0.128/25", {hop(11, "10.0.0.1")}));
  bed.remove(linux_route("20.0.0.128/25", {hop(11, "10.0.0.1")}));
  for (int i = 0; i < 3; ++i) bed.routing->commit();
  EXPECT_GT(bed.fib4->statistics().used_bytes, before);
  readers.holding = false;
  bed.routing->commit();
  EXPECT_EQ(bed.fib4->statistics().used_bytes, before);
  const uint64_t generation = bed.fib4->statistics().generation;
  bed.routing->commit();
  EXPECT_EQ(bed.fib4->statistics().generation, generation);
}

}  // namespace hecto::router::test
