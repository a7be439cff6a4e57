// What does not fit a tunnel, and ESP that comes in pieces.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/router/two_gateways.hpp"

namespace hecto::router::test {
namespace {

TEST_F(TwoGateways, TellsTheSenderWhatFits) {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    Gateway left{1};
    left.tunnel(family);
    const bool v4 = family == Family::kIpv4;
    Frame frame = v4 ? ipv4_frame(from_left(1480)) : ipv6_frame(from_left6(1460));
    if (v4) {
      frame[kEthernetBytes + 6] = 0x40;  // DF
      fix_checksum(frame);
    }
    left.run({packet(frame)}, 0);
    EXPECT_TRUE(left.refused().empty());
    EXPECT_TRUE(left.sent(1).empty());
    auto told = left.sent(0);
    ASSERT_EQ(told.size(), 1u);
    const Frame answer = bytes_of(told[0]);
    const uint8_t* ip = answer.data() + kEthernetBytes;
    const uint8_t* icmp = ip + (v4 ? 20 : 40);
    const uint32_t mtu = v4 ? load16_be(icmp + 6) : load32_be(icmp + 4);
    EXPECT_EQ(icmp[0], v4 ? 3 : 2);
    EXPECT_EQ(icmp[1], v4 ? 4 : 0);
    EXPECT_EQ(v4 ? full_checksum(icmp, load16_be(ip + 2) - 20u) : 0, 0);
    EXPECT_EQ(std::memcmp(answer.data(), kHostMac.data(), 6), 0);
    rte_pktmbuf_free(told[0]);
    // What it says fits, and one byte more does not.
    for (const unsigned more : {0u, 1u}) {
      const auto payload = static_cast<uint16_t>(mtu + more - (v4 ? 20 : 40));
      Frame again = v4 ? ipv4_frame(from_left(payload)) : ipv6_frame(from_left6(payload));
      if (v4) {
        again[kEthernetBytes + 6] = 0x40;
        fix_checksum(again);
      }
      left.run({packet(again)}, 0);
      auto out = left.sent(1), back = left.sent(0);
      EXPECT_EQ(out.size(), 1 - more) << mtu;
      EXPECT_EQ(back.size(), more) << mtu;
      for (rte_mbuf* m : out) {
        EXPECT_LE(m->pkt_len, 1514u);
        rte_pktmbuf_free(m);
      }
      for (rte_mbuf* m : back) rte_pktmbuf_free(m);
    }
  }
}

TEST_F(TwoGateways, CutsWhatMayBeCut) {
  left_.tunnel();
  right_.tunnel();
  const Frame frame = ipv4_frame(from_left(1480));
  auto arrived = across({packet(frame)});
  EXPECT_TRUE(left_.refused().empty());
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(left_.stages().fragments_made(), 1u);
  std::vector<uint8_t> data(1480);
  for (rte_mbuf* m : arrived) {
    const Frame piece = bytes_of(m);
    const uint8_t* ip = piece.data() + kEthernetBytes;
    EXPECT_EQ(full_checksum(ip, 20), 0);
    const size_t at = (load16_be(ip + 6) & 0x1fff) * 8u, bytes = load16_be(ip + 2) - 20u;
    ASSERT_LE(at + bytes, data.size());
    EXPECT_EQ((ip[6] & 0x20) != 0, at + bytes < data.size()) << "more fragments";
    std::memcpy(data.data() + at, ip + 20, bytes);
    rte_pktmbuf_free(m);
  }
  EXPECT_EQ(std::memcmp(data.data(), frame.data() + kEthernetBytes + 20, data.size()), 0);
}

TEST_F(TwoGateways, JoinsFragmentsOfEsp) {
  left_.tunnel();
  right_.tunnel();
  left_.run({packet(ipv4_frame(from_left(600)))}, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  const Frame whole = bytes_of(carried(out[0]));
  rte_pktmbuf_free(out[0]);
  const size_t data = whole.size() - kEthernetBytes - 20, cut = 400;
  const auto piece = [&](size_t from, size_t to) {
    constexpr size_t kHeaders = kEthernetBytes + 20;
    Frame frame(kHeaders + to - from);
    std::memcpy(frame.data(), whole.data(), kHeaders);
    std::memcpy(frame.data() + kHeaders, whole.data() + kHeaders + from, to - from);
    uint8_t* ip = frame.data() + kEthernetBytes;
    const size_t total = 20 + to - from, field = from / 8 | (to < data ? 0x2000 : 0);
    ip[2] = static_cast<uint8_t>(total >> 8);
    ip[3] = static_cast<uint8_t>(total);
    ip[6] = static_cast<uint8_t>(field >> 8);
    ip[7] = static_cast<uint8_t>(field);
    fix_checksum(frame);
    return packet(frame);
  };
  right_.run({piece(cut, data)}, 1);
  EXPECT_EQ(right_.stages().held(), 1u);
  right_.run({piece(0, cut)}, 1);
  EXPECT_EQ(right_.stages().held(), 0u);
  auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 1u);
  for (rte_mbuf* m : arrived) {
    EXPECT_EQ(m->pkt_len, kEthernetBytes + 20u + 600u);
    rte_pktmbuf_free(m);
  }
  EXPECT_EQ(right_.dropped(Reason::kEspJoined), 1u);
  // One that stays alone is given up in time, and counted.
  right_.run({piece(cut, data)}, 1);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (right_.stages().held() > 0 && std::chrono::steady_clock::now() < until)
    right_.stages().expire(right_.reasons());
  EXPECT_EQ(right_.stages().held(), 0u);
  EXPECT_EQ(right_.dropped(Reason::kEspFragment), 1u);
}

}  // namespace
}  // namespace hecto::router::test
