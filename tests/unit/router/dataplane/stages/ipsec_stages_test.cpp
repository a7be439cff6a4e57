// decap and encap between the other stages, from one gateway to another and back.
#include <gtest/gtest.h>

#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

struct Families {
  Family inner, outer;
};
class AllFamilies : public TwoGateways, public testing::WithParamInterface<Families> {};

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

TEST_F(TwoGateways, KeepsOrderAndLeavesOthersAlone) {
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

TEST_F(TwoGateways, DropsWhatIsForgedReplayedOrUnknownByName) {
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

// Those of one SA in a row are looked up once: SPI and destination tell where another one begins.
TEST_F(TwoGateways, EachOfAChunkIsOpenedByItsOwnSa) {
  left_.tunnel();
  right_.tunnel();
  const IpAddress from = *IpAddress::parse("192.0.2.1"), to = *IpAddress::parse("10.2.0.254");
  SaState other;  // of the same SPI
  other.id = {to, Spi(2 * kSpi)};
  other.source = from;
  other.origin = RouteOrigin::kFile;
  other.reqid = 8;
  other.transform = *esp::transform_by_name("aes-128-gcm", "");
  other.keys.cipher_bytes = 20;
  other.keys.cipher.fill(9);
  const PolicyTemplate way{from, to, 8, 0, IpsecMode::kTunnel, false};
  for (Gateway* gateway : {&left_, &right_}) {
    ASSERT_TRUE(gateway->ipsec().add_sa(other));
    const auto direction = gateway == &left_ ? PolicyDirection::kOut : PolicyDirection::kForward;
    gateway->policy(direction, PolicyAction::kProtect, "10.1.0.200/32", "10.2.0.0/24", way, 1);
  }
  std::vector<rte_mbuf*> chunk;
  for (const char kind : std::string("aabbabcbcabbb")) {
    if (kind == 'c') {
      FrameOptions clear = from_host("192.0.2.1", "192.0.2.2");
      clear.to = own_mac(1);
      chunk.push_back(packet(ipv4_frame(clear)));
      continue;
    }
    left_.run({packet(ipv4_frame(from_host(kind == 'a' ? "10.1.0.1" : "10.1.0.200", "10.2.0.1")))},
              0);
    const auto out = left_.sent(1);
    ASSERT_EQ(out.size(), 1u);
    chunk.push_back(carried(out[0]));
  }
  right_.run(chunk, 1);
  EXPECT_EQ(right_.refused(), std::vector(2, Reason::kLocal));
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 11u);
  for (rte_mbuf* m : arrived) rte_pktmbuf_free(m);
  EXPECT_EQ(right_.sa(2).packets.load(), 4u);
  EXPECT_EQ(right_.ipsec().find(other.id)->usage.packets, 7u);
}

TEST_F(TwoGateways, PoliciesHoldForWhatComesInTheClear) {
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

TEST_F(TwoGateways, ATunnelCarriesOnlyWhatItsPolicyAllows) {
  left_.tunnel();
  right_.tunnel();
  // Left lets a stranger into the tunnel; right has no policy for it.
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.9.0.0/24", "10.2.0.0/24",
               PolicyTemplate{*IpAddress::parse("192.0.2.1"), *IpAddress::parse("192.0.2.2"), 7, 0,
                              IpsecMode::kTunnel, false});
  EXPECT_TRUE(across({packet(ipv4_frame(from_host("10.9.0.1", "10.2.0.1")))}).empty());
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
}

TEST_F(TwoGateways, DiscardAndMissingSas) {
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

TEST_F(TwoGateways, KeepalivesAndStrangersInUdp) {
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

TEST_F(TwoGateways, RoutesByAnIpsecInterfaceAskThePoliciesOfItsIfId) {
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

TEST_F(TwoGateways, HopsRunOutBeforeTheTunnel) {
  left_.tunnel();
  FrameOptions options = from_left();
  options.ttl = 1;
  left_.run({packet(ipv4_frame(options))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
}

}  // namespace
}  // namespace hecto::router::test
