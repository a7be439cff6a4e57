// What leaves in clear, by every way: outbound policies hold for all of it, or it is dropped by name.
#include <gtest/gtest.h>

#include "router/dataplane/stages/framed_ip.hpp"
#include "router/ipsec/esp/sad.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

class LeakOut : public TwoGateways {
 protected:
  // As Linux sends it by a twin: refused for, or kNone where it may leave as it is.
  Reason linux_sends(const Frame& frame, bool by_policy = false) {
    left_.pipeline().use(left_.snapshot(), {});
    const FramedIp found = find_ip(frame.data(), static_cast<uint32_t>(frame.size()));
    return left_.pipeline().check_linux(found, 0, by_policy);
  }
  static Frame own(const char* source = "10.1.0.254", const char* destination = "10.2.0.1",
                   uint16_t payload = 60) {
    FrameOptions options = from_host(source, destination, payload);
    return ipv4_frame(options);
  }
  static Frame tagged(Frame frame, std::vector<uint8_t> tags) {
    frame.insert(frame.begin() + 12, tags.begin(), tags.end());
    return frame;
  }
  Reason forwarded(const Frame& frame) {
    left_.run({packet(frame)}, 0);
    const std::vector<Reason> refused = left_.refused();
    return refused.size() == 1 ? refused[0] : Reason::kNone;
  }
  void device_route(const char* prefix, int ifindex = 77) {
    LinuxLink device;
    device.ifindex = ifindex;
    device.name = "eth7";
    device.up = device.carrier = true;
    left_.routing().link(device, false);
    Route route;
    route.prefix = *IpPrefix::parse(prefix);
    route.protocol = 4;
    NextHop hop;
    hop.ifindex = ifindex;
    route.next_hops = {hop};
    left_.routing().route(route, false, false);
    left_.routing().commit();
  }
  static PolicyTemplate to_right() {
    return {*IpAddress::parse("192.0.2.1"),
            *IpAddress::parse("192.0.2.2"),
            7,
            0,
            IpsecMode::kTunnel,
            false};
  }
};

TEST_F(LeakOut, FramesOfLinuxThatNoLaneTakes) {
  left_.tunnel();
  const Frame whole = own();
  Frame group = whole;
  group[0] |= 1;
  Frame padded = whole;
  padded.push_back(0);
  EXPECT_EQ(linux_sends(group), Reason::kPolicyUnjudged);
  EXPECT_EQ(linux_sends(padded), Reason::kPolicyUnjudged);
  EXPECT_EQ(linux_sends(tagged(whole, {0x81, 0, 0, 5, 0x81, 0, 0, 6})), Reason::kPolicyUnjudged);
  EXPECT_EQ(linux_sends(tagged(whole, {0x88, 0xa8, 0, 5})), Reason::kPolicyUnjudged);
  Frame cut = whole;
  cut.resize(kIp + 12);
  EXPECT_EQ(linux_sends(cut), Reason::kPolicyUnjudged);
  Frame arp = whole;
  arp[13] = 6;
  EXPECT_EQ(linux_sends(arp), Reason::kNone);
  const Frame other = own("10.1.0.254", "203.0.113.1");
  EXPECT_EQ(linux_sends(tagged(other, {0x88, 0xa8, 0, 5})), Reason::kNone) << "no policy's";
  left_.policy(PolicyDirection::kOut, PolicyAction::kDiscard, "10.1.0.254/32", "203.0.113.0/24");
  EXPECT_EQ(linux_sends(tagged(other, {0x88, 0xa8, 0, 5})), Reason::kPolicyDiscard);
}

TEST_F(LeakOut, IkeAndWhatALinkLivesByGoByThePolicies) {
  left_.policy(PolicyDirection::kOut, PolicyAction::kDiscard, "0.0.0.0/0", "0.0.0.0/0");
  left_.policy(PolicyDirection::kOut, PolicyAction::kDiscard, "::/0", "::/0");
  Frame ike = own("192.0.2.1", "192.0.2.2");
  ike[kIp + 20] = 500 >> 8;
  ike[kIp + 21] = 500 & 0xff;
  EXPECT_EQ(linux_sends(ike), Reason::kNone);
  FrameOptions options = from_host("fe80::1", "ff02::1:ff00:1");
  options.protocol = 58;
  options.ttl = 255;
  Frame solicitation = ipv6_frame(options);
  solicitation[kIp + 40] = 135;
  EXPECT_EQ(linux_sends(solicitation), Reason::kNone);
  solicitation[kIp + 40] = 128;
  EXPECT_EQ(linux_sends(solicitation), Reason::kPolicyDiscard);
}

TEST_F(LeakOut, FragmentsPastAPolicyWithPorts) {
  IpsecPolicy policy;
  policy.direction = PolicyDirection::kOut;
  policy.action = PolicyAction::kDiscard;
  policy.selector.source = *IpPrefix::parse("10.1.0.0/24");
  policy.selector.destination = *IpPrefix::parse("10.2.0.0/24");
  policy.selector.protocol = 17;
  policy.selector.destination_port = 4242;
  policy.selector.destination_port_mask = 0xffff;
  policy.origin = RouteOrigin::kFile;
  ASSERT_TRUE(left_.ipsec().add_policy(policy));
  left_.ipsec().commit();
  Frame fragment = ipv4_frame(from_left());
  EXPECT_EQ(forwarded(fragment), Reason::kNone) << "whole, and of other ports";
  for (rte_mbuf* m : left_.sent(1)) rte_pktmbuf_free(m);
  fragment[kIp + 7] = 0x10;
  fix_checksum(fragment);
  EXPECT_EQ(forwarded(fragment), Reason::kPolicyUnjudged);
  EXPECT_EQ(linux_sends(fragment), Reason::kPolicyUnjudged);
  left_.send_own(packet(fragment));
  EXPECT_EQ(left_.refused(), std::vector{Reason::kPolicyUnjudged});
}

TEST_F(LeakOut, LaterFragmentsOfIpv6HideTheProtocolAsWell) {
  IpsecPolicy policy;
  policy.direction = PolicyDirection::kOut;
  policy.action = PolicyAction::kDiscard;
  policy.selector.family = Family::kIpv6;
  policy.selector.source = *IpPrefix::parse("fd00:1::/64");
  policy.selector.destination = *IpPrefix::parse("fd00:2::/64");
  policy.selector.protocol = 6;
  policy.origin = RouteOrigin::kFile;
  ASSERT_TRUE(left_.ipsec().add_policy(policy));
  left_.ipsec().commit();
  FrameOptions options = from_left6();
  options.protocol = 44;
  Frame fragment = ipv6_frame(options);
  std::memset(fragment.data() + kIp + 40, 0, 8);
  fragment[kIp + 40] = 17;
  fragment[kIp + 43] = 1;
  EXPECT_EQ(forwarded(fragment), Reason::kNone) << "the first says UDP";
  for (rte_mbuf* m : left_.sent(1)) rte_pktmbuf_free(m);
  fragment[kIp + 42] = 1;
  EXPECT_EQ(forwarded(fragment), Reason::kPolicyUnjudged) << "a later one may say what it likes";
}

TEST_F(LeakOut, RoutesByADeviceOfLinuxAloneGoThroughTheTunnelOrNotAtAll) {
  left_.tunnel();
  device_route("10.7.0.0/24");
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "10.7.0.1"))), Reason::kLocal)
      << "no policy's: Linux forwards it";
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.1.0.0/24", "10.7.0.0/24",
               to_right());
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "10.7.0.1"))), Reason::kNone);
  const auto sent = left_.sent(1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(bytes_of(sent[0])[kIp + 9], 50);
  rte_pktmbuf_free(sent[0]);
  // By Linux's own hand: it has options.
  Frame options = ipv4_frame(from_host("10.1.0.1", "10.7.0.1"));
  const uint8_t nops[4] = {1, 1, 1, 1};
  options.insert(options.begin() + kIp + 20, nops, nops + 4);
  options[kIp] = 0x46;
  options[kIp + 3] = static_cast<uint8_t>(options.size() - kIp);
  fix_checksum(options);
  EXPECT_EQ(forwarded(options), Reason::kPolicyUnjudged);
  left_.policy(PolicyDirection::kOut, PolicyAction::kDiscard, "10.1.0.0/24", "10.7.0.0/24", {}, 5);
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "10.7.0.1"))), Reason::kPolicyDiscard);
  EXPECT_EQ(forwarded(options), Reason::kPolicyDiscard);
}

// Linux forwards by the overflow group, by whichever device.
TEST_F(LeakOut, RoutesThatFoundNoGroupGoThroughTheTunnelOrNotAtAll) {
  left_.tunnel();
  for (int i = 0; i < 300; ++i) {
    Route route;
    route.protocol = 4;
    route.prefix = *IpPrefix::parse("10.20." + std::to_string(i % 250) + ".0/24");
    if (i >= 250) route.prefix = *IpPrefix::parse("10.21." + std::to_string(i - 250) + ".0/24");
    NextHop hop;
    hop.gateway = *IpAddress::parse((i < 250 ? "192.0.2." : "10.1.0.") +
                                    std::to_string(i < 250 ? i + 3 : i - 250 + 3));
    hop.interface = InterfaceId(i < 250 ? 1 : 0);
    route.next_hops = {hop};
    left_.routing().route(route, false, false);
  }
  left_.routing().commit();
  const Frame frame = ipv4_frame(from_host("10.1.0.1", "10.21.49.1"));
  ASSERT_EQ(forwarded(frame), Reason::kLocal) << "no policy's: Linux forwards it";
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.1.0.0/24", "10.21.0.0/16",
               to_right());
  EXPECT_EQ(forwarded(frame), Reason::kNone);
  const auto sent = left_.sent(1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(bytes_of(sent[0])[kIp + 9], 50);
  rte_pktmbuf_free(sent[0]);
  left_.policy(PolicyDirection::kOut, PolicyAction::kDiscard, "10.1.0.0/24", "10.21.0.0/16", {}, 5);
  EXPECT_EQ(forwarded(frame), Reason::kPolicyDiscard);
}

TEST_F(LeakOut, WithoutARouteHereLinuxMayHaveOne) {
  left_.tunnel();
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "198.18.0.1"))), Reason::kNoRoute);
  left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.1.0.0/24", "198.18.0.0/24",
               to_right());
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "198.18.0.1"))), Reason::kPolicyUnjudged);
}

TEST_F(LeakOut, ATunnelWhoseEndNoPortLeadsTo) {
  left_.tunnel();
  device_route("192.0.2.2/32");
  EXPECT_EQ(forwarded(ipv4_frame(from_left())), Reason::kTunnelUnreachable);
  // An end that is not resolved: Linux may have the packet if it comes back here, and only then.
  device_route("10.8.0.0/24");
  PolicyTemplate silent = to_right();
  silent.destination = *IpAddress::parse("192.0.2.3");
  SaState state;
  state.id = {silent.destination, 0x300};
  state.source = silent.source;
  state.origin = RouteOrigin::kFile;
  state.reqid = 7;
  state.transform = *esp::transform_by_name("aes-128-gcm", "");
  state.keys.cipher_bytes = 20;
  ASSERT_TRUE(left_.ipsec().add_sa(state));
  for (const char* to : {"10.8.0.0/24", "10.1.0.9/32"})
    left_.policy(PolicyDirection::kOut, PolicyAction::kProtect, "10.1.0.0/24", to, silent, 5);
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "10.8.0.1"))), Reason::kTunnelUnreachable);
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "10.1.0.9"))), Reason::kGlean);
}

TEST_F(LeakOut, PoliciesForWhichThereWasNoRoom) {
  IpsecOptions options;
  Ipsec& ipsec = left_.ipsec();
  IpsecPolicy policy;
  policy.direction = PolicyDirection::kOut;
  policy.action = PolicyAction::kBypass;
  policy.selector.source = *IpPrefix::parse("10.0.0.0/8");
  policy.selector.destination = *IpPrefix::parse("172.16.0.0/32");
  for (uint32_t i = 0; i < options.max_policies; ++i) {
    policy.selector.destination.address.bytes = {172, 16, static_cast<uint8_t>(i >> 8),
                                                 static_cast<uint8_t>(i)};
    policy.priority = 50;
    ipsec.policy(policy);
  }
  ipsec.commit();
  EXPECT_EQ(forwarded(ipv4_frame(from_left())), Reason::kNone);
  for (rte_mbuf* m : left_.sent(1)) rte_pktmbuf_free(m);
  policy.selector.source = *IpPrefix::parse("10.1.0.0/24");
  policy.selector.destination = *IpPrefix::parse("10.2.0.0/24");
  policy.action = PolicyAction::kProtect;
  policy.protection = to_right();
  policy.priority = 60;
  ipsec.policy(policy);  // number 16,385
  ipsec.commit();
  EXPECT_EQ(forwarded(ipv4_frame(from_left())), Reason::kPolicyLeftOut);
  EXPECT_EQ(linux_sends(own()), Reason::kPolicyLeftOut);
  EXPECT_EQ(forwarded(ipv4_frame(from_host("10.1.0.1", "172.16.0.9"))), Reason::kNoRoute)
      << "a better one lets it pass";
}

TEST_F(LeakOut, EspThatLinuxMade) {
  left_.tunnel();
  left_.tunnel(Family::kIpv6, Family::kIpv6);
  const auto esp = [](const char* source, const char* destination, Spi spi, uint8_t protocol) {
    FrameOptions options = from_host(source, destination, 80);
    options.protocol = protocol;
    Frame frame = destination[0] == '1' ? ipv4_frame(options) : ipv6_frame(options);
    const size_t at = kIp + (destination[0] == '1' ? 20 : 40) + (protocol == 17 ? 8 : 0);
    for (int byte = 0; byte < 4; ++byte)
      frame[at + byte] = static_cast<uint8_t>(spi >> (24 - 8 * byte));
    return frame;
  };
  const Spi spi = kSpi * 2;
  const Frame v4 = esp("192.0.2.1", "192.0.2.2", spi, 50);
  EXPECT_EQ(linux_sends(v4, true), Reason::kEspOfLinux);
  EXPECT_EQ(linux_sends(tagged(v4, {0x81, 0, 0, 0}), true), Reason::kEspOfLinux);
  EXPECT_EQ(linux_sends(tagged(v4, {0x88, 0xa8, 0, 5})), Reason::kEspOfLinux);
  EXPECT_EQ(linux_sends(esp("2001:db8::1", "2001:db8::2", spi, 50), true), Reason::kEspOfLinux);
  EXPECT_EQ(linux_sends(esp("192.0.2.1", "192.0.2.2", Spi(spi + 1), 50), true), Reason::kNone)
      << "an SA of somebody else's making";
  EXPECT_EQ(linux_sends(esp("203.0.113.1", "192.0.2.2", spi, 50), true), Reason::kNone)
      << "another's that Linux passes on";
  Frame later = v4;
  later[kIp + 7] = 0x20;
  fix_checksum(later);
  EXPECT_EQ(linux_sends(later, true), Reason::kEspOfLinux) << "from here, whatever its SPI";
  // Behind IPv6's extension headers.
  Frame behind = esp("2001:db8::1", "2001:db8::2", 0, 60);
  behind[kIp + 40] = 50;
  behind[kIp + 41] = 0;
  std::memcpy(behind.data() + kIp + 48, v4.data() + kIp + 20, 4);
  EXPECT_EQ(linux_sends(behind, true), Reason::kEspOfLinux);
  EXPECT_EQ(linux_sends(esp("192.0.2.1", "192.0.2.2", spi, 17), true), Reason::kNone)
      << "the SA is not one in UDP";
}

TEST_F(LeakOut, EspInUdpThatLinuxMade) {
  left_.tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, {.in_udp = true});
  FrameOptions options = from_host("192.0.2.1", "192.0.2.2", 80);
  Frame frame = ipv4_frame(options);
  frame[kIp + 28] = 0;
  frame[kIp + 29] = 0;
  frame[kIp + 30] = (kSpi * 2) >> 8;
  frame[kIp + 31] = (kSpi * 2) & 0xff;
  EXPECT_EQ(linux_sends(frame, true), Reason::kEspOfLinux);
  frame[kIp + 31] ^= 1;
  EXPECT_EQ(linux_sends(frame, true), Reason::kNone);
}

TEST_F(LeakOut, WhileClosedLinuxSendsNothingButWhatALinkLivesBy) {
  left_.snapshot().closed = true;
  EXPECT_EQ(linux_sends(own()), Reason::kNotReady);
  Frame arp = own();
  arp[13] = 6;
  EXPECT_EQ(linux_sends(arp), Reason::kNone);
}

}  // namespace
}  // namespace hecto::router::test
