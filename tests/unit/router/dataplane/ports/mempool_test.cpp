#include "router/dataplane/ports/mempool.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "router/dataplane/core/dpdk.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

// net_af_xdp registers (objects x object size) bytes from the first one on: the kernel throws away
// frames in mbufs behind that.
void expect_all_registered(uint32_t mbufs, uint32_t data_room_bytes) {
  pool();  // DPDK
  auto made = Mempool::create("layout", 0, mbufs, data_room_bytes);
  ASSERT_TRUE(made) << made.error().message;
  Mempool& mempool = **made;
  EXPECT_GE(mempool.size(), mbufs);
  EXPECT_EQ(mempool.in_use(), 0u);
  std::vector<rte_mbuf*> all(mempool.size());
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(mempool.get(), all.data(), mempool.size()), 0);
  EXPECT_EQ(rte_pktmbuf_alloc(mempool.get()), nullptr);
  EXPECT_EQ(mempool.in_use(), mempool.size());
  const rte_mempool* p = mempool.get();
  const auto first = reinterpret_cast<uintptr_t>(STAILQ_FIRST(&p->mem_list)->addr);
  const uint64_t object = rte_mempool_calc_obj_size(p->elt_size, p->flags, nullptr);
  for (const rte_mbuf* mbuf : all) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(mbuf) - p->header_size;
    ASSERT_LE(at + object, first + p->populated_size * object);
    ASSERT_GE(rte_pktmbuf_tailroom(mbuf) + rte_pktmbuf_headroom(mbuf), data_room_bytes);
  }
  rte_pktmbuf_free_bulk(all.data(), mempool.size());
  EXPECT_EQ(mempool.in_use(), 0u);
}

TEST(Mempool, GivesOutOnlyWhatAfXdpMakesKnownToTheKernel) {
  expect_all_registered(1023, 2176);
  expect_all_registered(1023, kPageDataRoom);
  expect_all_registered(4095, 2176);
}

TEST(Mempool, HoldsTheFramesOfAfPacket) {
  pool();
  auto made = Mempool::create("jumbo", 0, 255, 10496);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->size(), 255u);
  EXPECT_EQ((*made)->data_room_bytes(), 10496u);
}

}  // namespace
}  // namespace hecto::router::test
