// What does not fit a tunnel, and ESP that comes in pieces.
#include <gtest/gtest.h>

#include <chrono>

#include "router/dataplane/stages/icmp_error.hpp"
#include "router/dataplane/stages/path_mtu.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

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

// What left's host sends that must not be cut.
Frame whole_frame(bool v4, uint16_t payload) {
  Frame frame = v4 ? ipv4_frame(from_left(payload)) : ipv6_frame(from_left6(payload));
  if (v4) {
    frame[kEthernetBytes + 6] = 0x40;  // DF
    fix_checksum(frame);
  }
  return frame;
}

// What a router on the path answers to a packet of the tunnel.
rte_mbuf* too_big(rte_mbuf* outer, uint16_t mtu, bool v4) {
  InterfaceView between;
  between.address4 = IpAddress::parse("198.51.100.1")->v4().value;
  between.address6 = IpAddress::parse("2001:db8:99::1")->v6();
  EXPECT_TRUE((v4 ? make_too_big4 : make_too_big6)(outer, kEthernetBytes, mtu, between));
  const uint16_t type = v4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(rte_pktmbuf_mtod(outer, uint8_t*) + 12, &type, sizeof type);
  return carried(outer);
}

TEST_F(TwoGateways, HearsWhatThePathCarries) {
  // The last one's path is of a family without policies.
  for (const auto& [inner, ends] : {std::pair{Family::kIpv4, Family::kIpv4},
                                    {Family::kIpv6, Family::kIpv6},
                                    {Family::kIpv4, Family::kIpv6}}) {
    Gateway left{1};
    left.tunnel(inner, ends);
    const bool v4 = ends == Family::kIpv4, inner_v4 = inner == Family::kIpv4;
    const SaId id = left.ipsec().sas()[0].id.spi == 2 * kSpi ? left.ipsec().sas()[0].id
                                                             : left.ipsec().sas()[1].id;
    const auto path_mtu = [&] {
      for (const SaView& sa : left.ipsec().sas())
        if (sa.id == id) return sa.path_mtu;
      return ~0u;
    };
    const auto send = [&](uint16_t payload) {
      left.run({packet(whole_frame(inner_v4, payload))}, 0);
      auto out = left.sent(1);
      for (rte_mbuf* m : left.sent(0)) rte_pktmbuf_free(m);
      return out.empty() ? nullptr : out[0];
    };
    rte_mbuf* outer = send(1380);
    ASSERT_NE(outer, nullptr);
    EXPECT_EQ(path_mtu(), 0u);
    // One that means another SA, and one whose checksum is wrong, change nothing.
    for (const size_t wrong : {size_t{0}, size_t{1}}) {
      rte_mbuf* forged = packet(bytes_of(outer));
      uint8_t* ip = rte_pktmbuf_mtod(forged, uint8_t*) + kEthernetBytes;
      if (wrong == 0) ip[v4 ? 15 : 23] ^= 1;  // its source
      rte_mbuf* told = too_big(forged, 1400, v4);
      if (wrong == 1) rte_pktmbuf_mtod(told, uint8_t*)[told->pkt_len - 1] ^= 1;
      left.run({told}, 1);
      left.refused();
      EXPECT_EQ(path_mtu(), 0u) << wrong;
    }
    left.run({too_big(outer, 1400, v4)}, 1);
    EXPECT_EQ(left.refused(), std::vector{Reason::kLocal});  // Linux gets it as well
    EXPECT_EQ(path_mtu(), 1400u);
    EXPECT_EQ(send(1380), nullptr);
    outer = send(1270);
    ASSERT_NE(outer, nullptr);
    EXPECT_LE(outer->pkt_len, 1400u + kEthernetBytes);
    // A larger one is not believed, a very small one not quite.
    rte_mbuf* again = packet(bytes_of(outer));
    left.run({too_big(again, 1450, v4)}, 1);
    left.refused();
    EXPECT_EQ(path_mtu(), 1400u);
    left.run({too_big(outer, 68, v4)}, 1);
    left.refused();
    EXPECT_EQ(path_mtu(), v4 ? 552u : 1280u);
    left.now_s += 600;  // it is forgotten
    EXPECT_EQ(path_mtu(), 0u);
    outer = send(1380);
    ASSERT_NE(outer, nullptr);
    rte_pktmbuf_free(outer);
  }
}

TEST(PathMtu, ReadsNothingBeyondThePacket) {
  for (const bool v4 : {true, false}) {
    Frame esp = v4 ? ipv4_frame(from_left(8)) : ipv6_frame(from_left6(8));
    esp[kEthernetBytes + (v4 ? 9 : 6)] = 50;
    InterfaceView between;
    between.address4 = 1;
    between.address6.bytes[0] = 1;
    rte_mbuf* told = packet(esp);
    ASSERT_TRUE((v4 ? make_too_big4 : make_too_big6)(told, kEthernetBytes, 1400, between));
    const Frame frame = bytes_of(told);
    rte_pktmbuf_free(told);
    const auto read = v4 ? read_path_mtu4 : read_path_mtu6;
    const size_t bytes = frame.size() - kEthernetBytes;
    ASSERT_TRUE(read(frame.data() + kEthernetBytes, static_cast<uint32_t>(bytes)));
    for (size_t cut = v4 ? 20 : 40; cut < bytes; ++cut) {
      const std::vector<uint8_t> exact(frame.begin() + kEthernetBytes,
                                       frame.begin() + kEthernetBytes + static_cast<long>(cut));
      EXPECT_FALSE(read(exact.data(), static_cast<uint32_t>(cut))) << cut;  // ASan looks on
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
  EXPECT_EQ(left_.stages().encap.fragments_made(), 1u);
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
  EXPECT_EQ(right_.stages().decap.held(), 1u);
  right_.run({piece(0, cut)}, 1);
  EXPECT_EQ(right_.stages().decap.held(), 0u);
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
  while (right_.stages().decap.held() > 0 && std::chrono::steady_clock::now() < until)
    right_.stages().decap.expire(right_.reasons());
  EXPECT_EQ(right_.stages().decap.held(), 0u);
  EXPECT_EQ(right_.dropped(Reason::kEspFragment), 1u);
}

}  // namespace
}  // namespace hecto::router::test
