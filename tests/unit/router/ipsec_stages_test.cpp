// decap and encap between the other stages, from one gateway to another and back.
#include <gtest/gtest.h>

#include "tests/unit/router/gateway.hpp"

namespace hecto::router::test {
namespace {

MacAddress own_mac(uint16_t port) {
  return {0x02, 0, 0, 0, static_cast<uint8_t>(port), 0x01};
}

FrameOptions from_host(const char* source, const char* destination, uint16_t payload = 100) {
  FrameOptions options;
  options.to = own_mac(0);
  options.source = source;
  options.destination = destination;
  options.payload_bytes = payload;
  return options;
}
FrameOptions from_left(uint16_t payload = 100) {
  return from_host("10.1.0.1", "10.2.0.1", payload);
}
FrameOptions from_left6(uint16_t payload = 100) {
  return from_host("fd00:1::1", "fd00:2::1", payload);
}

// As if the wire between them had carried it.
rte_mbuf* carried(rte_mbuf* packet) {
  uint8_t* frame = rte_pktmbuf_mtod(packet, uint8_t*);
  const MacAddress from = {0x02, 0, 0, 0, 9, 9}, to = own_mac(1);
  std::memcpy(frame, to.data(), 6);
  std::memcpy(frame + 6, from.data(), 6);
  packet->ol_flags = 0;
  return packet;
}

class IpsecStagesTest : public testing::Test {
 protected:
  ~IpsecStagesTest() override { EXPECT_EQ(mbufs_in_use(), 0u); }
  Gateway left_{1}, right_{2};

  // From left's host to right's, and what arrives there.
  std::vector<rte_mbuf*> across(const std::vector<rte_mbuf*>& packets) {
    left_.run(packets, 0);
    std::vector<rte_mbuf*> outer = left_.sent(1);
    for (rte_mbuf*& packet : outer) packet = carried(packet);
    right_.run(outer, 1);
    return right_.sent(0);
  }
};

struct Families {
  Family inner, outer;
};
class AllFamilies : public IpsecStagesTest, public testing::WithParamInterface<Families> {};

TEST_P(AllFamilies, CarryAPacketWholeWithTwoHopsLess) {
  const auto [inner, outer] = GetParam();
  left_.tunnel(inner, outer);
  right_.tunnel(inner, outer);
  const bool v4 = inner == Family::kIpv4;
  Frame sent = v4 ? ipv4_frame(from_left()) : ipv6_frame(from_left6());
  left_.run({packet(sent)}, 0);
  EXPECT_TRUE(left_.refused().empty());
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  const Frame tunneled = bytes_of(out[0]);
  const uint8_t* ip = tunneled.data() + kEthernetBytes;
  if (outer == Family::kIpv4) {
    EXPECT_EQ(ip[0], 0x45);
    EXPECT_EQ(ip[8], 64);
    EXPECT_EQ(ip[9], 50);
    EXPECT_EQ(full_checksum(ip, 20), 0);
    EXPECT_EQ(load32_be(ip + 16), 0xc0000202u);
    EXPECT_EQ(load32_be(ip + 20), 0x2000u) << "SPI";
  } else {
    EXPECT_EQ(ip[0] >> 4, 6);
    EXPECT_EQ(ip[6], 50);
    EXPECT_EQ(ip[7], 64);
  }
  right_.run({carried(out[0])}, 1);
  EXPECT_TRUE(right_.refused().empty());
  auto arrived = right_.sent(0);
  ASSERT_EQ(arrived.size(), 1u);
  Frame got = bytes_of(arrived[0]);
  ASSERT_EQ(got.size(), sent.size());
  EXPECT_EQ(std::memcmp(got.data(), kHostMac.data(), 6), 0);
  // All of the packet but hop count and checksum.
  const unsigned hops = kEthernetBytes + (v4 ? 8 : 7);
  EXPECT_EQ(got[hops], 62);
  sent[hops] = 62;
  if (v4) fix_checksum(sent);
  EXPECT_EQ(std::memcmp(got.data() + kEthernetBytes, sent.data() + kEthernetBytes,
                        sent.size() - kEthernetBytes),
            0);
  rte_pktmbuf_free(arrived[0]);
}
INSTANTIATE_TEST_SUITE_P(Ipsec, AllFamilies,
                         testing::Values(Families{Family::kIpv4, Family::kIpv4},
                                         Families{Family::kIpv6, Family::kIpv4},
                                         Families{Family::kIpv4, Family::kIpv6},
                                         Families{Family::kIpv6, Family::kIpv6}));

TEST_F(IpsecStagesTest, KeepsOrderAndLeavesOthersAlone) {
  left_.tunnel();
  right_.tunnel();
  std::vector<rte_mbuf*> packets;
  for (uint16_t i = 0; i < 40; ++i) {
    FrameOptions options = from_left(static_cast<uint16_t>(60 + i));
    if (i % 4 == 3) options.destination = "192.0.2.2";  // not a policy's business
    packets.push_back(packet(ipv4_frame(options)));
  }
  left_.run(packets, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 40u);
  unsigned clear = 0, last = 0;
  std::vector<rte_mbuf*> protected_ones;
  for (rte_mbuf* m : out) {
    const uint8_t* ip = rte_pktmbuf_mtod(m, const uint8_t*) + kEthernetBytes;
    if (ip[9] == 50) {
      protected_ones.push_back(carried(m));
      const uint32_t sequence = load32_be(ip + 24);
      EXPECT_EQ(sequence, ++last);
    } else {
      ++clear;
      rte_pktmbuf_free(m);
    }
  }
  EXPECT_EQ(clear, 10u);
  right_.run(protected_ones, 1);
  auto arrived = right_.sent(0);
  ASSERT_EQ(arrived.size(), 30u);
  uint32_t length = 0;
  for (rte_mbuf* m : arrived) {
    EXPECT_GT(m->pkt_len, length);
    length = m->pkt_len;
    rte_pktmbuf_free(m);
  }
}

TEST_F(IpsecStagesTest, DropsWhatIsForgedReplayedOrUnknownByName) {
  left_.tunnel();
  right_.tunnel();
  left_.run({packet(ipv4_frame(from_left())), packet(ipv4_frame(from_left()))}, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 2u);
  const Frame first = bytes_of(carried(out[0]));
  Frame forged = bytes_of(carried(out[1]));
  forged[forged.size() - 20] ^= 1;
  Frame unknown = first;
  unknown[kEthernetBytes + 20] ^= 1;
  Frame torn(first.begin(), first.begin() + kEthernetBytes + 20 + 20);
  torn[kEthernetBytes + 2] = 0;
  torn[kEthernetBytes + 3] = 40;
  fix_checksum(torn);
  Frame stub(first.begin(), first.begin() + kEthernetBytes + 20 + 4);
  stub[kEthernetBytes + 2] = 0;
  stub[kEthernetBytes + 3] = 24;
  fix_checksum(stub);
  for (rte_mbuf* m : out) rte_pktmbuf_free(m);
  right_.run(
      {packet(first), packet(first), packet(forged), packet(unknown), packet(torn), packet(stub)},
      1);
  auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 1u);
  for (rte_mbuf* m : arrived) rte_pktmbuf_free(m);
  std::vector<Reason> reasons = right_.refused();
  std::sort(reasons.begin(), reasons.end());
  std::vector<Reason> expected = {Reason::kEspReplay, Reason::kEspBadIcv, Reason::kEspUnknownSpi,
                                  Reason::kEspMalformed, Reason::kEspMalformed};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(reasons, expected);
}

TEST_F(IpsecStagesTest, PoliciesHoldForWhatComesInTheClear) {
  right_.tunnel();
  FrameOptions clear = from_left();
  clear.to = own_mac(1);
  right_.run({packet(ipv4_frame(clear))}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
  // To the gateway itself, likewise; but IKE has to come in somehow.
  clear.destination = "10.2.0.254";
  Frame ike = ipv4_frame(clear);
  ike[kEthernetBytes + 22] = 500 >> 8;
  ike[kEthernetBytes + 23] = 500 & 0xff;
  right_.run({packet(ipv4_frame(clear))}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
  right_.run({packet(ike)}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kLocal});
  // By the port at this end only: the other one is whatever a sender likes.
  std::swap_ranges(ike.begin() + kEthernetBytes + 20, ike.begin() + kEthernetBytes + 22,
                   ike.begin() + kEthernetBytes + 22);
  right_.run({packet(ike)}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
}

TEST_F(IpsecStagesTest, ATunnelCarriesOnlyWhatItsPolicyAllows) {
  left_.tunnel();
  right_.tunnel();
  // Left lets a stranger into the tunnel; right has no policy for it.
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.9.0.0/24", "10.2.0.0/24",
               PolicyTemplate{*IpAddress::parse("192.0.2.1"), *IpAddress::parse("192.0.2.2"), 7, 0,
                              IpsecMode::kTunnel, false});
  EXPECT_TRUE(across({packet(ipv4_frame(from_host("10.9.0.1", "10.2.0.1")))}).empty());
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
}

TEST_F(IpsecStagesTest, DiscardAndMissingSas) {
  left_.policy(PolicyDirection::kOut, PolicyAction::kDiscard, "10.1.0.0/24", "10.2.0.0/24");
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kPolicyDiscard});
  right_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.2.0.0/24", "10.1.0.0/24",
                PolicyTemplate{*IpAddress::parse("192.0.2.2"), *IpAddress::parse("192.0.2.1"), 7, 0,
                               IpsecMode::kTunnel, false});
  FrameOptions options = from_host("10.2.0.1", "10.1.0.1");
  right_.run({packet(ipv4_frame(options))}, 0);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyNoSa});
}

TEST_F(IpsecStagesTest, TellsTheSenderWhatFits) {
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

TEST_F(IpsecStagesTest, CutsWhatMayBeCut) {
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

TEST_F(IpsecStagesTest, JoinsFragmentsOfEsp) {
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

TEST_F(IpsecStagesTest, KeepalivesAndStrangersInUdp) {
  right_.tunnel();
  FrameOptions options;
  options.to = own_mac(1);
  options.source = "192.0.2.1";
  options.destination = "192.0.2.2";
  options.payload_bytes = 40;
  Frame natt = ipv4_frame(options);
  uint8_t* udp = natt.data() + kEthernetBytes + 20;
  udp[2] = 4500 >> 8;
  udp[3] = 4500 & 0xff;
  Frame ike = natt;
  std::memset(ike.data() + kEthernetBytes + 28, 0, 4);  // the non-ESP marker
  std::memset(natt.data() + kEthernetBytes + 28, 0x77, 4);
  Frame keepalive(natt.begin(), natt.begin() + kEthernetBytes + 29);
  keepalive[kEthernetBytes + 2] = 0;
  keepalive[kEthernetBytes + 3] = 29;
  keepalive[kEthernetBytes + 28] = 0xff;
  fix_checksum(keepalive);
  right_.run({packet(natt), packet(ike), packet(keepalive)}, 1);
  // The first two by encap, the last by rewrite.
  EXPECT_EQ(right_.refused(),
            (std::vector{Reason::kEspUnknownSpi, Reason::kEspKeepalive, Reason::kLocal}));
}

TEST_F(IpsecStagesTest, RoutesByAnIpsecInterfaceAskThePoliciesOfItsIfId) {
  LinuxLink device;
  device.ifindex = 99;
  device.name = "ipsec0";
  device.up = device.carrier = true;
  device.if_id = 5;
  left_.routing().link(device, false);
  Route route;
  route.prefix = *IpPrefix::parse("10.7.0.0/24");
  route.protocol = 4;
  NextHop hop;
  hop.ifindex = 99;
  route.next_hops = {hop};
  left_.routing().route(route, false, false);
  left_.routing().commit();
  const auto to_tunnel = [] { return packet(ipv4_frame(from_host("10.1.0.1", "10.7.0.1"))); };
  SaState state;
  state.id = {*IpAddress::parse("192.0.2.2"), 0x500};
  state.source = *IpAddress::parse("192.0.2.1");
  state.origin = RouteOrigin::kFile;
  state.reqid = 9;
  state.if_id = 5;
  state.transform = *esp::transform_by_name("aes-128-gcm", "");
  state.keys.cipher_bytes = 20;
  ASSERT_TRUE(left_.ipsec().add_sa(state));
  left_.ipsec().commit();
  // Without a policy of that if_id Linux has it, as before.
  const PolicyTemplate ends{state.source, state.id.destination, 9, 0, IpsecMode::kTunnel, false};
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "0.0.0.0/0", "0.0.0.0/0", ends, 100,
               6);
  left_.run({to_tunnel()}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kLocal});
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "0.0.0.0/0", "0.0.0.0/0", ends, 100,
               5);
  left_.run({to_tunnel()}, 0);
  EXPECT_TRUE(left_.refused().empty());
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  const uint8_t* ip = rte_pktmbuf_mtod_offset(out[0], const uint8_t*, kEthernetBytes);
  EXPECT_EQ(ip[9], 50);
  EXPECT_EQ(load32_be(ip + 20), 0x500u);
  rte_pktmbuf_free(out[0]);
}

TEST_F(IpsecStagesTest, HopsRunOutBeforeTheTunnel) {
  left_.tunnel();
  FrameOptions options = from_left();
  options.ttl = 1;
  left_.run({packet(ipv4_frame(options))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
}

}  // namespace
}  // namespace hecto::router::test
