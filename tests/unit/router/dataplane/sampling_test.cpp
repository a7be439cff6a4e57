// What is counted of time and packets: cycles by stage, the CPU's time of threads, the balance.
#include <gtest/gtest.h>

#include <thread>

#include "router/dataplane/balance.hpp"
#include "router/dataplane/core/stage_timer.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "router/dataplane/starvation.hpp"
#include "router/dataplane/stuck_workers.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

TEST(StageTimer, EveryQueueOfAWorkerGetsItsShare) {
  for (const unsigned queues : {1u, 2u, 3u, 4u, 16u, 64u, 128u}) {
    CycleCounters cycles;
    StageTimer timer(cycles);
    std::vector<unsigned> timed(queues);
    constexpr unsigned kRounds = 64'000;
    for (unsigned round = 0; round < kRounds; ++round)
      for (unsigned& each : timed) each += timer.due();
    const double share = kRounds / 64.0;
    for (unsigned queue = 0; queue < queues; ++queue)
      EXPECT_NEAR(timed[queue], share, share * 0.2) << "queue " << queue << " of " << queues;
  }
}

// A full buffer is sent in the middle of rewrite: that is the driver's time all the same.
TEST(StageTimer, TheDriversTimeIsTransmits) {
  pool();  // DPDK
  const std::unique_ptr<rte_ring, void (*)(rte_ring*)> ring(
      rte_ring_create("timed", 1024, SOCKET_ID_ANY, 0), rte_ring_free);
  std::array<TransmitPath, kMaxPorts> paths{};
  paths[0] = {0, false, false, ring.get()};
  std::array<PortCounters, kMaxPorts> ports;
  ReasonCounters reasons;
  CycleCounters cycles;
  StageTimer timer(cycles);
  Transmitter transmitter(ports, reasons);
  transmitter.use(&paths);
  transmitter.time(&timer);
  const auto of = [&](TimedStage stage) {
    return cycles.stage_cycles[static_cast<unsigned>(stage)].get();
  };
  for (unsigned i = 0; i < kTransmitBurst; ++i) transmitter.enqueue(0, packet(ipv4_frame()));
  EXPECT_EQ(of(TimedStage::kTransmit), 0u) << "not of a poll that is timed";
  timer.start();
  for (unsigned i = 0; i < kTransmitBurst; ++i) transmitter.enqueue(0, packet(ipv4_frame()));
  EXPECT_GT(of(TimedStage::kTransmit), 0u);
  EXPECT_GT(of(TimedStage::kRewrite), 0u);
  timer.stop();
  void* sent = nullptr;
  while (rte_ring_dequeue(ring.get(), &sent) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(sent));
}

TEST(ThreadTime, IsReadAsTheKernelWritesIt) {
  const auto time = parse_schedstat("725731543 208014 1310\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->ran_ns, 725731543u);
  EXPECT_EQ(time->waited_ns, 208014u);
  for (const char* wrong : {"", "12", "12 ", "x 1 2", "1,2"}) EXPECT_FALSE(parse_schedstat(wrong));
}

TEST(ThreadTime, OfThisThreadGrows) {
  const auto before = time_of_thread(rte_gettid());
  ASSERT_TRUE(before) << "a kernel without CONFIG_SCHED_INFO";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto now = before;
  while (now->ran_ns < before->ran_ns + 2'000'000 && std::chrono::steady_clock::now() < until)
    now = time_of_thread(rte_gettid());
  EXPECT_GE(now->ran_ns, before->ran_ns + 2'000'000);
  EXPECT_FALSE(time_of_thread(0x7ffffffe));
}

// Its number comes three times; what each met is told once, and nothing is lost.
TEST(Sampler, WhatAnInterfaceMetIsNobodysOnceItsNumberIsAnothers) {
  constexpr auto kWhy = static_cast<size_t>(Reason::kNoRoute);
  const InterfaceId reused = 3, other = 4;
  Totals totals;
  totals.interfaces.resize(kMaxInterfaces);
  Sampler sampler([&] { return totals; });
  InterfaceShares* const counted[] = {&totals.dropped_at[kWhy], &totals.punted_at[kWhy],
                                      &totals.punt_classes[1].dropped_at};
  const auto count = [&](uint64_t packets) {
    for (InterfaceShares* shares : counted) (*shares)[reused] += packets;
  };
  const auto expect = [](const Totals& told, const InterfaceShares& shares) {
    EXPECT_EQ(told.dropped_at[kWhy], shares);
    EXPECT_EQ(told.punted_at[kWhy], shares);
    EXPECT_EQ(told.punt_classes[1].dropped_at, shares);
  };
  for (InterfaceShares* shares : counted) *shares = {{reused, 5}, {other, 7}, {kNoInterface, 1}};
  sampler.sample();
  count(1);
  sampler.reset_interface(reused);
  expect(sampler.now(), {{other, 7}, {kNoInterface, 6}});
  expect(sampler.collect(), {{other, 7}, {kNoInterface, 7}});
  count(9);
  expect(sampler.settled(totals), {{reused, 9}, {other, 7}, {kNoInterface, 7}});
  sampler.sample();
  expect(sampler.now(), {{reused, 9}, {other, 7}, {kNoInterface, 7}});
  sampler.reset_interface(reused);
  sampler.sample();
  expect(sampler.now(), {{other, 7}, {kNoInterface, 16}});
  expect(sampler.before(), {{other, 7}, {kNoInterface, 16}});
}

// Seconds, in each of which worker 1 waits for so much of it.
class StarvationTest : public testing::Test {
 protected:
  std::vector<std::string> second(double waited_percent) {
    totals_.time += std::chrono::seconds(1);
    totals_.workers[0].time = ThreadTime{};
    totals_.workers[1].time->waited_ns += static_cast<uint64_t>(waited_percent * 1e7);
    sampler_.sample();
    return starvation_.watch(sampler_, {{0, 4}, {1, 5}});
  }
  Totals totals_ = [] {
    Totals totals;
    totals.workers.resize(2);
    totals.workers[1].time = ThreadTime{};
    return totals;
  }();
  Sampler sampler_{[this] { return totals_; }};
  Starvation starvation_;
};

TEST_F(StarvationTest, IsToldOnceItLasts) {
  for (unsigned i = 1; i < Starvation::kSeconds; ++i) EXPECT_TRUE(second(95).empty());
  const auto news = second(95);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0],
            "worker 1 waits for cpu 5: something else runs there, and had 95 % of the "
            "last second while it was ready");
  EXPECT_TRUE(second(95).empty()) << "told once";
  ASSERT_EQ(starvation_.lines().size(), 1u);
  EXPECT_NE(starvation_.lines()[0].find("for 95 % of its time"), std::string::npos);
  for (unsigned i = 1; i < Starvation::kSeconds; ++i) EXPECT_TRUE(second(0).empty());
  EXPECT_EQ(second(0), std::vector<std::string>{"worker 1 has cpu 5 to itself again"});
  EXPECT_TRUE(starvation_.lines().empty());
}

// Worker 1 comes round so often in a second.
class StuckWorkersTest : public testing::Test {
 protected:
  std::vector<std::string> second(unsigned turns) {
    totals_.workers[0].iterations += 7;
    totals_.workers[1].iterations += turns;
    sampler_.sample();
    return stuck_.watch(sampler_, {{0, 4}, {1, 5}}, ++now_s_);
  }
  Totals totals_ = [] {
    Totals totals;
    totals.workers.resize(2);
    return totals;
  }();
  Sampler sampler_{[this] { return totals_; }};
  StuckWorkers stuck_;
  std::time_t now_s_ = 0;
};

TEST_F(StuckWorkersTest, IsToldOnceWithItsCpuAndSinceWhen) {
  EXPECT_TRUE(second(1).empty());
  for (unsigned i = 1; i < StuckWorkers::kSeconds; ++i) EXPECT_TRUE(second(0).empty());
  EXPECT_FALSE(stuck_.any());
  const std::vector<std::string> line = {
      "worker 1 on cpu 5 does not come round since 1970-01-01T00:00:01Z: nothing that its queues "
      "receive is forwarded"};
  EXPECT_EQ(second(0), line);
  EXPECT_EQ(stuck_.lines(), line);
  EXPECT_TRUE(stuck_.any());
  EXPECT_TRUE(second(0).empty()) << "told once";
  EXPECT_EQ(second(1), std::vector<std::string>{"worker 1 on cpu 5 comes round again, after 7 s"});
  EXPECT_FALSE(stuck_.any());
}

TEST_F(StuckWorkersTest, ATurnNowAndThenIsEnough) {
  for (unsigned i = 0; i < 40; ++i)
    EXPECT_TRUE(second(i % (StuckWorkers::kSeconds - 1) == 0 ? 1 : 0).empty());
}

TEST_F(StarvationTest, AMomentIsNone) {
  for (unsigned i = 0; i < 20; ++i) EXPECT_TRUE(second(i % 3 == 0 ? 0 : 95).empty());
  EXPECT_TRUE(starvation_.lines().empty());
}

Balance balance(uint64_t in, uint64_t out) {
  Balance balance;
  balance.totals.received = in;
  balance.totals.transmitted = out;
  return balance;
}

TEST(Balance, AtRestEveryPacketIsAskedFor) {
  Balance at_rest = balance(100, 100);
  at_rest.weigh(0, 0);
  EXPECT_EQ(at_rest.unaccounted, 0);
  Balance queued = balance(100, 90);
  queued.weigh(10, 0);
  EXPECT_EQ(queued.in_flight, 10u);
  EXPECT_EQ(queued.unaccounted, 0);
  Balance lost = balance(100, 99);
  lost.weigh(0, 0);
  EXPECT_EQ(lost.unaccounted, 1);
  Balance twice = balance(100, 101);
  twice.weigh(0, 1000);
  EXPECT_EQ(twice.unaccounted, -1);
}

TEST(Balance, WhatIsUnderWayIsNotLost) {
  Balance under_way = balance(1000, 700);
  under_way.weigh(40, 260);
  EXPECT_EQ(under_way.in_flight, 300u);
  EXPECT_EQ(under_way.unaccounted, 0);
  Balance more = balance(1000, 700);
  more.weigh(40, 259);
  EXPECT_EQ(more.in_flight, 40u);
  EXPECT_EQ(more.unaccounted, 260);
}

}  // namespace
}  // namespace hecto::router::test
