#include "router/dataplane/punt/classifier.hpp"

#include <gtest/gtest.h>

#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

constexpr const char *kUs4 = "192.0.2.1", *kPeer4 = "192.0.2.2", *kStranger4 = "198.51.100.66";
constexpr const char *kUs6 = "2001:db8::1", *kPeer6 = "2001:db8::2";

SocketAddress address(const char* text) {
  const auto parsed = lookup::IpAddress::parse(text);
  return {parsed->family == lookup::Family::kIpv6, parsed->bytes};
}

SocketEntry connected(uint8_t protocol, const char* local, uint16_t local_port, const char* remote,
                      uint16_t remote_port) {
  return {protocol,       SocketEntry::State::kConnected, local_port, remote_port, address(local),
          address(remote)};
}
SocketEntry listening(uint8_t protocol, uint16_t port) {
  SocketEntry entry;
  entry.protocol = protocol;
  entry.local_port = port;
  return entry;
}

// A router with a BGP session each family, ssh, BFD, IKE, a DNS client and a daemon on UDP 5000.
struct Sessions {
  Sessions() {
    const std::vector<SocketEntry> sockets = {listening(6, 179),
                                              listening(6, 22),
                                              listening(17, 3784),
                                              listening(17, 4784),
                                              listening(17, 500),
                                              listening(17, 5000),
                                              listening(17, 520),
                                              connected(6, kUs4, 179, kPeer4, 40000),
                                              connected(6, kUs4, 22, kStranger4, 40002),
                                              connected(6, kUs6, 50000, kPeer6, 179),
                                              connected(17, kUs4, 40053, kPeer4, 53)};
    const std::vector<SocketAddress> peers = {address(kPeer4), address(kPeer6)};
    sessions = PuntSessions(sockets, peers);
  }
  PuntSessions sessions;
};

struct Sent {
  const char* from = kPeer4;
  const char* to = kUs4;
  uint8_t protocol = 17;
  uint16_t source_port = 1000, destination_port = 9;
  uint8_t ttl = 64;
  uint8_t tcp_flags = 0x02;
  bool fragment = false;
  uint16_t vlan = 0;
  std::vector<uint8_t> payload = {};  // instead of ports
};

Frame frame(const Sent& sent) {
  FrameOptions options;
  options.source = sent.from;
  options.destination = sent.to;
  options.protocol = sent.protocol;
  options.ttl = sent.ttl;
  options.vlan = sent.vlan;
  const bool v6 = std::string_view(sent.to).find(':') != std::string_view::npos;
  Frame made = v6 ? ipv6_frame(options) : ipv4_frame(options);
  const size_t l2 = kEthernetBytes + (sent.vlan != 0 ? kVlanTagBytes : 0);
  if (sent.fragment && !v6) made[l2 + 6] = 0x20;
  uint8_t* data = made.data() + l2 + (v6 ? kIpv6Bytes : kIpv4Bytes);
  if (!sent.payload.empty()) {
    std::copy(sent.payload.begin(), sent.payload.end(), data);
    return made;
  }
  data[0] = static_cast<uint8_t>(sent.source_port >> 8);
  data[1] = static_cast<uint8_t>(sent.source_port);
  data[2] = static_cast<uint8_t>(sent.destination_port >> 8);
  data[3] = static_cast<uint8_t>(sent.destination_port);
  if (sent.protocol == 6) data[13] = sent.tcp_flags;
  return made;
}

std::string_view local(const Sent& sent, const PuntSessions* sessions) {
  return info(punt_class(frame(sent), Reason::kLocal, true, sessions)).name;
}
std::string_view local(const Sent& sent) {
  static const Sessions known;
  return local(sent, &known.sessions);
}
std::string_view multicast(const Sent& sent) {
  return info(punt_class(frame(sent), Reason::kMulticast, false, nullptr)).name;
}

TEST(PuntClassifier, AConnectionIsASessionAndNothingButIt) {
  EXPECT_EQ(local({.protocol = 6, .source_port = 40000, .destination_port = 179}), "sessions");
  EXPECT_EQ(local({.from = kPeer6,
                   .to = kUs6,
                   .protocol = 6,
                   .source_port = 179,
                   .destination_port = 50000}),
            "sessions");
  EXPECT_EQ(local({.protocol = 17, .source_port = 53, .destination_port = 40053}), "connections");
  EXPECT_EQ(
      local({.from = kStranger4, .protocol = 6, .source_port = 40002, .destination_port = 22}),
      "connections");
  // Another port, another host, another address of ours, another protocol.
  EXPECT_EQ(local({.protocol = 6, .source_port = 40001, .destination_port = 179}), "routing");
  EXPECT_EQ(
      local({.from = kStranger4, .protocol = 6, .source_port = 40000, .destination_port = 179}),
      "strangers");
  EXPECT_EQ(local({.to = "192.0.2.9", .source_port = 53, .destination_port = 40053}), "local");
  EXPECT_EQ(local({.protocol = 6, .source_port = 53, .destination_port = 40053}), "closed");
}

TEST(PuntClassifier, StrangersWaitButMayEndTheirHandshake) {
  Sent sent{.from = kStranger4, .protocol = 6, .destination_port = 179};
  EXPECT_EQ(local(sent), "strangers");
  sent.tcp_flags = 0x10;
  EXPECT_EQ(local(sent), "management");
  sent.from = kPeer4;
  EXPECT_EQ(local(sent), "routing");
  // A stranger who takes a routing protocol's port at his own end is none the better for it.
  EXPECT_EQ(local({.from = kStranger4, .protocol = 6, .source_port = 179, .destination_port = 9}),
            "closed");
  EXPECT_EQ(local({.from = kStranger4, .protocol = 6, .source_port = 179, .destination_port = 22}),
            "management");
}

TEST(PuntClassifier, PortsAtWhichNobodyIsComeLast) {
  EXPECT_EQ(local({.destination_port = 9}), "closed");
  EXPECT_EQ(local({.destination_port = 5000}), "local");
  EXPECT_EQ(local({.protocol = 6, .destination_port = 80}), "closed");
  EXPECT_EQ(local({.protocol = 6, .destination_port = 22}), "management");
  EXPECT_EQ(local({.destination_port = 4500}), "closed") << "no IKE behind NAT here";
  EXPECT_EQ(local({.destination_port = 500}), "ike");
  EXPECT_EQ(local({.protocol = 1, .payload = {8, 0}}), "local");
  EXPECT_EQ(local({.protocol = 132}), "local");
}

TEST(PuntClassifier, WithoutSocketsEveryPortIsOpenAndNobodyIsKnown) {
  EXPECT_EQ(local({.destination_port = 9}, nullptr), "local");
  EXPECT_EQ(local({.destination_port = 3784, .ttl = 255}, nullptr), "bfd");
  EXPECT_EQ(local({.protocol = 6, .destination_port = 80}, nullptr), "management");
  EXPECT_EQ(local({.protocol = 6, .destination_port = 179}, nullptr), "strangers");
}

TEST(PuntClassifier, BfdThatHasComeByARouterIsNone) {
  EXPECT_EQ(local({.destination_port = 3784, .ttl = 255}), "bfd");
  EXPECT_EQ(local({.destination_port = 3784, .ttl = 254}), "local");
  EXPECT_EQ(local({.destination_port = 4784, .ttl = 60}), "bfd");
  EXPECT_EQ(local({.destination_port = 3784, .ttl = 255, .vlan = 100}), "bfd");
}

TEST(PuntClassifier, RoutingProtocolsInAnyForm) {
  EXPECT_EQ(local({.protocol = 89}), "routing");
  EXPECT_EQ(local({.protocol = 89, .fragment = true}), "routing");
  EXPECT_EQ(local({.destination_port = 520}), "routing");
  EXPECT_EQ(multicast({.to = "224.0.0.5", .protocol = 89, .ttl = 1}), "routing");
  EXPECT_EQ(multicast({.to = "224.0.0.9", .destination_port = 520}), "routing");
  EXPECT_EQ(multicast({.to = "224.0.0.2", .destination_port = 646}), "routing");
  EXPECT_EQ(multicast({.to = "224.0.0.18", .protocol = 112, .ttl = 255}), "routing");
  EXPECT_EQ(multicast({.to = "224.0.0.18", .protocol = 112, .ttl = 254}), "multicast");
  EXPECT_EQ(multicast({.from = "fe80::2", .to = "ff02::5", .protocol = 89}), "routing");
  // Groups that leave the link are data, whatever is in them.
  EXPECT_EQ(multicast({.to = "239.1.1.1", .protocol = 89}), "multicast");
  EXPECT_EQ(multicast({.to = "239.1.1.1", .destination_port = 520}), "multicast");
  EXPECT_EQ(multicast({.to = "224.0.0.251", .destination_port = 5353}), "multicast");
  EXPECT_EQ(multicast({.to = "239.9.9.9", .protocol = 2}), "requests");
}

TEST(PuntClassifier, NeighborDiscoveryOfTheLinkAlone) {
  const auto icmp6 = [](uint8_t type, uint8_t hops) {
    return multicast({.from = "fe80::2",
                      .to = "ff02::1:ff00:1",
                      .protocol = 58,
                      .ttl = hops,
                      .payload = {type, 0}});
  };
  EXPECT_EQ(icmp6(135, 255), "requests");
  EXPECT_EQ(icmp6(136, 255), "neighbor");
  EXPECT_EQ(icmp6(133, 255), "requests");
  EXPECT_EQ(icmp6(134, 255), "neighbor");
  EXPECT_EQ(icmp6(143, 1), "requests");
  EXPECT_EQ(icmp6(136, 254), "multicast");
  EXPECT_EQ(icmp6(128, 255), "multicast");
  EXPECT_EQ(local({.from = kPeer6, .to = kUs6, .protocol = 58, .ttl = 255, .payload = {136, 0}}),
            "neighbor");
  EXPECT_EQ(local({.from = kPeer6, .to = kUs6, .protocol = 58, .payload = {136, 0}}), "local");
  EXPECT_EQ(local({.from = kPeer6, .to = kUs6, .protocol = 58, .payload = {128, 0}}), "local");
}

TEST(PuntClassifier, MldBehindItsHopByHopHeader) {
  Frame made = frame({.from = "fe80::2",
                      .to = "ff02::16",
                      .protocol = 0,
                      .ttl = 1,
                      .payload = {58, 0, 5, 2, 0, 0, 1, 0, 143, 0}});
  EXPECT_EQ(info(punt_class(made, Reason::kMulticast, false, nullptr)).name, "requests");
  made[kEthernetBytes + kIpv6Bytes + 1] = 200;  // longer than all there is
  EXPECT_EQ(info(punt_class(made, Reason::kMulticast, false, nullptr)).name, "multicast");
}

TEST(PuntClassifier, ArpByWhatItSays) {
  Frame arp(60);
  arp[12] = 0x08;
  arp[13] = 0x06;
  const auto operation = [&](uint8_t code) {
    arp[kEthernetBytes + 7] = code;
    return info(punt_class(arp, Reason::kArp, false, nullptr)).name;
  };
  EXPECT_EQ(operation(1), "requests");
  EXPECT_EQ(operation(2), "neighbor");
  EXPECT_EQ(operation(77), "requests");
}

TEST(PuntClassifier, FragmentsToTheRouterAreAClass) {
  EXPECT_EQ(local({.protocol = 17, .destination_port = 500, .fragment = true}), "fragments");
  EXPECT_EQ(local({.protocol = 6, .source_port = 40000, .destination_port = 179, .fragment = true}),
            "fragments");
}

// What is for others is of its reason's class, whatever it pretends to be.
TEST(PuntClassifier, WhatIsForOthersCannotPassAsASession) {
  static const Sessions known;
  const Frame bgp = frame({.protocol = 6, .source_port = 40000, .destination_port = 179});
  const std::pair<Reason, std::string_view> expected[] = {
      {Reason::kTtlExpired, "ttl"},       {Reason::kTooBig, "too_big"},
      {Reason::kGlean, "glean"},          {Reason::kNoRoute, "no_route"},
      {Reason::kUnreachable, "no_route"}, {Reason::kProhibit, "no_route"},
      {Reason::kOptions, "options"},      {Reason::kBroadcast, "broadcast"},
      {Reason::kLinkLocal, "link_local"}, {Reason::kLocal, "transit"}};
  for (const auto& [reason, name] : expected)
    EXPECT_EQ(info(punt_class(bgp, reason, false, &known.sessions)).name, name);
  for (const Reason reason : {Reason::kOptions, Reason::kLinkLocal, Reason::kLocal})
    EXPECT_EQ(info(punt_class(bgp, reason, true, &known.sessions)).name, "sessions");
}

TEST(PuntClassifier, OtherProtocols) {
  const auto by_type = [](uint16_t type, uint8_t sap) {
    Frame made(60);
    made[12] = static_cast<uint8_t>(type >> 8);
    made[13] = static_cast<uint8_t>(type);
    made[14] = made[15] = sap;
    return info(punt_class(made, Reason::kOtherProtocol, false, nullptr)).name;
  };
  EXPECT_EQ(by_type(0x8809, 0), "routing");   // LACP
  EXPECT_EQ(by_type(1000, 0xfe), "routing");  // IS-IS
  EXPECT_EQ(by_type(1000, 0x42), "other");    // spanning tree
  EXPECT_EQ(by_type(0x88cc, 0xfe), "other");  // LLDP
}

// Every length of every kind, and random bytes: within its bounds, which the sanitizers watch.
TEST(PuntClassifier, ReadsNothingBehindTheFrame) {
  static const Sessions known;
  std::vector<Frame> frames = {
      frame({.protocol = 6, .destination_port = 179}), frame({.destination_port = 3784}),
      frame({.from = kPeer6, .to = kUs6, .protocol = 58}),
      frame({.from = kPeer6, .to = kUs6, .protocol = 0, .payload = {44, 0, 0, 0, 0, 0, 0, 0, 6}}),
      frame({.protocol = 17, .vlan = 5})};
  for (const Frame& whole : frames)
    for (size_t bytes = 0; bytes <= whole.size(); ++bytes)
      for (size_t reason = 1; reason < kReasonCount; ++reason) {
        const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(bytes));
        EXPECT_LT(punt_class(cut, static_cast<Reason>(reason), true, &known.sessions),
                  PuntClass::kCount);
      }
}

}  // namespace
}  // namespace hecto::router::test
