// What NICs are asked for, on capabilities as their drivers report them. Played by ScriptedEthdev.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/router/dataplane/ports/nic_box.hpp"

namespace hecto::router::test {
namespace {

bool told(const Port& port, const std::string& beginning) {
  return std::any_of(port.refused().begin(), port.refused().end(),
                     [&](const std::string& line) { return line.starts_with(beginning); });
}

struct Driver {
  EthdevScript script;
  uint64_t asked;  // for every transmit queue
};

class Nic : public testing::TestWithParam<Driver> {};

// No fast loop of theirs takes packets of several mbufs.
TEST_P(Nic, IsAskedForNothingButFastFreeWhereOnePoolFeedsAll) {
  ScriptedEthdev first("first", GetParam().script), second("second", GetParam().script);
  Box box(2, true);
  box.place("p0", {0, 1});
  box.place("p1", {1, 0});
  Port& p0 = box.add(first, "p0");
  box.add(second, "p1");
  for (const ScriptedEthdev* nic : {&first, &second})
    for (QueueId queue = 0; queue < 3; ++queue)
      EXPECT_EQ(nic->tx_offloads(queue), GetParam().asked) << queue;
  for (unsigned worker = 0; worker < 2; ++worker) {
    EXPECT_FALSE(box.path(worker, p0).plain_only);
    EXPECT_TRUE(box.path(worker, p0).linear);
  }
  const auto& asked = p0.asked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), "fast_free"), GetParam().asked == kFast);
}

// As DPDK 22.11 reports them.
INSTANTIATE_TEST_SUITE_P(
    Drivers, Nic,
    testing::Values(Driver{i40e(), kFast},
                    Driver{{.driver = "net_ixgbe", .tx_offloads = kOthers | kSegments}, 0},
                    Driver{{.driver = "net_ice",
                            .tx_offloads = kOthers | kSegments | kFast,
                            .tx_queue_offloads = kFast},
                           kFast},
                    Driver{mlx5(), kFast},
                    Driver{{.driver = "net_virtio", .tx_offloads = kSegments}, 0}),
    [](const auto& info) { return info.param.script.driver; });

TEST(NicOffloads, OnlyQueuesThatOnePoolFeedsAreFreedFast) {
  for (const EthdevScript& script : {i40e(), mlx5()}) {
    ScriptedEthdev first("first", script), second("second", script);
    Box box(2);
    box.place("p0", {0});
    box.place("p1", {1}, kJumboRoom);
    Port& p0 = box.add(first, "p0");
    box.add(second, "p1", 9000);
    const bool by_queue = script.tx_queue_offloads != 0;
    EXPECT_EQ(first.tx_offloads(0), by_queue ? kFast : 0);
    EXPECT_EQ(first.tx_offloads(1), 0u) << "worker 1 sends p1's buffers";
    EXPECT_EQ(first.asked.txmode.offloads, 0u);
    EXPECT_TRUE(told(p0, by_queue ? "fast_free: asked for 2 of 3" : "fast_free is not asked for"));
    EXPECT_EQ(second.tx_offloads(0), 0u);
    EXPECT_EQ(second.tx_offloads(1), by_queue ? kFast : 0);
  }
}

TEST(NicOffloads, WhatLinuxSendsIsOfEachPool) {
  ScriptedEthdev first("first", i40e()), second("second", i40e());
  Box box(1, true);
  box.place("p0", {0});
  box.place("p1", {}, kJumboRoom);
  box.add(first, "p0");
  EXPECT_EQ(first.tx_offloads(0), kFast);
  EXPECT_EQ(first.tx_offloads(1), 0u) << "the slow path's";
}

TEST(NicOffloads, BuffersOfADriverThatMayLendThemAreNotPromised) {
  ScriptedEthdev first("first", i40e());
  ScriptedEthdev lends("lends", {.driver = "mlx5_pci", .tx_offloads = kSegments});
  Box box(1);
  box.place("p0", {0});
  box.place("p1", {0});
  box.add(lends, "p1");
  box.add(first, "p0");
  EXPECT_EQ(first.tx_offloads(0), 0u);
}

TEST(NicOffloads, WhatComesBehindAPromiseIsCopiedAndSaid) {
  ScriptedEthdev first("first", i40e()), second("second", i40e());
  Box box(2);
  box.place("p0", {0, 1});
  Port& p0 = box.add(first, "p0");
  EXPECT_EQ(first.tx_offloads(0), kFast);
  box.place("p1", {1}, kJumboRoom);
  Port& p1 = box.add(second, "p1", 9000, false);  // known before control says more of it
  EXPECT_FALSE(box.path(0, p0).plain_only) << "it has no queue of p1";
  EXPECT_TRUE(box.path(1, p0).plain_only);
  EXPECT_EQ(box.path(1, p0).pool, box.dataplane().pool_of("p0")->get());
  EXPECT_TRUE(told(p0, "fast_free: p1 came with buffers"));
  EXPECT_FALSE(box.path(0, p1).plain_only) << "it was promised nothing there";
  // As long as somebody may hold one of them.
  rte_mbuf* const held = rte_pktmbuf_alloc(box.dataplane().pool_of("p1")->get());
  box.dataplane().remove_port("p1");
  EXPECT_TRUE(box.path(1, p0).plain_only);
  rte_pktmbuf_free(held);
  box.dataplane().reclaim();
  box.dataplane().publish();
  EXPECT_FALSE(box.path(1, p0).plain_only);
}

TEST(NicOffloads, SegmentsAreAskedForWhereAPortScatters) {
  EthdevScript script = i40e();
  script.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
  ScriptedEthdev first("first", script), second("second", script);
  Box box(1);
  box.place("p0", {0});
  box.place("p1", {0});
  Port& p0 = box.add(first, "p0", 3000);
  Port& p1 = box.add(second, "p1");
  EXPECT_EQ(first.asked.rxmode.offloads, RTE_ETH_RX_OFFLOAD_SCATTER);
  EXPECT_EQ(second.asked.rxmode.offloads, 0u);
  for (const ScriptedEthdev* nic : {&first, &second}) EXPECT_EQ(nic->tx_offloads(0), kSegments);
  for (const Port* port : {&p0, &p1}) {
    EXPECT_FALSE(box.path(0, *port).linear);
    EXPECT_TRUE(told(*port, "fast_free is not asked for"));
  }
}

TEST(NicOffloads, ChecksumsAreLeftToNicsWhoseFlagIsClear) {
  constexpr uint64_t kInner = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
  constexpr uint64_t kOuter = RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM;
  const auto asked = [](const char* driver, uint64_t given) {
    ScriptedEthdev nic("checks", {.driver = driver, .rx_offloads = given});
    Box box(1);
    box.place("p0", {0});
    const Port& port = box.add(nic, "p0");
    EXPECT_EQ(port.checks_ipv4(), nic.asked.rxmode.offloads != 0);
    return nic.asked.rxmode.offloads;
  };
  EXPECT_EQ(asked("net_i40e", kInner | kOuter | RTE_ETH_RX_OFFLOAD_TCP_CKSUM), kInner | kOuter);
  EXPECT_EQ(asked("net_ixgbe", kInner), kInner);
  EXPECT_EQ(asked("mlx5_pci", kInner), 0u);
  EXPECT_EQ(asked("net_bonding", kInner), 0u);
  EXPECT_EQ(asked("net_tap", kInner), 0u);
  EXPECT_EQ(asked("net_virtio", 0), 0u);
}

TEST(NicOffloads, TheDriversLoopsAreTold) {
  EthdevScript script = i40e();
  script.receive_path = "Vector AVX2";
  script.transmit_path = "Simple";
  ScriptedEthdev first("first", script), second("second", i40e());
  Box box(1);
  box.place("p0", {0});
  box.place("p1", {0});
  Port& p0 = box.add(first, "p0");
  EXPECT_EQ(p0.receive_path(), "Vector AVX2");
  EXPECT_EQ(p0.transmit_path(), "Simple");
  EXPECT_EQ(box.add(second, "p1").receive_path(), "");
}

}  // namespace
}  // namespace hecto::router::test
