// Tunnels over IP: what goes in comes out at the other end, and what stands around it.
#include "router/dataplane/stages/tunnel.hpp"

#include "router/dataplane/explain_packet.hpp"
#include "tests/unit/router/dataplane/stages/tunnel_bed.hpp"

namespace hecto::router::test {
namespace {

class TunnelTest : public TunnelBed {};

constexpr size_t kOuterAt = kEthernetBytes;

struct Shape {
  bool gre;
  Family outer;
  bool with_key, with_limit;
};

class TunnelShapes : public TunnelBed, public testing::WithParamInterface<Shape> {};

TEST_P(TunnelShapes, CarryBothFamilies) {
  const auto [gre, family, with_key, with_limit] = GetParam();
  LinuxTunnel of_left = between(1, gre, family, with_key);
  LinuxTunnel of_right = between(2, gre, family, with_key);
  if (with_limit) of_left.encap_limit = of_right.encap_limit = 4;
  make(of_left, of_right);
  const size_t ip = family == Family::kIpv4 ? 20 : 40;
  const size_t before = ip + (with_limit ? 8 : 0) + (gre ? 4 : 0) + (with_key ? 4 : 0);
  for (const Frame& frame : {ipv4_frame(from_left()), ipv6_frame(from_left6())}) {
    const bool v4 = frame[kIp] >> 4 == 4;
    const Frame seen = outer(frame);
    for (const Reason reason : left_.refused()) ADD_FAILURE() << info(reason).name;
    ASSERT_EQ(seen.size(), frame.size() + before);
    const uint8_t* at = &seen[kOuterAt];
    const uint8_t inside = gre ? 47 : v4 ? 4 : 41;
    if (family == Family::kIpv4) {
      EXPECT_EQ(seen[12] << 8 | seen[13], 0x0800);
      EXPECT_EQ(full_checksum(at, 20), 0);
      EXPECT_EQ(load16_be(at + 2), seen.size() - kOuterAt);
      EXPECT_EQ(load16_be(at + 6), 0x4000) << "DF";
      EXPECT_EQ(at[8], 77);
      EXPECT_EQ(at[9], inside);
      EXPECT_EQ(load32_be(at + 12), 0xc0000201u);
      EXPECT_EQ(load32_be(at + 16), 0xc0000202u);
    } else {
      EXPECT_EQ(seen[12] << 8 | seen[13], 0x86dd);
      EXPECT_EQ(load16_be(at + 4), seen.size() - kOuterAt - 40);
      EXPECT_EQ(at[7], 77);
      EXPECT_EQ(at[with_limit ? 40 : 6], inside);
      EXPECT_EQ(at[6], with_limit ? 60 : inside);
      EXPECT_EQ(at[8 + 15], 1);
      EXPECT_EQ(at[24 + 15], 2);
    }
    if (gre) {
      const uint8_t* const header = at + ip + (with_limit ? 8 : 0);
      EXPECT_EQ(load32_be(header), (with_key ? 0x20000000u : 0u) | (v4 ? 0x0800 : 0x86dd));
      if (with_key) {
        EXPECT_EQ(load32_be(header + 4), kGreKey);
      }
    }
    const std::vector<Frame> out = arrived(seen);
    EXPECT_TRUE(right_.refused().empty());
    ASSERT_EQ(out.size(), 1u);
    ASSERT_EQ(out[0].size(), frame.size());
    EXPECT_EQ(out[0][kIp + (v4 ? 8 : 7)], frame[kIp + (v4 ? 8 : 7)] - 2);
    EXPECT_EQ(std::memcmp(&out[0][kIp + 12], &frame[kIp + 12], frame.size() - kIp - 12), 0);
    if (v4) {
      EXPECT_EQ(full_checksum(&out[0][kIp], 20), 0);
    }
  }
  EXPECT_EQ(received_by_tunnel(), 2u);
  const InterfaceCounters& sent = left_.pipeline().counters().interfaces[kTunnelId];
  EXPECT_EQ(sent.tx_packets.get(), 2u);
  EXPECT_EQ(sent.tx_bytes.get(), 120u + 140);
}

INSTANTIATE_TEST_SUITE_P(All, TunnelShapes,
                         testing::Values(Shape{true, Family::kIpv4, false, false},
                                         Shape{true, Family::kIpv4, true, false},
                                         Shape{false, Family::kIpv4, false, false},
                                         Shape{true, Family::kIpv6, false, false},
                                         Shape{true, Family::kIpv6, true, true},
                                         Shape{false, Family::kIpv6, false, false},
                                         Shape{false, Family::kIpv6, false, true}));

TEST_F(TunnelTest, TtlAndDscpAreTheDevicesOrTheInnerPackets) {
  LinuxTunnel tunnel = between(1, true, Family::kIpv4);
  make(tunnel, between(2, true, Family::kIpv4));
  Frame frame = ipv4_frame(from_left());
  frame[kIp + 1] = 0xb8 | 2;  // EF, ECT(0)
  fix_checksum(frame);
  tunnel.tos = 0x28;
  tunnel.ttl = 255;
  set(left_, {{kTunnelId, kNoInterface, tunnel}});
  Frame seen = outer(frame);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[kOuterAt + 1], 0x28 | 2) << "ECN is copied (RFC 6040)";
  EXPECT_EQ(seen[kOuterAt + 8], 255) << "it is no hop";
  tunnel.inherits_tos = true;
  tunnel.ttl = 0;
  set(left_, {{kTunnelId, kNoInterface, tunnel}});
  seen = outer(frame);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[kOuterAt + 1], 0xb8 | 2);
  EXPECT_EQ(seen[kOuterAt + 8], 63);
  EXPECT_EQ(full_checksum(&seen[kOuterAt], 20), 0);
}

TEST_F(TunnelTest, EcnComesOutAsOfRfc6040) {
  make(true, Family::kIpv4);
  // By inner, then outer: not ECT, ECT(1), ECT(0), CE. -1: dropped.
  constexpr int kTable[4][4] = {{0, 0, 0, -1}, {1, 1, 1, 3}, {2, 1, 2, 3}, {3, 3, 3, 3}};
  for (const bool v4 : {true, false})
    for (int inner = 0; inner < 4; ++inner)
      for (int outside = 0; outside < 4; ++outside) {
        Frame frame = v4 ? ipv4_frame(from_left()) : ipv6_frame(from_left6());
        frame[kIp + 1] = static_cast<uint8_t>(v4 ? inner : inner << 4);
        if (v4) fix_checksum(frame);
        Frame seen = outer(frame);
        ASSERT_FALSE(seen.empty());
        seen[kOuterAt + 1] = static_cast<uint8_t>((seen[kOuterAt + 1] & 0xfc) | outside);
        fix_checksum(seen);
        const std::vector<Frame> out = arrived(seen);
        const int wanted = kTable[inner][outside];
        if (wanted < 0) {
          EXPECT_TRUE(out.empty());
          EXPECT_EQ(right_.refused(), std::vector{Reason::kTunnelEcn});
          continue;
        }
        ASSERT_EQ(out.size(), 1u) << inner << " in " << outside;
        EXPECT_EQ(v4 ? out[0][kIp + 1] & 3 : out[0][kIp + 1] >> 4 & 3, wanted);
        if (v4) {
          EXPECT_EQ(full_checksum(&out[0][kIp], 20), 0);
        }
      }
}

TEST_F(TunnelTest, WhatIsPuntedIsTheFrameAsItCame) {
  make(true, Family::kIpv4);
  FrameOptions last = from_left();
  last.ttl = 2;  // one on the left
  rte_mbuf* const came = carried(packet(outer(ipv4_frame(last))));
  const Frame seen = bytes_of(came);
  right_.run({came}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kTtlExpired});
  ASSERT_EQ(right_.refused_frames().size(), 1u);
  EXPECT_EQ(right_.refused_frames()[0].first, InterfaceId(1)) << "where the whole of it came in";
  EXPECT_EQ(right_.refused_frames()[0].second, seen);
  // And on the way in, before anything is written.
  last.ttl = 1;
  const Frame plain = ipv4_frame(last);
  left_.run({packet(plain)}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
  EXPECT_EQ(left_.refused_frames()[0].second, plain);
}

TEST_F(TunnelTest, SendersAreToldWhatFits) {
  make(true, Family::kIpv4, false, 1400);
  Frame frame = ipv4_frame(from_left(1400 - 20 + 1));
  frame[kIp + 6] = 0x40;
  fix_checksum(frame);
  left_.run({packet(frame)}, 0);
  std::vector<Frame> told = taken(left_, 0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(load16_be(&told[0][kIp + 26]), 1400);
  // The way to the other end takes less than the device: 1,500 - 24.
  Gateway narrow(1, 1300);
  narrow.snapshot().features = 0;
  add_interface(narrow, kTunnelId, 1476);
  set(narrow, {{kTunnelId, kNoInterface, between(1, true, Family::kIpv4)}});
  route(narrow, "10.2.0.1/32", kTunnelId);
  narrow.run({packet(frame)}, 0);
  told = taken(narrow, 0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(load16_be(&told[0][kIp + 26]), 1300 - 24);
  // Without DF, and the outer one has it: Linux knows what to do.
  frame[kIp + 6] = 0;
  fix_checksum(frame);
  narrow.run({packet(frame)}, 0);
  EXPECT_EQ(narrow.refused(), std::vector{Reason::kTooBig});
}

TEST_F(TunnelTest, WithoutDfTheOuterPacketLeavesInFragments) {
  Gateway narrow(1, 600);
  narrow.snapshot().features = 0;
  add_interface(narrow, kTunnelId, 1476);
  LinuxTunnel tunnel = between(1, true, Family::kIpv4);
  tunnel.sets_df = false;
  set(narrow, {{kTunnelId, kNoInterface, tunnel}});
  route(narrow, "10.2.0.1/32", kTunnelId);
  narrow.run({packet(ipv4_frame(from_left(1000)))}, 0);
  EXPECT_TRUE(narrow.refused().empty());
  const std::vector<Frame> pieces = taken(narrow, 1);
  ASSERT_EQ(pieces.size(), 2u);
  size_t payload = 0;
  for (const Frame& piece : pieces) {
    EXPECT_EQ(full_checksum(&piece[kIp], 20), 0);
    EXPECT_LE(piece.size(), 614u);
    EXPECT_EQ(piece[kIp + 8], 77);
    EXPECT_EQ(load16_be(&piece[kIp + 4]), load16_be(&pieces[0][kIp + 4]));
    payload += piece.size() - kIp - 20;
  }
  EXPECT_EQ(payload, 1020u + 4);
  EXPECT_EQ(narrow.reasons().fragments.get(), 1u);
}

TEST_F(TunnelTest, WhatWouldBeTooManyFragmentsIsLinuxs) {
  Gateway narrow(1, 68);
  narrow.snapshot().features = 0;
  add_interface(narrow, kTunnelId, 4000);
  LinuxTunnel tunnel = between(1, true, Family::kIpv4);
  tunnel.sets_df = false;
  set(narrow, {{kTunnelId, kNoInterface, tunnel}});
  route(narrow, "10.2.0.1/32", kTunnelId);
  // 48 bytes in each: of 24, 20 and the payload.
  const Frame few = ipv4_frame(from_left(64 * 48 - 24)), many = ipv4_frame(from_left(64 * 48 - 23));
  narrow.run({packet(few, {1500})}, 0);
  EXPECT_TRUE(narrow.refused().empty());
  EXPECT_EQ(taken(narrow, 1).size(), 64u);
  narrow.run({packet(many, {1500})}, 0);
  EXPECT_EQ(narrow.refused(), std::vector{Reason::kTooBig});
  EXPECT_EQ(narrow.refused_frames().at(0).second, many);
}

TEST_F(TunnelTest, IntoAnotherTunnelGoesWhatFitsThatOne) {
  const InterfaceId narrow(3);
  add_interface(left_, kTunnelId, 1400);
  add_interface(left_, narrow, 600);
  LinuxTunnel inner = between(1, true, Family::kIpv4);
  inner.remote = *IpAddress::parse("198.18.0.1");
  inner.sets_df = false;
  LinuxTunnel around = between(1, false, Family::kIpv4);
  around.sets_df = false;
  set(left_, {{kTunnelId, kNoInterface, inner}, {narrow, kNoInterface, around}});
  route(left_, "10.2.0.1/32", kTunnelId);
  route(left_, "198.18.0.1/32", narrow);
  const auto told = [&](uint16_t bytes) {
    const PacketQuestion question{*IpAddress::parse("10.2.0.1"), {}, kNoInterface, 64, bytes};
    const IpsecStages::Options ipsec{left_.ipsec().view(), *register_sa_mark(), &left_.now_s};
    left_.snapshot().linux_side = true;
    return explain_packet(question, left_.snapshot(), left_.tables(), ipsec);
  };
  EXPECT_EQ(outer(ipv4_frame(from_left(600 - 24 - 20))).size(), kIp + 600 + 20);
  EXPECT_EQ(told(600 - 24).reason, Reason::kNone);
  const Frame longer = ipv4_frame(from_left(600 - 24 - 20 + 1));
  EXPECT_TRUE(outer(longer).empty()) << "nobody here cuts what goes into a tunnel";
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTooBig});
  EXPECT_EQ(left_.refused_frames().at(0).second, longer);
  EXPECT_EQ(told(600 - 24 + 1).reason, Reason::kTooBig);
  EXPECT_EQ(told(600 - 24 + 1).mtu, 600 - 24);
}

TEST_F(TunnelTest, NestsUpToALimitAndNeverIntoItself) {
  // 2 in 3 in 4 in 5 in 6: the end of each is routed into the next.
  std::vector<TunnelSetup> setups;
  for (unsigned i = 0; i < 5; ++i) {
    const InterfaceId id(2 + i);
    add_interface(left_, id);
    LinuxTunnel tunnel = between(1, false, Family::kIpv4);
    tunnel.remote = *IpAddress::parse(fmt::format("198.18.{}.1", i));
    setups.push_back({id, kNoInterface, tunnel});
  }
  set(left_, setups);
  route(left_, "10.2.0.1/32", 2);
  for (unsigned depth = 0; depth < 5; ++depth) {
    // The last one has a way out.
    const std::string end = fmt::format("198.18.{}.1/32", depth);
    Route out;
    out.prefix = *IpPrefix::parse(end);
    out.origin = RouteOrigin::kFile;
    NextHop hop;
    hop.gateway = IpAddress::parse("192.0.2.2");
    hop.interface = 1;
    out.next_hops = {hop};
    ASSERT_TRUE(left_.routing().add(out));
    left_.routing().commit();
    const Frame seen = outer(ipv4_frame(from_left()));
    if (depth < kMostNestedTunnels) {
      ASSERT_EQ(seen.size(), kIp + 120 + 20 * (depth + 1));
      EXPECT_TRUE(left_.refused().empty());
    } else {
      EXPECT_TRUE(seen.empty());
      EXPECT_EQ(left_.refused(), std::vector{Reason::kTunnelLoop});
    }
    ASSERT_TRUE(left_.routing().remove(out));
    if (depth < 4) route(left_, end, InterfaceId(3 + depth));
  }
  route(left_, "198.18.4.1/32", 6);
  EXPECT_TRUE(outer(ipv4_frame(from_left())).empty());
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTunnelLoop});
}

TEST_F(TunnelTest, WithoutAWayToTheEndLinuxHasThePacket) {
  make(true, Family::kIpv4);
  const Frame frame = ipv4_frame(from_left());
  LinuxTunnel tunnel = between(1, true, Family::kIpv4);
  const auto reason = [&](const char* remote, InterfaceId link = kNoInterface) {
    tunnel.remote = *IpAddress::parse(remote);
    set(left_, {{kTunnelId, link, tunnel}});
    EXPECT_TRUE(outer(frame).empty());
    EXPECT_EQ(left_.refused_frames().at(0).second, frame) << remote;
    return left_.refused().at(0);
  };
  EXPECT_EQ(reason("192.0.2.77"), Reason::kGlean);
  EXPECT_EQ(reason("203.0.113.1"), Reason::kNoRoute);
  EXPECT_EQ(reason("192.0.2.1"), Reason::kLocal) << "our own";
  EXPECT_EQ(reason("192.0.2.2", InterfaceId(0)), Reason::kLocal) << "by another than its device";
  left_.snapshot().tunnels = nullptr;
  EXPECT_TRUE(outer(frame).empty());
  EXPECT_EQ(left_.refused(), std::vector{Reason::kLocal}) << "who has no tunnels";
}

TEST_F(TunnelTest, WithoutRoomForItsHeaderAPacketIsDroppedAsItIs) {
  make(true, Family::kIpv4);
  const Frame frame = ipv4_frame(from_left());
  rte_mbuf* const tight = packet(frame);
  auto* const start = static_cast<uint8_t*>(tight->buf_addr) + 8;
  std::memmove(start, rte_pktmbuf_mtod(tight, const uint8_t*), frame.size());
  tight->data_off = 8;
  left_.run({tight}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTunnelNoRoom});
  EXPECT_EQ(left_.refused_frames()[0].second, frame);
}

TEST_F(TunnelTest, WithIpsecTheyAreLinuxs) {
  make(true, Family::kIpv4);
  const Frame frame = ipv4_frame(from_left());
  const Frame seen = outer(frame);
  left_.snapshot().features = right_.snapshot().features = kFeatureIpsec;
  EXPECT_TRUE(outer(frame).empty());
  EXPECT_EQ(left_.refused(), std::vector{Reason::kLocal});
  EXPECT_TRUE(arrived(seen).empty());
  EXPECT_EQ(right_.refused(), std::vector{Reason::kLocal});
}

TEST_F(TunnelTest, ReversePathIsThatOfTheTunnelsInterface) {
  make(true, Family::kIpv4);
  right_.snapshot().features |= kFeatureUrpf;
  right_.snapshot().ports[1].features |= kFeatureUrpf;
  right_.snapshot().interfaces[kTunnelId].urpf = UrpfMode::kStrict;
  EXPECT_EQ(arrived(outer(ipv4_frame(from_left()))).size(), 1u);
  EXPECT_TRUE(arrived(outer(ipv4_frame(from_host("10.1.0.9", "10.2.0.1")))).empty());
  EXPECT_EQ(right_.refused(), std::vector{Reason::kUrpf}) << "its way back is the wire";
  EXPECT_EQ(right_.refused_frames()[0].first, kTunnelId);
}

}  // namespace
}  // namespace hecto::router::test
