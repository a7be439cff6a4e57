// What leaves by a driver that was promised plain mbufs, or that sends packets of one segment only.
#include "router/dataplane/stages/transmit.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/router/dataplane/ports/nic_box.hpp"

namespace hecto::router::test {
namespace {

class Sending : public testing::Test {
 protected:
  Sending() {
    pool();
    auto made = Mempool::create("sending", 0, 63, kRoom);
    own_ = std::move(*made);
    ring_ = rte_ring_create("sending", 64, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    paths_[0].queue = 0;
    paths_[0].handoff = ring_;  // where they can be looked at
    paths_[0].plain_only = true;
    paths_[0].pool = own_->get();
    transmitter_.use(&paths_);
  }
  ~Sending() override { rte_ring_free(ring_); }
  rte_mbuf* sent(rte_mbuf* packet) {
    transmitter_.enqueue(0, packet);
    transmitter_.flush_all();
    void* out = nullptr;
    return rte_ring_sc_dequeue(ring_, &out) == 0 ? static_cast<rte_mbuf*>(out) : nullptr;
  }
  rte_mbuf* filled(rte_mempool* from, uint16_t bytes = 60) {
    rte_mbuf* const packet = rte_pktmbuf_alloc(from);
    char* const data = rte_pktmbuf_append(packet, bytes);
    std::iota(data, data + bytes, next_++);
    return packet;
  }
  static void expect_plain(const rte_mbuf* packet, const rte_mempool* from) {
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->pool, from);
    EXPECT_EQ(packet->nb_segs, 1);
    EXPECT_EQ(rte_mbuf_refcnt_read(packet), 1);
    EXPECT_TRUE(RTE_MBUF_DIRECT(packet));
  }
  static std::vector<uint8_t> bytes_of(const rte_mbuf* packet) {
    std::vector<uint8_t> bytes(packet->pkt_len);
    const void* at = rte_pktmbuf_read(packet, 0, packet->pkt_len, bytes.data());
    if (at != bytes.data()) std::memcpy(bytes.data(), at, bytes.size());
    return bytes;
  }
  uint64_t full() const {
    return reasons_.dropped[static_cast<size_t>(Reason::kTransmitFull)].get();
  }

  std::unique_ptr<Mempool> own_;
  rte_ring* ring_ = nullptr;
  std::array<TransmitPath, kMaxPorts> paths_{};
  std::array<PortCounters, kMaxPorts> ports_;
  ReasonCounters reasons_;
  Transmitter transmitter_{ports_, reasons_};
  char next_ = 1;
};

TEST_F(Sending, WhatIsPlainLeavesAsItIs) {
  rte_mbuf* const packet = filled(own_->get());
  EXPECT_EQ(sent(packet), packet);
  rte_pktmbuf_free(packet);
}

TEST_F(Sending, AllElseIsCopiedIntoThePool) {
  const unsigned before = mbufs_in_use();
  rte_mbuf* const other = filled(pool());
  rte_mbuf* const shared = filled(own_->get());
  rte_mbuf_refcnt_update(shared, 1);
  rte_mbuf* const chain = filled(own_->get());
  ASSERT_EQ(rte_pktmbuf_chain(chain, filled(pool())), 0);
  rte_mbuf* const whole = filled(own_->get());
  rte_mbuf* const clone = rte_pktmbuf_clone(whole, own_->get());
  for (rte_mbuf* const packet : {other, shared, chain, clone}) {
    const auto bytes = bytes_of(packet);
    rte_mbuf* const out = sent(packet);
    expect_plain(out, own_->get());
    EXPECT_NE(out, packet);
    EXPECT_EQ(bytes_of(out), bytes);
    rte_pktmbuf_free(out);
  }
  EXPECT_EQ(rte_mbuf_refcnt_read(shared), 1) << "and what somebody else holds is his";
  rte_pktmbuf_free(shared);
  rte_pktmbuf_free(whole);
  EXPECT_EQ(own_->in_use(), 0u);
  EXPECT_EQ(mbufs_in_use(), before);
  EXPECT_EQ(full(), 0u);
}

TEST_F(Sending, WithoutABufferForTheCopyItIsADrop) {
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* mbuf = rte_pktmbuf_alloc(own_->get())) all.push_back(mbuf);
  EXPECT_EQ(sent(filled(pool())), nullptr);
  EXPECT_EQ(full(), 1u);
  rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
}

TEST_F(Sending, SegmentsThatDoNotFitTheFirstAreJoinedInThePortsPool) {
  auto jumbo = Mempool::create("jumbo", 0, 7, kJumboRoom);
  ASSERT_TRUE(jumbo);
  ScriptedEthdev nic("sink", {});
  Box box(1);
  box.place("p0", {0});
  const PortId port = box.add(nic, "p0").id();
  paths_[port] = {};
  paths_[port].queue = 0;
  paths_[port].linear = true;
  for (rte_mempool* const into : {(*jumbo)->get(), own_->get()}) {
    paths_[port].pool = into;
    rte_mbuf* const chain = filled(own_->get(), 3000);
    ASSERT_EQ(rte_pktmbuf_chain(chain, filled(own_->get(), 2000)), 0);
    transmitter_.enqueue(port, chain);
    transmitter_.flush_all();
  }
  EXPECT_EQ(ports_[port].tx_packets.get(), 1u);
  EXPECT_EQ(ports_[port].tx_bytes.get(), 5000u);
  EXPECT_EQ(full(), 1u) << "5,000 bytes into a room of 3,712";
  EXPECT_EQ(own_->in_use() + (*jumbo)->in_use(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
