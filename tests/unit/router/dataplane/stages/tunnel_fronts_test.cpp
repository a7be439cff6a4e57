// What goes before packets on their way into tunnels: in one store, or piece by piece; of several tunnels in
// one burst; over tagged wires.
#include <map>
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/tunnel_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr size_t kFrontAt = kEthernetBytes;

class TunnelFrontsTest : public TunnelBed {};

TEST_F(TunnelFrontsTest, SeveralInOneBurstEachHaveTheirOwnHeadersAndCounts) {
  const InterfaceId other(3);
  make(true, Family::kIpv4, true);
  add_interface(left_, other);
  LinuxTunnel keyless = between(1, true, Family::kIpv4);
  keyless.ttl = 0;
  set(left_, {{kTunnelId, kNoInterface, between(1, true, Family::kIpv4, true)},
              {other, kNoInterface, keyless}});
  route(left_, "10.2.0.2/32", other);
  FrameOptions dying = from_left();
  dying.ttl = 1;
  const Frame first = ipv4_frame(from_left()), six = ipv6_frame(from_left6());
  const Frame second = ipv4_frame(from_host("10.1.0.1", "10.2.0.2", 50));
  std::vector<rte_mbuf*> packets;
  for (const Frame& frame : {first, second, first, ipv4_frame(dying), first, second, second})
    packets.push_back(packet(frame));
  packets.push_back(packet(six));
  left_.run(packets, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
  const std::vector<Frame> frames = taken(left_, 1);
  ASSERT_EQ(frames.size(), 7u);
  std::map<bool, unsigned> seen;
  for (size_t i = 0; i < frames.size(); ++i) {
    const uint8_t* const at = &frames[i][kFrontAt];
    const bool keyed = at[20] == 0x20;
    ++seen[keyed];
    EXPECT_EQ(full_checksum(at, 20), 0);
    EXPECT_EQ(at[8], keyed ? 77 : 63);
    EXPECT_EQ(load16_be(at + 2), frames[i].size() - kFrontAt);
    EXPECT_EQ(frames[i].size(), kFrontAt + (keyed ? 28 + (i == 6 ? 140 : 120) : 24 + 70));
    if (i > 0) {
      EXPECT_EQ(load16_be(at + 4), load16_be(&frames[i - 1][kFrontAt + 4]) + 1);
    }
  }
  EXPECT_EQ(seen, (std::map<bool, unsigned>{{true, 4}, {false, 3}}));
  const auto& counters = left_.pipeline().counters().interfaces;
  EXPECT_EQ(counters[kTunnelId].tx_packets.get(), 4u);
  EXPECT_EQ(counters[kTunnelId].tx_bytes.get(), 3u * 120 + 140);
  EXPECT_EQ(counters[other].tx_packets.get(), 3u);
  EXPECT_EQ(counters[other].tx_bytes.get(), 3u * 70);
}

// Headers go before a frame in one store, or piece by piece.
TEST_F(TunnelFrontsTest, SegmentsOfAFrameChangeNothingOfWhatStandsAroundIt) {
  std::mt19937 random(test_seed());
  make(true, Family::kIpv4);
  for (int round = 0; round < 2000; ++round) {
    const Family family = random() % 2 == 0 ? Family::kIpv4 : Family::kIpv6;
    LinuxTunnel tunnel = between(1, random() % 2 == 0, family, random() % 2 == 0);
    tunnel.ttl = random() % 2 == 0 ? 0 : static_cast<uint8_t>(random() | 1);
    tunnel.tos = static_cast<uint8_t>(random() & 0xfc);
    tunnel.inherits_tos = random() % 2 == 0;
    tunnel.sets_df = random() % 2 == 0;
    tunnel.flow_label = random() % 2 == 0 ? 0 : random() & 0xfffff;
    set(left_, {{kTunnelId, kNoInterface, tunnel}});
    const bool v4 = random() % 2 == 0;
    const auto payload = static_cast<uint16_t>(100 + random() % 900);
    Frame frame = v4 ? ipv4_frame(from_left(payload)) : ipv6_frame(from_left6(payload));
    frame[kIp + (v4 ? 8 : 7)] = static_cast<uint8_t>(random() % 4);  // TTL
    frame[kIp + 1] = static_cast<uint8_t>(random());
    if (v4) store16_be(&frame[kIp + 4], random());
    if (v4 && random() % 2 == 0) frame[kIp + 6] = 0x40;
    if (v4) fix_checksum(frame);
    left_.run({packet(frame, {110}), packet(frame)}, 0);
    const std::vector<Reason> refused = left_.refused();
    std::vector<Frame> out = taken(left_, 1);
    if (refused.size() == 2) {
      EXPECT_EQ(refused[0], refused[1]);
      EXPECT_EQ(left_.refused_frames()[0].second, left_.refused_frames()[1].second);
      continue;
    }
    ASSERT_EQ(out.size() + refused.size(), 2u);
    ASSERT_EQ(out.size(), 2u) << info(refused.at(0)).name;
    if (family == Family::kIpv4)
      for (Frame& each : out) {
        EXPECT_EQ(full_checksum(&each[kFrontAt], 20), 0);
        std::fill_n(&each[kFrontAt + 4], 2, 0);  // they have numbers of their own
        std::fill_n(&each[kFrontAt + 10], 2, 0);
      }
    ASSERT_EQ(out[0], out[1]) << "round " << round;
  }
}

TEST_F(TunnelFrontsTest, OverATaggedWireTheOuterPacketHasTheTag) {
  const InterfaceId tagged(3);
  InterfaceState state;
  state.id = tagged;
  state.name = "out.5";
  state.port = 1;
  state.tags.vlan = 5;
  state.mac = own_mac(1);
  state.addresses = {*IpPrefix::parse_interface("198.18.5.1/24")};
  ASSERT_TRUE(left_.routing().add_interface(state));
  ASSERT_TRUE(left_.routing().add_neighbor(tagged, *IpAddress::parse("198.18.5.2"), kHostMac));
  left_.snapshot().interfaces[tagged].up = left_.snapshot().interfaces[tagged].counters = true;
  make(true, Family::kIpv4);
  LinuxTunnel tunnel = between(1, true, Family::kIpv4);
  tunnel.remote = *IpAddress::parse("198.18.5.2");
  set(left_, {{kTunnelId, tagged, tunnel}});
  const Frame frame = ipv4_frame(from_left());
  const Frame seen = outer(frame);
  ASSERT_EQ(seen.size(), frame.size() + 4 + 24);
  EXPECT_EQ(load32_be(&seen[12]), 0x81000005u);
  EXPECT_EQ(load16_be(&seen[16]), 0x0800);
  EXPECT_EQ(full_checksum(&seen[18], 20), 0);
  const InterfaceCounters& counters = left_.pipeline().counters().interfaces[tagged];
  EXPECT_EQ(counters.tx_packets.get(), 1u);
  EXPECT_EQ(counters.tx_bytes.get(), frame.size() - kIp + 24);
}

}  // namespace
}  // namespace hecto::router::test
