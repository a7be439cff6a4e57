// ESP whose cipher and ICV a port's NIC does: what reaches the port's queue.
#include "gpu_offload/devices/host.hpp"
#include "router/dataplane/observe/session.hpp"
#include "tests/unit/router/dataplane/nic_crypto/nic_gateways.hpp"

namespace hecto::router::test {
namespace {

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
    EXPECT_EQ(
        each->tx_offload,
        kEthernetBytes | ((outer4 ? kIpv4Bytes : kIpv6Bytes) + (way.algorithm.in_udp ? 8u : 0u))
                             << RTE_MBUF_L2_LEN_BITS);
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
  nic_.on_metadata = [this] { route_end({0}); };
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

TEST_F(NicGateways, WhatLinuxSendsIsSealedByCpu) {
  left_.plug(nic_.port());
  tunnels();
  const Frame sent = ipv4_frame(from_host("10.1.0.254", "10.2.0.1", 200));
  left_.send_own(packet(sent));
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  expect_sealed_by_cpu(out, sent);
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

}  // namespace
}  // namespace hecto::router::test
