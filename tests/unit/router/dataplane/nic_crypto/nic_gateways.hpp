// Left and right, of which one has a NIC with inline crypto.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/router/dataplane/nic_crypto/scripted_nic.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {

inline constexpr uint64_t kOpened = RTE_MBUF_F_RX_SEC_OFFLOAD;
inline constexpr uint64_t kFailed = kOpened | RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;

inline bool for_nic(const rte_mbuf* packet) {
  return (packet->ol_flags & RTE_MBUF_F_TX_SEC_OFFLOAD) != 0;
}

// Whether a frame carries what a host sent, from its UDP header on, as it was sent.
inline bool carries(const Frame& frame, const Frame& sent) {
  const auto begin = sent.begin() + kEthernetBytes + kIpv4Bytes;
  return std::search(frame.begin(), frame.end(), begin, sent.end()) != frame.end();
}

inline Frame from_host_of_left(uint16_t payload = 200) {
  Frame frame = ipv4_frame(from_left(payload));
  for (size_t i = kEthernetBytes + kIpv4Bytes + 8; i < frame.size(); ++i)
    frame[i] = static_cast<uint8_t>(i * 7);
  return frame;
}

inline void free_all(const std::vector<rte_mbuf*>& packets) {
  for (rte_mbuf* each : packets) rte_pktmbuf_free(each);
}

class NicGateways : public TwoGateways {
 protected:
  ~NicGateways() override {
    for (Gateway* gateway : {&left_, &right_})
      for (const PortId port : {PortId{0}, PortId{1}}) gateway->unplug(port);
  }
  void tunnels(const Algorithm& algorithm = {}) {
    for (Gateway* gateway : {&left_, &right_})
      gateway->tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, algorithm);
  }
  // To the tunnel's far end by `interfaces`: more than one is ECMP.
  void route_end(const std::vector<InterfaceId>& interfaces) {
    Route route;
    route.prefix = *IpPrefix::parse("192.0.2.2/32");
    route.origin = RouteOrigin::kFile;
    for (const InterfaceId interface : interfaces) {
      NextHop hop;
      hop.gateway = *IpAddress::parse(interface == 0 ? "10.1.0.1" : "192.0.2.3");
      hop.interface = interface;
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

}  // namespace hecto::router::test
