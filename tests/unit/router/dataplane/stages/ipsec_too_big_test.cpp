// What does not fit a tunnel when its sender may not be told.
#include <gtest/gtest.h>

#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

TEST_F(TwoGateways, DropsWhatDoesNotFitWhereItsSenderWasToldTooOften) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    Gateway left{1};
    left.tunnel(family);
    left.snapshot().punt_pps[static_cast<size_t>(Reason::kTooBig)] = 0;
    Frame frame =
        family == Family::kIpv4 ? ipv4_frame(from_left(1480)) : ipv6_frame(from_left6(1460));
    if (family == Family::kIpv4) {
      frame[kEthernetBytes + 6] = 0x40;  // DF
      fix_checksum(frame);
    }
    left.run({packet(frame)}, 0);
    EXPECT_EQ(left.refused(), std::vector<Reason>{Reason::kTunnelTooBig});
    EXPECT_TRUE(left.sent(0).empty());
    EXPECT_TRUE(left.sent(1).empty());
  }
}

// The fragments that a tunnel needs come from the packet's pool.
TEST_F(TwoGateways, WithoutMbufsForItsFragmentsItIsDroppedAndTheNextOneIsCut) {
  left_.tunnel();
  const auto cut = [&] { return packet(ipv4_frame(from_left(1480))); };
  const unsigned before = mbufs_in_use();
  rte_mbuf* first = cut();
  std::vector<rte_mbuf*> all;
  while (rte_mbuf* mbuf = rte_pktmbuf_alloc(pool())) all.push_back(mbuf);
  left_.run({first}, 0);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kTunnelTooBig});
  EXPECT_TRUE(left_.sent(1).empty());
  rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
  EXPECT_EQ(mbufs_in_use(), before);
  left_.run({cut()}, 0);
  EXPECT_TRUE(left_.refused().empty());
  const auto sent = left_.sent(1);
  EXPECT_EQ(sent.size(), 2u);
  for (rte_mbuf* each : sent) rte_pktmbuf_free(each);
}

}  // namespace
}  // namespace hecto::router::test
