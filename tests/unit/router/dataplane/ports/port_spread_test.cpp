// Receive queues that go over several workers: who takes which share, from when, and what becomes of what
// waits in their rings.
#include "router/dataplane/port_spread.hpp"

#include <gtest/gtest.h>

#include "router/dataplane/stages/transmit.hpp"
#include "tests/unit/router/dataplane/ports/nic_box.hpp"

namespace hecto::router::test {
namespace {

using config::SpreadMode;

constexpr auto kCpuOf = [](unsigned worker) { return 10 + worker; };

class SpreadPort : public testing::Test {
 protected:
  Port& add(SpreadMode mode, const std::vector<unsigned>& heads) {
    box_.place("p0", heads);
    return box_.add(nic_, "p0", 1500, true, mode);
  }
  const WorkerView& worker(unsigned id) { return box_.dataplane().snapshot().workers[id]; }
  // Into the ring, as its head does.
  void hand_over(rte_ring* ring, unsigned packets) {
    for (unsigned i = 0; i < packets; ++i)
      ASSERT_EQ(rte_ring_sp_enqueue(ring, rte_pktmbuf_alloc(box_.dataplane().pool_of("p0")->get())),
                0);
  }

  ScriptedEthdev nic_{"spread", i40e()};
  Box box_{3};
};

TEST_F(SpreadPort, NeverIsAsEver) {
  add(SpreadMode::kNever, {1});
  EXPECT_EQ(worker(1).queues[0].spread, nullptr);
  for (unsigned id = 0; id < 3; ++id) EXPECT_TRUE(worker(id).spreads.empty());
  EXPECT_EQ(box_.dataplane().spread_of("p0").describe(0, kCpuOf), "");
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, {}));
}

TEST_F(SpreadPort, AlwaysGoesOverAllFromTheFirstPacketOn) {
  const Port& port = add(SpreadMode::kAlways, {1});
  const SpreadTable* const table = worker(1).queues[0].spread;
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->lane_count, 2u);
  EXPECT_TRUE(worker(1).spreads.empty());
  for (const auto& [id, lane] : {std::pair(2u, 0u), {0u, 1u}}) {
    ASSERT_EQ(worker(id).spreads.size(), 1u);
    EXPECT_EQ(worker(id).spreads[0].ring, table->lanes[lane].ring);
    EXPECT_EQ(worker(id).spreads[0].port, port.id());
    EXPECT_EQ(worker(id).spreads[0].queue, 0u);
  }
  EXPECT_EQ(box_.dataplane().spread_of("p0").describe(0, kCpuOf),
            "is spread by flow, 34 % here, the rest to core 12, 10 (spread: always)");
}

// Each pair of workers has a ring of its own.
TEST_F(SpreadPort, EachQueueHasItsOwnRings) {
  add(SpreadMode::kAlways, {0, 1});
  std::set<const rte_ring*> rings;
  for (unsigned id = 0; id < 3; ++id)
    for (const SpreadQueue& queue : worker(id).spreads) rings.insert(queue.ring);
  EXPECT_EQ(rings.size(), 4u);
  EXPECT_EQ(worker(2).spreads.size(), 2u);
}

TEST_F(SpreadPort, AutoWaitsUntilItIsTold) {
  add(SpreadMode::kAuto, {1});
  const Dataplane& dataplane = box_.dataplane();
  EXPECT_EQ(worker(1).queues[0].spread, nullptr);
  EXPECT_EQ(dataplane.spread_of("p0").describe(0, kCpuOf),
            "is spread once its worker is at its limit (spread: auto)");
  EXPECT_TRUE(box_.dataplane().spread("p0", 0, {}));
  ASSERT_NE(worker(1).queues[0].spread, nullptr);
  EXPECT_EQ(worker(0).spreads.size(), 1u);
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, {})) << "once";
  EXPECT_FALSE(box_.dataplane().spread("p0", 1, {})) << "no such queue";
  EXPECT_FALSE(box_.dataplane().spread("p9", 0, {})) << "no such port";
}

TEST_F(SpreadPort, AutoLeavesAPortWithAQueueForEachWorkerAlone) {
  add(SpreadMode::kAuto, {0, 1, 2});
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, {}));
  EXPECT_EQ(box_.dataplane().spread_of("p0").describe(2, kCpuOf),
            "is not spread (spread: auto): there is a queue for each worker of its socket");
}

// With the first of the two snapshots the head fills rings that nobody drains yet.
TEST(PortSpread, BeginsWithRingsThatNobodyDrains) {
  pool();  // DPDK
  auto spread = PortSpread::create("p0", 7, SpreadMode::kAuto, {0}, {0, 0});
  ASSERT_TRUE(spread);
  const auto no_wakeup = [](unsigned) -> Wakeup* { return nullptr; };
  EXPECT_EQ(spread->views(no_wakeup)[0].table.lane_count, 0u);
  spread->begin(0, {});
  EXPECT_EQ(spread->views(no_wakeup)[0].table.lane_count, 1u);
  EXPECT_TRUE(spread->views(no_wakeup)[0].readers.empty());
  spread->drain(0);
  ASSERT_EQ(spread->views(no_wakeup)[0].readers.size(), 1u);
  EXPECT_EQ(spread->views(no_wakeup)[0].readers[0].second, 1u);
}

TEST(PortSpread, StaysWithinTheSocketOfTheHead) {
  pool();  // DPDK
  auto spread = PortSpread::create("p0", 8, SpreadMode::kAlways, {2}, {0, 1, 0, 1, 0});
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->takers(), (std::vector<unsigned>{4, 0}));
  spread = PortSpread::create("p0", 9, SpreadMode::kAlways, {0}, {0, 1, 1});
  ASSERT_TRUE(spread);
  EXPECT_TRUE(spread->takers().empty());
  EXPECT_EQ(spread->describe(0, kCpuOf),
            "is not spread (spread: always): no other worker is on its socket");
}

TEST(PortSpread, HasNoMoreWorkersThanLanes) {
  pool();  // DPDK
  auto spread = PortSpread::create("p0", 10, SpreadMode::kAlways, {30}, std::vector<int>(40, 0));
  ASSERT_TRUE(spread);
  const auto takers = spread->takers();
  ASSERT_EQ(takers.size(), kSpreadLanes);
  EXPECT_EQ(takers.front(), 31u);
  EXPECT_EQ(takers.back(), 5u);
}

// They are in flight, and of a port that goes they are lost by name.
TEST_F(SpreadPort, WhatWaitsInItsRingsIsCounted) {
  add(SpreadMode::kAlways, {1});
  hand_over(worker(0).spreads[0].ring, 5);
  hand_over(worker(2).spreads[0].ring, 2);
  EXPECT_EQ(box_.dataplane().in_flight(), 7u);
  box_.dataplane().remove_port("p0");
  EXPECT_EQ(box_.dataplane().in_flight(), 0u);
  EXPECT_EQ(box_.dataplane().lost_with_ports(), 7u);
  EXPECT_TRUE(worker(0).spreads.empty());
}

// A worker that takes packets of another pool does not send by a queue whose driver was promised plain
// ones of its own.
TEST_F(SpreadPort, WhoTakesItsPacketsHoldsItsPool) {
  ScriptedEthdev other("other", i40e());
  box_.place("p0", {0});
  box_.place("p1", {1}, kJumboRoom);
  box_.add(nic_, "p0", 1500, true, SpreadMode::kAlways);
  const Port& second = box_.add(other, "p1");
  for (unsigned id = 0; id < 3; ++id)
    EXPECT_FALSE(second.promised_plain(box_.path(id, second).queue)) << id;
}

}  // namespace
}  // namespace hecto::router::test
