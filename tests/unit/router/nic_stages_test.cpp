// ESP whose cipher and ICV a port's NIC does: what reaches the port's queue, and what the router
// believes of what a NIC has opened.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu_offload/devices/host.hpp"
#include "router/capture/session.hpp"
#include "tests/unit/router/scripted_nic.hpp"
#include "tests/unit/router/two_gateways.hpp"

namespace hecto::router::test {
namespace {

constexpr uint64_t kOpened = RTE_MBUF_F_RX_SEC_OFFLOAD;
constexpr uint64_t kFailed = kOpened | RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;

bool for_nic(const rte_mbuf* packet) {
  return (packet->ol_flags & RTE_MBUF_F_TX_SEC_OFFLOAD) != 0;
}

// Whether a frame carries what a host sent, from its UDP header on, as it was sent.
bool carries(const Frame& frame, const Frame& sent) {
  const auto begin = sent.begin() + kEthernetBytes + kIpv4Bytes;
  return std::search(frame.begin(), frame.end(), begin, sent.end()) != frame.end();
}

Frame from_host_of_left(uint16_t payload = 200) {
  Frame frame = ipv4_frame(from_left(payload));
  for (size_t i = kEthernetBytes + kIpv4Bytes + 8; i < frame.size(); ++i)
    frame[i] = static_cast<uint8_t>(i * 7);
  return frame;
}

void free_all(const std::vector<rte_mbuf*>& packets) {
  for (rte_mbuf* each : packets) rte_pktmbuf_free(each);
}

class NicGateways : public TwoGateways {
 protected:
  ~NicGateways() override {
    for (Gateway* gateway : {&left_, &right_})
      for (const uint16_t port : {0, 1}) gateway->unplug(port);
  }
  void tunnels(const Algorithm& algorithm = {}) {
    for (Gateway* gateway : {&left_, &right_})
      gateway->tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, algorithm);
  }
  // To the tunnel's far end by `ports`: more than one is ECMP.
  void route_end(const std::vector<uint16_t>& ports) {
    Route route;
    route.prefix = *IpPrefix::parse("192.0.2.2/32");
    route.origin = RouteOrigin::kFile;
    for (const uint16_t port : ports) {
      NextHop hop;
      hop.gateway = *IpAddress::parse(port == 0 ? "10.1.0.1" : "192.0.2.3");
      hop.interface = port;
      route.next_hops.push_back(hop);
    }
    ASSERT_TRUE(left_.routing().add_neighbor(1, *IpAddress::parse("192.0.2.3"), own_mac(1)));
    ASSERT_TRUE(left_.routing().add(route));
    left_.routing().commit();
  }
  // What left sends of packets that are not for a NIC: the far end can read them, nobody else.
  void expect_sealed_by_cpu(std::vector<rte_mbuf*> out, const Frame& sent) {
    EXPECT_TRUE(nic_.queued.empty());
    for (rte_mbuf*& each : out) {
      EXPECT_FALSE(for_nic(each));
      EXPECT_FALSE(carries(bytes_of(each), sent));
      each = carried(each);
    }
    right_.run(out, 1);
    const auto arrived = right_.sent(0);
    EXPECT_EQ(arrived.size(), out.size());
    free_all(arrived);
    EXPECT_TRUE(right_.refused().empty());
  }
  // One packet that left's CPU has sealed, on right's wire.
  rte_mbuf* sealed(const Frame& sent) {
    left_.run({packet(sent)}, 0);
    auto out = left_.sent(1);
    EXPECT_EQ(out.size(), 1u);
    return carried(out.at(0));
  }
  rte_mbuf* opened(const Frame& sent) {
    rte_mbuf* one = sealed(sent);
    EXPECT_TRUE(nic_.open(one));
    EXPECT_TRUE(carries(bytes_of(one), sent));
    return one;
  }
  uint64_t nic_packets(Gateway& gateway, unsigned to) {
    return gateway.sa(to).nic.load()->packets.load();
  }

  ScriptedNic nic_{1}, other_{0};
};

struct Way {
  Family inner, outer;
  IpsecMode mode;
  Algorithm algorithm;
};
class NicWays : public NicGateways, public testing::WithParamInterface<Way> {};

TEST_P(NicWays, WriteAllButWhatTheNicDoes) {
  const Way way = GetParam();
  for (const bool inbound : {false, true}) {
    for (const bool tunnel : {false, true}) {
      nic_.offer(inbound, tunnel).ipsec.options.esn = 1;
      nic_.offer(inbound, tunnel).ipsec.options.udp_encap = 1;
    }
  }
  left_.plug(nic_.port());
  for (Gateway* gateway : {&left_, &right_})
    gateway->tunnel(way.inner, way.outer, way.mode, way.algorithm);
  const bool v4 = way.inner == Family::kIpv4;
  const Frame sent = v4 ? from_host_of_left() : ipv6_frame(from_left6(200));
  left_.run({packet(sent), packet(sent)}, 0);
  EXPECT_TRUE(left_.refused().empty());
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 2u);
  const bool outer4 = (way.mode == IpsecMode::kTunnel ? way.outer : way.inner) == Family::kIpv4;
  for (rte_mbuf* each : out) {
    EXPECT_TRUE(for_nic(each));
    EXPECT_EQ(each->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6),
              outer4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
    EXPECT_EQ(each->l2_len, kEthernetBytes);
    EXPECT_EQ(each->l3_len, outer4 ? kIpv4Bytes : kIpv6Bytes);
    EXPECT_EQ(each->l4_len, way.algorithm.in_udp ? 8u : 0u);
    EXPECT_EQ(each->tso_segsz, 0u);
    const Frame clear = bytes_of(each);
    const unsigned udp = kEthernetBytes + (v4 ? kIpv4Bytes : kIpv6Bytes);
    EXPECT_NE(std::search(clear.begin(), clear.end(), sent.begin() + udp, sent.end()), clear.end());
    EXPECT_EQ(clear[kEthernetBytes + (outer4 ? 8 : 7)], way.mode == IpsecMode::kTunnel ? 64 : 63);
    ASSERT_TRUE(nic_.seal(each));
    carried(each);
  }
  right_.run(out, 1);
  EXPECT_TRUE(right_.refused().empty());
  auto arrived = right_.sent(0);
  ASSERT_EQ(arrived.size(), 2u);
  for (rte_mbuf* each : arrived) {
    const Frame got = bytes_of(each);
    ASSERT_EQ(got.size(), sent.size());
    const unsigned upper = kEthernetBytes + (v4 ? kIpv4Bytes : kIpv6Bytes);
    EXPECT_TRUE(std::equal(got.begin() + upper, got.end(), sent.begin() + upper));
    EXPECT_EQ(got[kEthernetBytes + (v4 ? 8 : 7)], 62);
  }
  free_all(arrived);
}
INSTANTIATE_TEST_SUITE_P(
    Nic, NicWays,
    testing::Values(
        Way{Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, {}},
        Way{Family::kIpv6, Family::kIpv4, IpsecMode::kTunnel, {}},
        Way{Family::kIpv4, Family::kIpv6, IpsecMode::kTunnel, {}},
        Way{Family::kIpv6, Family::kIpv6, IpsecMode::kTunnel, {"aes-256-gcm"}},
        Way{Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, {"aes-128-gcm", "", true}},
        Way{Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, {"aes-128-gcm", "", false, true}}));

TEST_F(NicGateways, TransportModeKeepsTheHeaderWithOneHopLess) {
  left_.plug(nic_.port());
  const PolicyTemplate ends{*IpAddress::parse("192.0.2.1"),
                            *IpAddress::parse("192.0.2.2"),
                            7,
                            0,
                            IpsecMode::kTransport,
                            false};
  for (Gateway* gateway : {&left_, &right_})
    gateway->tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTransport);
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "192.0.2.1/32", "192.0.2.2/32", ends);
  FrameOptions options = from_host("192.0.2.1", "192.0.2.2");
  left_.run({packet(ipv4_frame(options))}, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(for_nic(out[0]));
  EXPECT_EQ(out[0]->l3_len, kIpv4Bytes);
  const Frame frame = bytes_of(out[0]);
  const uint8_t* ip = frame.data() + kEthernetBytes;
  EXPECT_EQ(ip[8], 63);
  EXPECT_EQ(full_checksum(ip, kIpv4Bytes), 0);
  ASSERT_TRUE(nic_.seal(out[0]));
  right_.run({carried(out[0])}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kLocal}) << "opened, and for us";
  EXPECT_EQ(right_.sa(2).packets.load(), 1u);
  // The last hop is refused by rewrite, behind the CPU.
  options.ttl = 1;
  left_.run({packet(ipv4_frame(options))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
  EXPECT_TRUE(nic_.queued.empty());
}

TEST_F(NicGateways, CountWhatTheNicHad) {
  left_.plug(nic_.port());
  tunnels();
  left_.run({packet(from_host_of_left()), packet(from_host_of_left())}, 0);
  EXPECT_EQ(nic_packets(left_, 2), 2u);
  const auto view = left_.ipsec().find({*IpAddress::parse("192.0.2.2"), kSpi * 2});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->nic.packets, 2u);
  EXPECT_EQ(view->nic.ports, std::vector<std::string>{"nic1"});
  EXPECT_EQ(view->usage.packets, 2u);
  free_all(left_.sent(1));
}

TEST_F(NicGateways, WhatLeavesByAnotherPortIsSealedByCpu) {
  left_.plug(other_.port());  // port 0 only
  tunnels();
  ASSERT_EQ(other_.alive(), 2u);
  const Frame sent = from_host_of_left();
  left_.run({packet(sent)}, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(other_.queued.empty());
  expect_sealed_by_cpu(out, sent);
}

TEST_F(NicGateways, WhatIsRoutedToAnotherPortIsSealedByCpuFromThenOn) {
  left_.plug(nic_.port());
  tunnels();
  const Frame sent = from_host_of_left();
  left_.run({packet(sent)}, 0);
  EXPECT_EQ(nic_.queued.size(), 1u);
  free_all(left_.sent(1));
  nic_.queued.clear();
  route_end({0});
  left_.run({packet(sent)}, 0);
  EXPECT_TRUE(left_.sent(1).empty());
  auto out = left_.sent(0);
  ASSERT_EQ(out.size(), 1u);
  expect_sealed_by_cpu(out, sent);
}

TEST_F(NicGateways, ARouteThatChangesBehindTheChoiceSendsNothingElsewhere) {
  left_.plug(nic_.port());
  tunnels();
  left_.before_leaving = [this] { route_end({0}); };
  left_.run({packet(from_host_of_left())}, 0);
  EXPECT_TRUE(left_.sent(0).empty());
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(nic_.seal(out[0]));
  free_all(out);
}

TEST_F(NicGateways, MultipathIsSealedByCpuWhereverItGoes) {
  left_.plug(nic_.port());
  left_.plug(other_.port());
  tunnels();
  route_end({0, 1});
  const Frame sent = from_host_of_left();
  left_.run({packet(sent), packet(sent), packet(sent)}, 0);
  auto out = left_.sent(0);
  for (rte_mbuf* each : left_.sent(1)) out.push_back(each);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(other_.queued.empty());
  expect_sealed_by_cpu(out, sent);
}

TEST_F(NicGateways, APortThatIsWithdrawnIsGivenNothing) {
  left_.plug(nic_.port());
  tunnels();
  left_.nic().withdraw(1);
  const Frame sent = from_host_of_left();
  left_.run({packet(sent)}, 0);
  expect_sealed_by_cpu(left_.sent(1), sent);
}

TEST_F(NicGateways, ACaptureSeesWhatTheCpuSeals) {
  left_.plug(nic_.port());
  tunnels();
  CaptureOptions options;
  options.points = bit(CapturePoint::kEncapOuter);
  auto session = std::make_shared<CaptureSession>(options);
  left_.snapshot().capture = std::make_shared<CaptureUse>(session);
  const Frame sent = from_host_of_left();
  left_.run({packet(sent)}, 0);
  left_.snapshot().capture.reset();
  expect_sealed_by_cpu(left_.sent(1), sent);
}

TEST_F(NicGateways, MetadataRefusedIsADropByName) {
  left_.plug(nic_.port());
  tunnels();
  nic_.refuses_metadata = true;
  left_.run({packet(from_host_of_left())}, 0);
  EXPECT_TRUE(left_.sent(1).empty());
  EXPECT_EQ(left_.refused(), std::vector{Reason::kEspMalformed});
}

TEST_F(NicGateways, WhatDoesNotFitIsCutOrToldAsEver) {
  left_.plug(nic_.port());
  tunnels();
  left_.run({packet(from_host_of_left(1460))}, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 2u);
  for (rte_mbuf* each : out) {
    EXPECT_TRUE(for_nic(each));
    EXPECT_LE(each->pkt_len, 1500u + kEthernetBytes);
    EXPECT_TRUE(nic_.seal(each));
    carried(each);
  }
  right_.run(out, 1);
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 2u);
  free_all(arrived);
  FrameOptions last = from_left();
  last.ttl = 1;
  left_.run({packet(ipv4_frame(last))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
}

TEST_F(NicGateways, TheNicComesBeforeADevice) {
  Offload::Devices devices;
  devices.push_back(std::make_unique<gpu_offload::HostDevice>(false, -1));
  {
    ScriptedNic nic{1};
    Gateway both(1, 1500, std::move(devices));
    both.tick();
    both.plug(nic.port());
    both.tunnel();
    both.run({packet(from_host_of_left()), packet(from_host_of_left())}, 0);
    EXPECT_TRUE(both.device().empty());
    auto out = both.sent(1);
    ASSERT_EQ(out.size(), 2u);
    for (rte_mbuf* each : out) EXPECT_TRUE(nic.seal(each));
    free_all(out);
    both.settle();
    both.unplug(1);
  }
}

// ---- inbound

TEST_F(NicGateways, WhatTheNicOpenedIsChecked) {
  right_.plug(nic_.port());
  tunnels();
  const Frame sent = from_host_of_left();
  rte_mbuf* one = opened(sent);
  rte_mbuf* replayed = packet(bytes_of(one));
  replayed->ol_flags |= kOpened;
  right_.run({one}, 1);
  EXPECT_TRUE(right_.refused().empty());
  auto arrived = right_.sent(0);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_TRUE(carries(bytes_of(arrived[0]), sent));
  EXPECT_EQ(right_.sa(2).replay.top(), 1u);
  EXPECT_EQ(nic_packets(right_, 2), 1u);
  free_all(arrived);
  right_.run({replayed}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspReplay});
}

TEST_F(NicGateways, AWrongIcvLeavesTheWindowAlone) {
  right_.plug(nic_.port());
  tunnels();
  rte_mbuf* forged = sealed(from_host_of_left());
  rte_mbuf* right = packet(bytes_of(forged));
  rte_pktmbuf_mtod(forged, uint8_t*)[forged->data_len - 1] ^= 1;
  ASSERT_TRUE(nic_.open(forged));
  ASSERT_EQ(forged->ol_flags & kFailed, kFailed);
  right_.run({forged}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspBadIcv});
  EXPECT_EQ(right_.sa(2).replay.top(), 0u);
  ASSERT_TRUE(nic_.open(right));
  right_.run({right}, 1);
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 1u);
  free_all(arrived);
}

TEST_F(NicGateways, AFlagOfAPortWithoutOurContextSaysNothing) {
  tunnels();
  // Sealed: the CPU opens it, whatever the flag says.
  rte_mbuf* one = sealed(from_host_of_left());
  one->ol_flags |= kFailed;
  right_.run({one}, 1);
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 1u);
  free_all(arrived);
  // In the clear within ESP: that is a wrong ICV.
  ScriptedNic elsewhere{1};
  Gateway third(2);
  third.plug(elsewhere.port());
  third.tunnel();
  rte_mbuf* clear = sealed(from_host_of_left());
  ASSERT_TRUE(elsewhere.open(clear));
  right_.run({clear}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspBadIcv});
  third.unplug(1);
  // And not in ESP at all: no SA brought it, whatever lies where the mark has its SA.
  FrameOptions bare = from_left();
  bare.to = own_mac(1);
  rte_mbuf* plain = packet(ipv4_frame(bare));
  plain->ol_flags |= kOpened;
  *RTE_MBUF_DYNFIELD(plain, register_sa_mark()->field, uint64_t*) = 0xdeadbeef;
  right_.run({plain}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
}

TEST_F(NicGateways, WhatNoSaOfTheNicAnswersForIsDroppedByName) {
  right_.plug(nic_.port());
  tunnels();
  const Frame sent = from_host_of_left();
  // Not ESP at all.
  FrameOptions bare = from_left();
  bare.to = own_mac(1);
  rte_mbuf* plain = packet(ipv4_frame(bare));
  plain->ol_flags |= kOpened;
  *RTE_MBUF_DYNFIELD(plain, register_sa_mark()->field, uint64_t*) = 0xdeadbeef;
  // A part of a packet.
  rte_mbuf* part = opened(sent);
  Frame cut = bytes_of(part);
  cut[kEthernetBytes + 6] = 0x20;
  fix_checksum(cut);
  rte_mbuf* fragment = packet(cut);
  fragment->ol_flags |= kOpened;
  // What classify would hand to Linux.
  Frame with_options = cut;
  with_options[kEthernetBytes] = 0x46;
  with_options[kEthernetBytes + 6] = 0;
  uint16_t sum = 0;
  std::memcpy(&with_options[kEthernetBytes + 10], &sum, 2);
  sum = full_checksum(with_options.data() + kEthernetBytes, 24);
  std::memcpy(&with_options[kEthernetBytes + 10], &sum, 2);
  rte_mbuf* optional = packet(with_options);
  optional->ol_flags |= kOpened;
  right_.run({plain, fragment, optional}, 1);
  EXPECT_EQ(right_.refused(), (std::vector(3, Reason::kEspMalformed)));
  // An SA that is gone.
  rte_pktmbuf_free(part);
  rte_mbuf* late = opened(sent);
  ASSERT_TRUE(
      right_.ipsec().remove_sa({*IpAddress::parse("192.0.2.2"), kSpi * 2}, RouteOrigin::kFile));
  right_.ipsec().commit();
  right_.run({late}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspUnknownSpi});
  EXPECT_TRUE(right_.sent(0).empty());
  EXPECT_TRUE(right_.sent(1).empty());
}

TEST_F(NicGateways, AnSaDoesNotAnswerForWhatTheOneBeforeItOpened) {
  right_.plug(nic_.port());
  tunnels();
  rte_mbuf* late = opened(from_host_of_left());
  // The same SPI with other keys: its session has to wait.
  const IpAddress here = *IpAddress::parse("192.0.2.2");
  ASSERT_TRUE(right_.ipsec().remove_sa({here, kSpi * 2}, RouteOrigin::kFile));
  SaState state;
  state.id = {here, kSpi * 2};
  state.source = *IpAddress::parse("192.0.2.1");
  state.origin = RouteOrigin::kFile;
  state.reqid = 7;
  state.transform = *esp::transform_by_name("aes-128-gcm", "");
  state.keys.cipher_bytes = 20;
  state.keys.cipher.fill(0x33);
  state.replay_window = 64;
  ASSERT_TRUE(right_.ipsec().add_sa(state));
  right_.ipsec().commit();
  right_.run({late}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspBadIcv});
  EXPECT_EQ(right_.sa(2).replay.top(), 0u);
  const auto view = right_.ipsec().find(state.id);
  EXPECT_EQ(view->drops[static_cast<size_t>(Reason::kEspBadIcv) -
                        static_cast<size_t>(esp::kFirstSaReason)],
            1u);
}

TEST_F(NicGateways, OpenedAndSealedPacketsOfOneChunk) {
  right_.plug(nic_.port());
  tunnels();
  std::vector<rte_mbuf*> mixed;
  for (unsigned i = 0; i < 12; ++i) {
    rte_mbuf* one = sealed(from_host_of_left());
    if (i % 3 != 0) {
      ASSERT_TRUE(nic_.open(one));
    }
    mixed.push_back(one);
  }
  right_.run(mixed, 1);
  EXPECT_TRUE(right_.refused().empty());
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 12u);
  EXPECT_EQ(nic_packets(right_, 2), 8u);
  EXPECT_EQ(right_.sa(2).packets.load(), 12u);
  const uint64_t marks = register_sa_mark()->flag | kFailed;
  for (const rte_mbuf* each : arrived) EXPECT_EQ(each->ol_flags & marks, 0u);
  free_all(arrived);
}

}  // namespace
}  // namespace hecto::router::test
