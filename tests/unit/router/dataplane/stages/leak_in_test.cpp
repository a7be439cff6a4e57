// Forged plaintext, by every way past the look-up: what comes in meets the inbound policies.
#include <gtest/gtest.h>

#include "router/ipsec/esp/sad.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

// As the other side's host would send it to `destination`, in clear, at the outer port.
FrameOptions forged(const char* destination = "10.2.0.1") {
  FrameOptions options = from_host("10.1.0.1", destination);
  options.to = own_mac(1);
  return options;
}
FrameOptions forged6(const char* destination = "fd00:2::1") {
  FrameOptions options = from_host("fd00:1::1", destination);
  options.to = own_mac(1);
  return options;
}

// With a word of options in front of its payload.
Frame with_options(const FrameOptions& options, std::vector<uint8_t> words) {
  Frame frame = ipv4_frame(options);
  frame.insert(frame.begin() + kIp + 20, words.begin(), words.end());
  frame[kIp] = static_cast<uint8_t>(0x45 + words.size() / 4);
  const size_t total = frame.size() - kIp;
  frame[kIp + 2] = static_cast<uint8_t>(total >> 8);
  frame[kIp + 3] = static_cast<uint8_t>(total);
  fix_checksum(frame);
  return frame;
}
Frame with_hop_by_hop(const FrameOptions& options) {
  Frame frame = ipv6_frame(options);
  const uint8_t header[8] = {frame[kIp + 6], 0, 1, 4, 0, 0, 0, 0};
  frame.insert(frame.begin() + kIp + 40, header, header + 8);
  frame[kIp + 6] = 0;
  const size_t payload = frame.size() - kIp - 40;
  frame[kIp + 4] = static_cast<uint8_t>(payload >> 8);
  frame[kIp + 5] = static_cast<uint8_t>(payload);
  return frame;
}
Frame as_fragment(Frame frame, uint16_t offset_and_flags) {
  frame[kIp + 6] = static_cast<uint8_t>(offset_and_flags >> 8);
  frame[kIp + 7] = static_cast<uint8_t>(offset_and_flags);
  fix_checksum(frame);
  return frame;
}
const std::vector<uint8_t> kNops = {1, 1, 1, 1};
const std::vector<uint8_t> kRecordRoute = {7, 7, 4, 0, 0, 0, 0, 0};

class LeakIn : public TwoGateways {
 protected:
  void SetUp() override {
    right_.tunnel();
    right_.tunnel(Family::kIpv6);
  }
  // How right refuses the frame, at the outer port.
  Reason reason(const Frame& frame) {
    right_.run({packet(frame)}, 1);
    const std::vector<Reason> refused = right_.refused();
    return refused.size() == 1 ? refused[0] : Reason::kNone;
  }
  void policy_in(PolicyAction action, const char* source, const char* destination,
                 uint8_t protocol = 0, uint16_t port = 0, uint32_t priority = 10) {
    for (const PolicyDirection direction : {PolicyDirection::kIn, PolicyDirection::kForward}) {
      IpsecPolicy policy;
      policy.direction = direction;
      policy.action = action;
      policy.selector.source = *IpPrefix::parse(source);
      policy.selector.destination = *IpPrefix::parse(destination);
      policy.selector.family = policy.selector.source.address.family;
      policy.selector.protocol = protocol;
      policy.selector.destination_port = port;
      policy.selector.destination_port_mask = port == 0 ? 0 : 0xffff;
      policy.priority = priority;
      policy.origin = RouteOrigin::kFile;
      ASSERT_TRUE(right_.ipsec().add_policy(policy));
    }
    right_.ipsec().commit();
  }
};

TEST_F(LeakIn, OptionsAndHopByHopHeadersToHostsAndToUs) {
  for (const auto& options : {kNops, kRecordRoute}) {
    EXPECT_EQ(reason(with_options(forged(), options)), Reason::kPolicyMismatch);
    EXPECT_EQ(reason(with_options(forged("10.2.0.254"), options)), Reason::kPolicyMismatch);
  }
  EXPECT_EQ(reason(with_hop_by_hop(forged6())), Reason::kPolicyMismatch);
  EXPECT_EQ(reason(with_hop_by_hop(forged6("fd00:2::fe"))), Reason::kPolicyMismatch);
  // Others go their way.
  FrameOptions other = forged();
  other.source = "203.0.113.1";
  EXPECT_EQ(reason(with_options(other, kNops)), Reason::kOptions);
}

TEST_F(LeakIn, LinkLocalSenders) {
  policy_in(PolicyAction::kDiscard, "169.254.0.0/16", "10.2.0.0/24");
  policy_in(PolicyAction::kDiscard, "fe80::/10", "fd00:2::/64");
  FrameOptions options = forged();
  options.source = "169.254.7.7";
  EXPECT_EQ(reason(ipv4_frame(options)), Reason::kPolicyDiscard);
  options.destination = "10.2.0.254";
  EXPECT_EQ(reason(ipv4_frame(options)), Reason::kPolicyDiscard);
  options.destination = "192.0.2.2";
  EXPECT_EQ(reason(ipv4_frame(options)), Reason::kLinkLocal);
  FrameOptions v6 = forged6();
  v6.source = "fe80::7";
  EXPECT_EQ(reason(ipv6_frame(v6)), Reason::kPolicyDiscard);
}

TEST_F(LeakIn, NoRouteUnreachableAndDevicesOfLinuxAlone) {
  policy_in(PolicyAction::kDiscard, "10.1.0.0/24", "0.0.0.0/0");
  EXPECT_EQ(reason(ipv4_frame(forged("198.18.0.1"))), Reason::kPolicyDiscard) << "no route";
  Route route;
  route.origin = RouteOrigin::kFile;
  route.prefix = *IpPrefix::parse("198.18.1.0/24");
  route.type = RouteType::kUnreachable;
  ASSERT_TRUE(right_.routing().add(route));
  LinuxLink device;
  device.ifindex = 77;
  device.name = "eth7";
  device.up = device.carrier = true;
  right_.routing().link(device, false);
  Route by_device;
  by_device.prefix = *IpPrefix::parse("198.18.2.0/24");
  by_device.protocol = 4;
  NextHop hop;
  hop.ifindex = 77;
  by_device.next_hops = {hop};
  right_.routing().route(by_device, false, false);
  right_.routing().commit();
  EXPECT_EQ(reason(ipv4_frame(forged("198.18.1.1"))), Reason::kPolicyDiscard);
  EXPECT_EQ(reason(ipv4_frame(forged("198.18.2.1"))), Reason::kPolicyDiscard);
  FrameOptions other = forged("198.18.2.1");
  other.source = "203.0.113.1";
  EXPECT_EQ(reason(ipv4_frame(other)), Reason::kLocal) << "Linux forwards it";
}

TEST_F(LeakIn, HopsAtTheirEndAndOwnSockets) {
  FrameOptions last = forged();
  last.ttl = 1;
  EXPECT_EQ(reason(ipv4_frame(last)), Reason::kPolicyMismatch);
  EXPECT_EQ(reason(ipv4_frame(forged("10.2.0.254"))), Reason::kPolicyMismatch);
}

TEST_F(LeakIn, BroadcastFramesAndFramesWithSeveralTags) {
  FrameOptions broadcast = forged();
  broadcast.to = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(reason(ipv4_frame(broadcast)), Reason::kPolicyMismatch);
  broadcast.source = "203.0.113.1";
  EXPECT_EQ(reason(ipv4_frame(broadcast)), Reason::kBroadcast);
  Frame tags = ipv4_frame(forged());
  const uint8_t outer[4] = {0x88, 0xa8, 0, 7};
  tags.insert(tags.begin() + 12, outer, outer + 4);
  EXPECT_EQ(reason(tags), Reason::kPolicyMismatch);
}

TEST_F(LeakIn, MulticastMeetsThePoliciesAndWhatALinkLivesByDoesNot) {
  policy_in(PolicyAction::kDiscard, "0.0.0.0/0", "224.0.0.0/4");
  policy_in(PolicyAction::kDiscard, "::/0", "::/0");
  FrameOptions hello = forged("224.0.0.5");
  hello.source = "192.0.2.1";
  hello.protocol = 89;
  EXPECT_EQ(reason(ipv4_frame(hello)), Reason::kPolicyDiscard);
  FrameOptions options = forged6("ff02::1:ff00:2");
  options.source = "2001:db8::1";
  options.protocol = 58;
  options.ttl = 255;
  Frame solicitation = ipv6_frame(options);
  solicitation[kIp + 40] = 135;
  EXPECT_EQ(reason(solicitation), Reason::kMulticast);
  options.destination = "2001:db8::2";
  Frame probe = ipv6_frame(options);
  probe[kIp + 40] = 135;
  EXPECT_EQ(reason(probe), Reason::kLocal);
  probe[kIp + 40] = 128;
  EXPECT_EQ(reason(probe), Reason::kPolicyDiscard) << "an echo is not";
  options.destination = "fd00:2::1";
  Frame through = ipv6_frame(options);
  through[kIp + 40] = 135;
  EXPECT_EQ(reason(through), Reason::kPolicyDiscard) << "nor what is forwarded";
}

TEST_F(LeakIn, WhatCameByTheTunnelMayHaveOptions) {
  left_.tunnel();
  const auto arrived = across({packet(ipv4_frame(from_left()))});
  EXPECT_EQ(arrived.size(), 1u);
  for (rte_mbuf* m : arrived) rte_pktmbuf_free(m);
  // Left seals what Linux gives it, options and all; right refuses it for its options alone.
  FrameOptions options = from_left();
  options.to = own_mac(1);
  left_.send_own(packet(with_options(options, kNops)));
  auto outer = left_.sent(1);
  ASSERT_EQ(outer.size(), 1u);
  right_.run({carried(outer[0])}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kOptions});
}

TEST_F(LeakIn, FragmentsPastAPolicyWithPorts) {
  policy_in(PolicyAction::kDiscard, "203.0.113.0/24", "10.2.0.0/24", 17, 9);
  FrameOptions options = forged();
  options.source = "203.0.113.5";
  const Frame whole = ipv4_frame(options);
  for (const uint16_t place : {0x2000, 0x2010, 0x0010})
    EXPECT_EQ(reason(as_fragment(whole, place)), Reason::kPolicyUnjudged) << place;
  options.destination = "10.2.0.254";
  EXPECT_EQ(reason(as_fragment(ipv4_frame(options), 0x0010)), Reason::kPolicyUnjudged);
  options.protocol = 6;
  EXPECT_EQ(reason(as_fragment(ipv4_frame(options), 0x0010)), Reason::kLocal)
      << "the protocol is seen: it is another";
}

TEST_F(LeakIn, HeadersThatAreCutOff) {
  policy_in(PolicyAction::kDiscard, "203.0.113.0/24", "10.2.0.0/24", 17, 9);
  FrameOptions options = forged();
  options.source = "203.0.113.5";
  options.payload_bytes = 3;
  EXPECT_EQ(reason(ipv4_frame(options)), Reason::kPolicyUnjudged);
}

// Linux has the keys of its SAs, too, but no window that knows what came here.
TEST_F(LeakIn, EspThatNoSaTakesHereIsNotLeftToLinux) {
  left_.tunnel();
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  auto out = left_.sent(1);
  ASSERT_EQ(out.size(), 1u);
  Frame esp = bytes_of(carried(out[0]));
  rte_pktmbuf_free(out[0]);
  esp.insert(esp.begin() + kIp + 20, kNops.begin(), kNops.end());
  esp[kIp] = 0x46;
  const size_t total = esp.size() - kIp;
  esp[kIp + 2] = static_cast<uint8_t>(total >> 8);
  esp[kIp + 3] = static_cast<uint8_t>(total);
  fix_checksum(esp);
  EXPECT_EQ(reason(esp), Reason::kEspUnknownSpi);
  // A first fragment of ESP in UDP: Linux would put it together. IKE in fragments passes.
  Frame natt = ipv4_frame(from_left());
  natt[kIp + 9] = 17;
  natt[kIp + 20 + 2] = 4500 >> 8;
  natt[kIp + 20 + 3] = 4500 & 0xff;
  natt[kIp + 6] = 0x20;
  std::memset(natt.data() + kIp + 28, 0x11, 4);
  for (const bool ike : {false, true}) {
    if (ike) std::memset(natt.data() + kIp + 28, 0, 4);
    fix_checksum(natt);
    Frame own = natt;
    std::memcpy(own.data(), esp.data(), kIp);
    std::memcpy(own.data() + kIp + 12, esp.data() + kIp + 12, 8);
    fix_checksum(own);
    const Reason got = reason(own);
    EXPECT_EQ(got == Reason::kEspFragment, !ike) << info(got).name;
  }
  FrameOptions options;
  options.to = own_mac(1);
  options.source = "2001:db8::1";
  options.destination = "2001:db8::2";
  options.protocol = 60;
  Frame behind = ipv6_frame(options);
  behind[kIp + 40] = 50;
  behind[kIp + 41] = 0;
  EXPECT_EQ(reason(behind), Reason::kEspMalformed);
}

// 192.0.2.7 is another gateway behind this one; left's SA to right has the same SPI.
TEST_F(LeakIn, TransitEspByTheSpiOfAnSaThatSendsPasses) {
  FrameOptions options = from_host("203.0.113.1", "192.0.2.1", 60);
  options.protocol = 50;
  Frame transit = ipv4_frame(options);
  transit[kIp + 20] = 0;
  transit[kIp + 21] = 0;
  transit[kIp + 22] = kSpi >> 8;
  transit[kIp + 23] = kSpi & 0xff;
  const IpAddress far = *IpAddress::parse("192.0.2.1");
  const esp::Sa* sending = right_.ipsec().view().sad->find(kSpi, Family::kIpv4, far.bytes.data());
  ASSERT_NE(sending, nullptr);
  right_.run({packet(transit)}, 0);
  EXPECT_TRUE(right_.refused().empty());
  const auto sent = right_.sent(1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(bytes_of(sent[0]).size(), transit.size());
  rte_pktmbuf_free(sent[0]);
}

TEST_F(LeakIn, ReversePathIsTheTunnelsNotTheWires) {
  left_.tunnel();
  right_.snapshot().features |= kFeatureUrpf;
  right_.snapshot().interfaces[1].urpf = UrpfMode::kStrict;
  // Left's network is behind right's other port, says a route: strict, the wire would not do.
  Route route;
  route.origin = RouteOrigin::kFile;
  route.prefix = *IpPrefix::parse("10.1.0.0/25");
  NextHop hop;
  hop.gateway = *IpAddress::parse("10.2.0.1");
  hop.interface = 0;
  route.next_hops = {hop};
  ASSERT_TRUE(right_.routing().add(route));
  right_.routing().commit();
  const auto arrived = across({packet(ipv4_frame(from_left()))});
  EXPECT_EQ(arrived.size(), 1u);
  for (rte_mbuf* m : arrived) rte_pktmbuf_free(m);
  EXPECT_TRUE(right_.refused().empty());
  EXPECT_EQ(reason(ipv4_frame(forged())), Reason::kUrpf) << "in clear it is the wire's";
}

TEST_F(LeakIn, WhileClosedNothingPassesButWhatALinkLivesBy) {
  right_.snapshot().closed = true;
  FrameOptions other = from_host("203.0.113.1", "10.2.0.1");
  other.to = own_mac(1);
  Frame arp = ipv4_frame(other);
  arp[12] = 8;
  arp[13] = 6;
  EXPECT_EQ(reason(ipv4_frame(other)), Reason::kNotReady);
  EXPECT_EQ(reason(ipv6_frame(forged6())), Reason::kNotReady);
  EXPECT_EQ(reason(with_options(other, kNops)), Reason::kNotReady);
  EXPECT_EQ(reason(arp), Reason::kArp);
  // Without IP, which Linux forwards none of: LLDP, LACP, IS-IS behind its length and LLC.
  for (const auto& [high, low] : {std::pair(0x88, 0xcc), std::pair(0x88, 0x09), std::pair(0, 46)}) {
    Frame frame = arp;
    frame[12] = static_cast<uint8_t>(high);
    frame[13] = static_cast<uint8_t>(low);
    frame[kIp] = frame[kIp + 1] = 0xfe;
    EXPECT_EQ(reason(frame), Reason::kOtherProtocol) << high << " " << low;
  }
  right_.snapshot().closed = false;
  right_.run({packet(ipv4_frame(other))}, 1);
  const auto sent = right_.sent(0);
  EXPECT_EQ(sent.size(), 1u);
  for (rte_mbuf* m : sent) rte_pktmbuf_free(m);
}

}  // namespace
}  // namespace hecto::router::test
