// A family without policies is not asked about; what has to be known of its packets all the same.
#include <gtest/gtest.h>

#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

constexpr unsigned kIp = kEthernetBytes;

// The policies and SAs are of one family, what is sent of the other.
class OtherFamily : public TwoGateways, public testing::WithParamInterface<Family> {
 protected:
  bool v4() const { return GetParam() == Family::kIpv4; }
  Family with_policies() const { return v4() ? Family::kIpv6 : Family::kIpv4; }
  void SetUp() override {
    left_.tunnel(with_policies(), with_policies());
    right_.tunnel(with_policies(), with_policies());
  }
  Frame frame(const char* source, const char* destination, PortId port) const {
    FrameOptions options = from_host(source, destination);
    options.to = own_mac(port);
    return v4() ? ipv4_frame(options) : ipv6_frame(options);
  }
  Frame to_right() const {
    return v4() ? frame("10.1.0.1", "10.2.0.1", 0) : frame("fd00:1::1", "fd00:2::1", 0);
  }
  const char* outside() const { return v4() ? "192.0.2.1" : "2001:db8::1"; }
  const char* own() const { return v4() ? "192.0.2.2" : "2001:db8::2"; }
  // What becomes of what left's host sends.
  Reason leaves() {
    left_.run({packet(to_right())}, 0);
    const auto out = left_.sent(1);
    for (rte_mbuf* m : out) {
      EXPECT_EQ(bytes_of(m)[kIp + (v4() ? 9 : 6)], 17) << "in the clear";
      rte_pktmbuf_free(m);
    }
    const auto refused = left_.refused();
    EXPECT_EQ(out.size() + refused.size(), 1u);
    return refused.empty() ? Reason::kNone : refused[0];
  }
  Reason at_right(const Frame& frame) {
    right_.run({packet(frame)}, 1);
    for (rte_mbuf* m : right_.sent(0)) rte_pktmbuf_free(m);
    const auto refused = right_.refused();
    return refused.size() == 1 ? refused[0] : Reason::kNone;
  }
};

TEST_P(OtherFamily, APolicyHoldsFromTheChunkBehindItsCommit) {
  const char* const from = v4() ? "10.1.0.0/24" : "fd00:1::/64";
  const char* const to = v4() ? "10.2.0.0/24" : "fd00:2::/64";
  for (const PolicyDirection direction : {PolicyDirection::kForward, PolicyDirection::kOut}) {
    EXPECT_EQ(leaves(), Reason::kNone);
    left_.policy(direction, PolicyAction::kDiscard, from, to);
    EXPECT_EQ(leaves(), Reason::kPolicyDiscard) << to_string(direction);
    IpsecPolicy gone;
    gone.direction = direction;
    gone.selector.source = *IpPrefix::parse(from);
    gone.selector.destination = *IpPrefix::parse(to);
    gone.selector.family = GetParam();
    gone.origin = RouteOrigin::kFile;
    ASSERT_TRUE(left_.ipsec().remove_policy(gone));
    left_.ipsec().commit();
  }
  EXPECT_EQ(leaves(), Reason::kNone);
  EXPECT_EQ(at_right(frame(outside(), own(), 1)), Reason::kLocal);
  right_.policy(PolicyDirection::kIn, PolicyAction::kDiscard, v4() ? "0.0.0.0/0" : "::/0",
                v4() ? "0.0.0.0/0" : "::/0");
  EXPECT_EQ(at_right(frame(outside(), own(), 1)), Reason::kPolicyDiscard) << "in alone";
}

// Linux must not get it, policies or not.
TEST_P(OtherFamily, EspToUsThatNoSaTakesIsRefused) {
  Frame esp = frame(outside(), own(), 1);
  esp[kIp + (v4() ? 9 : 6)] = 50;
  if (v4()) fix_checksum(esp);
  EXPECT_EQ(at_right(esp), Reason::kEspUnknownSpi);
  Frame natt = frame(outside(), own(), 1);
  uint8_t* udp = natt.data() + kIp + (v4() ? 20 : 40);
  udp[2] = 4500 >> 8;
  udp[3] = 4500 & 0xff;
  std::memset(udp + 8, 0x77, 4);
  EXPECT_EQ(at_right(natt), Reason::kEspUnknownSpi);
  std::memset(udp + 8, 0, 4);
  EXPECT_EQ(at_right(natt), Reason::kLocal) << "IKE";
}

// A tunnel lets in what a policy allows, and there is none.
TEST_P(OtherFamily, WhatComesByAnSaMeetsThePolicies) {
  left_.tunnel(GetParam(), with_policies());
  const auto arrived = across({packet(to_right())});
  EXPECT_TRUE(arrived.empty());
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
}

// Between others, in its place, of a chunk with both families and all ways.
TEST_P(OtherFamily, OthersOfItsChunkKeepTheirOrder) {
  std::vector<rte_mbuf*> packets;
  for (uint16_t i = 0; i < 60; ++i) {
    Frame one = to_right();
    if (i % 3 == 1)
      one = v4() ? frame("10.1.0.1", "10.1.0.254", 0) : frame("fd00:1::1", "fd00:1::fe", 0);
    if (i % 3 == 2) one = v4() ? ipv6_frame(from_left6()) : ipv4_frame(from_left());
    one[kIp + (i % 3 == 2 && v4() ? 47
               : v4()             ? 27
               : i % 3 == 2       ? 27
                            : 47)] = static_cast<uint8_t>(i);  // the UDP checksum's second byte
    packets.push_back(packet(one));
  }
  left_.run(packets, 0);
  EXPECT_EQ(left_.refused(), std::vector<Reason>(20, Reason::kLocal));
  unsigned clear = 0, esp = 0, last = 0;
  for (rte_mbuf* m : left_.sent(1)) {
    const Frame sent = bytes_of(m);
    const bool ipv4 = sent[kIp] >> 4 == 4;
    if (sent[kIp + (ipv4 ? 9 : 6)] == 50) {
      ++esp;
    } else {
      const unsigned number = sent[kIp + (ipv4 ? 27 : 47)];
      EXPECT_EQ(number, clear == 0 ? 0 : last + 3);
      last = number;
      ++clear;
    }
    rte_pktmbuf_free(m);
  }
  EXPECT_EQ(clear, 20u);
  EXPECT_EQ(esp, 20u);
}

INSTANTIATE_TEST_SUITE_P(Ipsec, OtherFamily, testing::Values(Family::kIpv4, Family::kIpv6),
                         [](const auto& tested) {
                           return tested.param == Family::kIpv4 ? "Ipv4" : "Ipv6";
                         });

}  // namespace
}  // namespace hecto::router::test
