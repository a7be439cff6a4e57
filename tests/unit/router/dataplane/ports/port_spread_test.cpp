// Receive queues that go over several workers: who takes which share, from when, and what becomes of what
// waits in their rings.
#include "router/dataplane/port_spread.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "router/dataplane/core/wakeup.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "tests/unit/router/dataplane/ports/nic_box.hpp"

namespace hecto::router::test {
namespace {

using config::SpreadMode;

constexpr auto kCpuOf = [](unsigned worker) { return 10 + worker; };
const SpreadCosts kWorth{100, 1000, {0.9, 0.9, 0.9}};

class SpreadPort : public testing::Test {
 protected:
  explicit SpreadPort(std::chrono::milliseconds longest_settling = std::chrono::hours(1))
      : box_(3, false, longest_settling) {}
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
  Box box_;
};

TEST_F(SpreadPort, NeverIsAsEver) {
  add(SpreadMode::kNever, {1});
  EXPECT_EQ(worker(1).queues[0].spread, nullptr);
  for (unsigned id = 0; id < 3; ++id) EXPECT_TRUE(worker(id).spreads.empty());
  EXPECT_EQ(box_.dataplane().spread_of("p0").describe(0, kCpuOf), "");
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, kWorth));
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
            "is spread once its worker is at its limit and others have time (spread: auto)");
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, {100, 1000, {0, 0, 0}})) << "nobody has";
  EXPECT_EQ(worker(1).queues[0].spread, nullptr);
  EXPECT_TRUE(box_.dataplane().spread("p0", 0, kWorth));
  ASSERT_NE(worker(1).queues[0].spread, nullptr);
  EXPECT_EQ(worker(0).spreads.size(), 1u);
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, kWorth)) << "once";
  EXPECT_FALSE(box_.dataplane().spread("p0", 1, kWorth)) << "no such queue";
  EXPECT_FALSE(box_.dataplane().spread("p9", 0, kWorth)) << "no such port";
}

TEST_F(SpreadPort, AutoGivesNothingToWhoHasNoTime) {
  add(SpreadMode::kAuto, {1});
  ASSERT_TRUE(box_.dataplane().spread("p0", 0, {100, 1000, {0, 0, 0.9}}));
  const SpreadTable& table = *worker(1).queues[0].spread;
  ASSERT_EQ(worker(2).spreads.size(), 1u);
  for (const uint8_t lane : table.lane_of)
    if (lane > 0) {
      EXPECT_EQ(table.lanes[lane - 1].ring, worker(2).spreads[0].ring);
    }
  EXPECT_TRUE(box_.dataplane().spread_of("p0").describe(0, kCpuOf).ends_with(
      "% here, the rest to core 12 (spread: auto)"));
}

// Those of worker 1, where it holds what came before.
class BeginningSpread : public SpreadPort {
 protected:
  explicit BeginningSpread(std::chrono::milliseconds longest = std::chrono::hours(1))
      : SpreadPort(longest) {
    rte_rcu_qsbr_thread_register(qsbr_, 1);
    rte_rcu_qsbr_thread_online(qsbr_, 1);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_st>(log_)));
    add(SpreadMode::kAuto, {1});
  }
  ~BeginningSpread() override {
    spdlog::set_default_logger(logger_);
    rte_rcu_qsbr_thread_offline(qsbr_, 1);
    rte_rcu_qsbr_thread_unregister(qsbr_, 1);
  }
  // Until the first of the two snapshots is there.
  rte_ring* first_snapshot() {
    while (worker(1).queues[0].spread == nullptr) std::this_thread::yield();
    return worker(1).queues[0].spread->lanes[0].ring;
  }
  bool said() const {
    return log_.str().find("p0: queue 0: packets of a flow may") != std::string::npos;
  }

  rte_rcu_qsbr* qsbr_ = box_.tables().qsbr().get();
  std::shared_ptr<spdlog::logger> logger_ = spdlog::default_logger();
  std::ostringstream log_;
};

TEST_F(BeginningSpread, NobodyDrainsBeforeItsWorkerHasPassed) {
  std::thread control([&] { EXPECT_TRUE(box_.dataplane().spread("p0", 0, kWorth)); });
  first_snapshot();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(worker(0).spreads.empty());
  EXPECT_TRUE(worker(2).spreads.empty());
  rte_rcu_qsbr_quiescent(qsbr_, 1);
  control.join();
  EXPECT_EQ(worker(0).spreads.size(), 1u);
  EXPECT_EQ(worker(2).spreads.size(), 1u);
  EXPECT_FALSE(said()) << log_.str();
}

// By a port with one queue, which is another worker's: what lies in the ring to it came before, and
// so did what that worker has just taken out of it.
TEST_F(BeginningSpread, NobodyDrainsBeforeWhatItsWorkerHandedOverHasLeft) {
  EthdevScript script = i40e();
  script.max_tx_queues = 1;
  ScriptedEthdev other("other", script);
  box_.place("p1", {0});
  rte_ring* const handed = box_.path(1, box_.add(other, "p1")).handoff;
  ASSERT_NE(handed, nullptr);
  ASSERT_EQ(rte_ring_enqueue(handed, rte_pktmbuf_alloc(box_.dataplane().pool_of("p1")->get())), 0);
  std::atomic<bool> begun{false};
  std::thread control([&] {
    EXPECT_TRUE(box_.dataplane().spread("p0", 0, kWorth));
    begun = true;
  });
  first_snapshot();
  const auto nobody_drains = [&] { return worker(0).spreads.empty() && worker(2).spreads.empty(); };
  for (unsigned turn = 0; turn < 20; ++turn) {  // its worker passes all the time
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rte_rcu_qsbr_quiescent(qsbr_, 1);
  }
  EXPECT_TRUE(nobody_drains()) << "it lies there";
  void* packet = nullptr;
  ASSERT_EQ(rte_ring_dequeue(handed, &packet), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(nobody_drains()) << "it is under way";
  while (!begun) {
    rte_rcu_qsbr_quiescent(qsbr_, 1);
    std::this_thread::yield();
  }
  control.join();
  EXPECT_FALSE(nobody_drains());
  EXPECT_FALSE(said()) << log_.str();
  rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
}

// Rather out of order than lost; and it is said.
TEST_F(BeginningSpread, ARingThatFillsIsDrainedAtOnce) {
  std::thread control([&] { EXPECT_TRUE(box_.dataplane().spread("p0", 0, kWorth)); });
  rte_ring* const ring = first_snapshot();
  std::vector<void*> packets(config::kSpreadRing / 2);
  ASSERT_EQ(rte_ring_sp_enqueue_bulk(ring, packets.data(), config::kSpreadRing / 2, nullptr),
            config::kSpreadRing / 2);
  control.join();
  EXPECT_EQ(worker(2).spreads.size(), 1u);
  EXPECT_TRUE(said()) << log_.str();
  rte_ring_sc_dequeue_bulk(ring, packets.data(), config::kSpreadRing / 2, nullptr);
}

class LateSpread : public BeginningSpread {
 protected:
  LateSpread() : BeginningSpread(std::chrono::milliseconds(0)) {}
};

TEST_F(LateSpread, IsSaid) {
  EXPECT_TRUE(box_.dataplane().spread("p0", 0, kWorth));
  EXPECT_EQ(worker(2).spreads.size(), 1u);
  EXPECT_TRUE(said()) << log_.str();
}

TEST_F(SpreadPort, AutoLeavesAPortWithAQueueForEachWorkerAlone) {
  add(SpreadMode::kAuto, {0, 1, 2});
  EXPECT_FALSE(box_.dataplane().spread("p0", 0, kWorth));
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
  ASSERT_TRUE(spread->begin(0, kWorth));
  EXPECT_EQ(spread->views(no_wakeup)[0].table.lane_count, 1u);
  EXPECT_TRUE(spread->views(no_wakeup)[0].readers.empty());
  spread->drain(0);
  ASSERT_EQ(spread->views(no_wakeup)[0].readers.size(), 1u);
  EXPECT_EQ(spread->views(no_wakeup)[0].readers[0].second, 1u);
}

TEST(PortSpread, WakesWhoTakes) {
  pool();  // DPDK
  auto spread = PortSpread::create("p0", 11, SpreadMode::kAlways, {0}, {0, 0, 0});
  ASSERT_TRUE(spread);
  std::array<Wakeup, 3> wakeups;
  const auto views = spread->views([&](unsigned worker) { return &wakeups[worker]; });
  EXPECT_EQ(views[0].table.lanes[0].owner, &wakeups[1]);
  EXPECT_EQ(views[0].table.lanes[1].owner, &wakeups[2]);
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
