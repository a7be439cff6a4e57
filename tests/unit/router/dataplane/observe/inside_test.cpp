// Packets by protocol and port, and a trace of what comes in a tunnel.
#include <gtest/gtest.h>

#include "router/dataplane/observe/packet_match.hpp"
#include "router/dataplane/observe/trace.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

class MatchTest : public testing::Test {
 protected:
  static bool fits(const PacketMatch& match, const Frame& frame) {
    rte_mbuf* const made = packet(frame);
    const bool fits = match.fits_frame(made, 0);
    rte_pktmbuf_free(made);
    return fits;
  }
  // Of UDP or TCP.
  static Frame with_ports(FrameOptions options, uint16_t source, uint16_t destination) {
    const bool v6 = std::string_view(options.source).find(':') != std::string_view::npos;
    Frame frame = v6 ? ipv6_frame(options) : ipv4_frame(options);
    uint8_t* const at = frame.data() + kEthernetBytes + (v6 ? kIpv6Bytes : kIpv4Bytes);
    at[0] = static_cast<uint8_t>(source >> 8);
    at[1] = static_cast<uint8_t>(source);
    at[2] = static_cast<uint8_t>(destination >> 8);
    at[3] = static_cast<uint8_t>(destination);
    return frame;
  }
  static FrameOptions of(uint8_t protocol) {
    FrameOptions options;
    options.protocol = protocol;
    return options;
  }
};

TEST_F(MatchTest, ByProtocolAndTheSourcesOrDestinationsPort) {
  PacketMatch udp, dns;
  udp.protocol = 17;
  dns.transport_port = 53;
  EXPECT_TRUE(fits(udp, with_ports(of(17), 5000, 53)));
  EXPECT_FALSE(fits(udp, with_ports(of(6), 5000, 53)));
  EXPECT_TRUE(fits(dns, with_ports(of(17), 5000, 53)));
  EXPECT_TRUE(fits(dns, with_ports(of(6), 53, 5000)));
  EXPECT_FALSE(fits(dns, with_ports(of(17), 5000, 54)));
  EXPECT_FALSE(fits(dns, with_ports(of(1), 53, 53))) << "ICMP has no ports";
  dns.protocol = 6;
  EXPECT_FALSE(fits(dns, with_ports(of(17), 5000, 53)));
  FrameOptions six = of(17);
  six.source = "2001:db8::1";
  six.destination = "2001:db8::2";
  EXPECT_TRUE(fits(udp, with_ports(six, 1, 2)));
}

TEST_F(MatchTest, AFragmentHasAProtocolAndNoPort) {
  Frame fragment = with_ports(of(17), 5000, 53);
  fragment[kEthernetBytes + 6] = 0x20;  // more follow
  fix_checksum(fragment);
  PacketMatch match;
  match.protocol = 17;
  EXPECT_TRUE(fits(match, fragment));
  match.transport_port = 53;
  EXPECT_FALSE(fits(match, fragment));
}

class TraceInsideTest : public TwoGateways {
 protected:
  std::vector<TraceEvent> trace(const char* to, unsigned packets = 1) {
    left_.tunnel();
    right_.tunnel();
    PacketMatch match;
    match.to = IpPrefix::parse(to);
    right_.snapshot().trace = std::make_shared<TraceSession>(match, packets);
    right_.snapshot().observed = true;
    std::vector<rte_mbuf*> sent;
    for (unsigned i = 0; i < 3; ++i) sent.push_back(packet(ipv4_frame(from_left())));
    for (rte_mbuf* each : across(sent)) rte_pktmbuf_free(each);
    return right_.snapshot().trace->events();
  }
};

TEST_F(TraceInsideTest, FindsWhatWasInATunnel) {
  const std::vector<TraceEvent> events = trace("10.2.0.1/32");
  ASSERT_EQ(events.size(), 4u) << "one packet: the trace is full with it";
  EXPECT_EQ(events[0].kind, TraceKind::kDecapsulated);
  EXPECT_EQ(events[0].spi, 2 * kSpi);
  EXPECT_EQ(events[0].bytes[kEthernetBytes + 9], 17) << "what was inside";
  EXPECT_EQ(events[1].kind, TraceKind::kLookedUp);
  EXPECT_EQ(events[2].kind, TraceKind::kRewritten);
  EXPECT_EQ(events[3].kind, TraceKind::kTransmitted);
}

TEST_F(TraceInsideTest, FollowsItFromOutsideWhereThatFits) {
  const std::vector<TraceEvent> events = trace("192.0.2.2/32");
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events[0].kind, TraceKind::kReceived);
  EXPECT_EQ(events[1].kind, TraceKind::kClassified);
  EXPECT_EQ(events[2].kind, TraceKind::kDecapsulated);
  for (const TraceEvent& event : events) EXPECT_EQ(event.number, 1u);
}

TEST_F(TraceInsideTest, NothingThatFitsIsNothing) {
  EXPECT_TRUE(trace("10.9.0.0/16").empty());
}

}  // namespace
}  // namespace hecto::router::test
