// What comes to a tunnel's end and is not as it should be: named, or Linux's, and never read beyond.
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/tunnel_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr size_t kGreAt = kIp + 20, kInnerAt = kGreAt + 4;

class TunnelHostileTest : public TunnelBed {
 protected:
  // As long as the frame is.
  static Frame with_outer_length(Frame frame) {
    store16_be(&frame[kIp + 2], static_cast<uint32_t>(frame.size() - kIp));
    fix_checksum(frame);
    return frame;
  }
  std::vector<Reason> refused_of(const Frame& frame) {
    EXPECT_TRUE(arrived(frame).empty());
    return right_.refused();
  }
};

TEST_F(TunnelHostileTest, InnerPacketsThatAreCutAreDropped) {
  make(true, Family::kIpv4);
  for (const bool v4 : {true, false}) {
    const Frame whole = outer(v4 ? ipv4_frame(from_left()) : ipv6_frame(from_left6()));
    ASSERT_GT(whole.size(), kInnerAt);
    for (size_t bytes = kInnerAt; bytes < whole.size(); ++bytes) {
      Frame cut(whole.begin(), whole.begin() + static_cast<long>(bytes));
      EXPECT_EQ(refused_of(with_outer_length(cut)), std::vector{Reason::kTunnelMalformed}) << bytes;
    }
    EXPECT_EQ(arrived(whole).size(), 1u);
  }
}

TEST_F(TunnelHostileTest, HeadersThatLieAreDropped) {
  make(true, Family::kIpv4);
  const Frame whole = outer(ipv4_frame(from_left()));
  const auto with = [&](size_t at, uint8_t value) {
    Frame frame = whole;
    frame[at] = value;
    return frame;
  };
  for (const uint8_t version : {0x00, 0x44, 0x55, 0x65, 0xf5})
    EXPECT_EQ(refused_of(with(kInnerAt, version)), std::vector{Reason::kTunnelMalformed});
  EXPECT_EQ(refused_of(with(kInnerAt + 10, static_cast<uint8_t>(whole[kInnerAt + 10] ^ 1))),
            std::vector{Reason::kTunnelMalformed})
      << "checksum";
  EXPECT_EQ(refused_of(with(kInnerAt + 2, 0xff)), std::vector{Reason::kTunnelMalformed})
      << "length";
  EXPECT_EQ(refused_of(with(kGreAt + 3, 0xdd)), std::vector{Reason::kLocal}) << "no such EtherType";
}

TEST_F(TunnelHostileTest, WhatLinuxKnowsBetterIsLinuxs) {
  make(true, Family::kIpv4);
  const Frame whole = outer(ipv4_frame(from_left()));
  const auto local_with = [&](size_t at, uint8_t value, const char* what) {
    Frame frame = whole;
    frame[at] = value;
    fix_checksum(frame);
    EXPECT_EQ(refused_of(frame), std::vector{Reason::kLocal}) << what;
    ASSERT_EQ(right_.refused_frames().size(), 1u);
    EXPECT_EQ(right_.refused_frames()[0].first, InterfaceId(1));
  };
  local_with(kGreAt, 0x80, "checksum");
  local_with(kGreAt, 0x10, "sequence number");
  local_with(kGreAt, 0x40, "routing");
  local_with(kGreAt + 1, 1, "version 1");
  local_with(kIp + 6, 0x20, "a fragment");
  local_with(kIp + 15, 77, "from nobody's end");
  Frame options = whole;
  options[kInnerAt] = 0x46;
  EXPECT_EQ(refused_of(options), std::vector{Reason::kLocal}) << "options inside";
  Frame group = outer(ipv4_frame(from_host("10.1.0.1", "10.2.0.1")));
  store32_be(&group[kInnerAt + 16], 0xe0000005);  // OSPF's
  store16_be(&group[kInnerAt + 10], 0);
  store16_be(&group[kInnerAt + 10], ipv4_checksum(&group[kInnerAt], 20));
  EXPECT_EQ(refused_of(group), std::vector{Reason::kLocal}) << "multicast inside";
  Frame longer = whole;
  longer.resize(longer.size() + 3);
  EXPECT_EQ(refused_of(with_outer_length(longer)), std::vector{Reason::kLocal}) << "more behind it";
  EXPECT_EQ(received_by_tunnel(), 0u);
}

// 169/8 and NAT64's prefix begin as what is link-local or reserved does.
TEST_F(TunnelHostileTest, WhatOnlyBeginsAsASpecialAddressIsCarried) {
  make(true, Family::kIpv4);
  for (const char* source : {"169.1.2.3", "169.253.255.1"})
    EXPECT_EQ(arrived(outer(ipv4_frame(from_host(source, "10.2.0.1")))).size(), 1u) << source;
  EXPECT_EQ(arrived(outer(ipv6_frame(from_host("64:ff9b::1", "fd00:2::1")))).size(), 1u);
  EXPECT_EQ(received_by_tunnel(), 3u);
  Frame local = outer(ipv4_frame(from_host("169.1.2.3", "10.2.0.1")));
  ASSERT_FALSE(local.empty());
  local[kInnerAt + 13] = 254;
  store16_be(&local[kInnerAt + 10], 0);
  store16_be(&local[kInnerAt + 10], ipv4_checksum(&local[kInnerAt], 20));
  EXPECT_EQ(refused_of(local), std::vector{Reason::kLocal}) << "link-local";
}

TEST_F(TunnelHostileTest, KeysThatNobodyHasAreDropped) {
  make(true, Family::kIpv4, true);
  Frame frame = outer(ipv4_frame(from_left()));
  ASSERT_EQ(arrived(frame).size(), 1u);
  frame[kGreAt + 7] ^= 1;
  EXPECT_EQ(refused_of(frame), std::vector{Reason::kTunnelKey});
  // Where Linux may have one.
  set(right_, {{kTunnelId, kNoInterface, between(2, true, Family::kIpv4, true)}}, false);
  EXPECT_EQ(refused_of(frame), std::vector{Reason::kLocal});
  // Without a key, and in IP alone.
  set(right_, {{kTunnelId, kNoInterface, between(2, true, Family::kIpv4, false)}});
  EXPECT_EQ(refused_of(frame), std::vector{Reason::kTunnelKey});
  set(right_, {{kTunnelId, kNoInterface, between(2, false, Family::kIpv4, false)}});
  EXPECT_EQ(refused_of(frame), std::vector{Reason::kLocal});
}

TEST_F(TunnelHostileTest, WhatIsForOthersIsNotOpened) {
  make(true, Family::kIpv4);
  Frame frame = outer(ipv4_frame(from_left()));
  // A tunnel of ours whose local end is an address that is not ours (any more).
  LinuxTunnel tunnel = between(2, true, Family::kIpv4);
  tunnel.local = *IpAddress::parse("10.2.0.1");
  set(right_, {{kTunnelId, kNoInterface, tunnel}});
  store32_be(&frame[kIp + 16], 0x0a020001);
  fix_checksum(frame);
  const std::vector<Frame> out = arrived(frame);
  ASSERT_EQ(out.size(), 1u) << "it is forwarded";
  EXPECT_EQ(out[0][kIp + 9], 47);
  EXPECT_EQ(received_by_tunnel(), 0u);
}

TEST_F(TunnelHostileTest, EachOfManyDamagedFramesIsAccountedFor) {
  std::mt19937 random(test_seed());
  const std::pair<bool, Family> shapes[] = {
      {true, Family::kIpv4}, {false, Family::kIpv4}, {true, Family::kIpv6}, {false, Family::kIpv6}};
  make(true, Family::kIpv4);
  for (const auto& [gre, family] : shapes) {
    LinuxTunnel of_left = between(1, gre, family), of_right = between(2, gre, family);
    if (family == Family::kIpv6) of_left.encap_limit = of_right.encap_limit = 1;
    set(left_, {{kTunnelId, kNoInterface, of_left}});
    set(right_, {{kTunnelId, kNoInterface, of_right}});
    const Frame whole[] = {outer(ipv4_frame(from_left())), outer(ipv6_frame(from_left6()))};
    for (int round = 0; round < 4000; ++round) {
      Frame frame = whole[random() % 2];
      ASSERT_FALSE(frame.empty());
      for (unsigned n = random() % 4; n > 0; --n)
        frame[kIp + random() % 80] = static_cast<uint8_t>(random());
      if (random() % 4 == 0) frame.resize(kIp + 20 + random() % (frame.size() - kIp - 20));
      if (family == Family::kIpv4 && frame.size() >= kIp + 20) {
        if (random() % 2 == 0)
          store16_be(&frame[kIp + 2], static_cast<uint32_t>(frame.size() - kIp));
        fix_checksum(frame);
      }
      right_.run({carried(packet(frame))}, 1);
      const size_t gone = taken(right_, 0).size() + taken(right_, 1).size();
      ASSERT_EQ(gone + right_.refused().size(), 1u) << "round " << round;
    }
  }
}

TEST_F(TunnelHostileTest, ManyInOneChunkEachGoItsWay) {
  make(true, Family::kIpv4);
  const Frame four = outer(ipv4_frame(from_left())), six = outer(ipv6_frame(from_left6()));
  Frame cut(four.begin(), four.end() - 5);
  cut = with_outer_length(cut);
  std::vector<rte_mbuf*> packets;
  for (int i = 0; i < 48; ++i) {
    const Frame& each = i % 4 == 0 ? four : i % 4 == 1 ? six : i % 4 == 2 ? cut : four;
    packets.push_back(carried(packet(each)));
  }
  Frame plain = ipv4_frame(from_host("192.0.2.1", "10.2.0.1"));
  packets.push_back(carried(packet(plain)));
  right_.run(packets, 1);
  EXPECT_EQ(right_.refused(), std::vector<Reason>(12, Reason::kTunnelMalformed));
  EXPECT_EQ(taken(right_, 0).size(), 37u);
  EXPECT_EQ(received_by_tunnel(), 36u);
}

}  // namespace
}  // namespace hecto::router::test
