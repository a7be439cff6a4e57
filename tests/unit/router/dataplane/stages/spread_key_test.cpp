// What a packet is spread over workers by.
#include "router/dataplane/stages/spread_key.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/flow_frames.hpp"

namespace hecto::router::test {
namespace {

uint32_t key_of(const Frame& frame, uint32_t rss = 0) {
  pool();  // DPDK
  rte_mbuf* const made = packet(frame);
  if (rss != 0) {
    made->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
    made->hash.rss = rss;
  }
  const uint32_t key = spread_key(made);
  rte_pktmbuf_free(made);
  return key;
}

// `frame`'s IP packet within another one.
Frame in_tunnel(const Frame& frame, uint8_t protocol, const Frame& between = {}) {
  FrameOptions options;
  options.protocol = protocol;
  options.payload_bytes = static_cast<uint16_t>(frame.size() - kIp + between.size());
  Frame outer = ipv4_frame(options);
  outer.resize(kPayload4);
  outer.insert(outer.end(), between.begin(), between.end());
  outer.insert(outer.end(), frame.begin() + kIp, frame.end());
  return outer;
}
Frame gre(unsigned flags, uint16_t ether_type_be, size_t options_bytes) {
  Frame header(4 + options_bytes, 0xee);
  store16_be(header.data(), flags);
  std::memcpy(&header[2], &ether_type_be, 2);
  return header;
}
Frame esp(uint32_t spi) {
  FrameOptions options;
  options.protocol = 50;
  Frame frame = ipv4_frame(options);
  store32_be(&frame[kPayload4], spi);
  return frame;
}

TEST(SpreadKey, IsAFlowsInBothDirections) {
  EXPECT_EQ(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kB, kA, 80, 1000)));
  EXPECT_EQ(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kA, kB, 1000, 80, 5)));
  EXPECT_NE(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kA, kB, 1001, 80)));
  EXPECT_NE(key_of(flow4(kA, kB, 1000, 80)), key_of(flow4(kA, "203.0.113.10", 1000, 80)));
  EXPECT_EQ(key_of(flow6(kA6, kB6, 1000, 80)), key_of(flow6(kB6, kA6, 80, 1000)));
  EXPECT_NE(key_of(flow6(kA6, kB6, 1000, 80)), key_of(flow6(kA6, kB6, 1000, 81)));
  EXPECT_NE(key_of(flow6(kA6, kB6, 1000, 80)), key_of(flow6(kA6, "2001:db8:2::a", 1000, 80)));
}

// Payload and TTL are not the flow's.
TEST(SpreadKey, IsOfHeadersOnly) {
  Frame other = flow4(kA, kB, 1000, 80);
  other[kIp + 8] = 7;
  other.back() ^= 0xff;
  EXPECT_EQ(key_of(other), key_of(flow4(kA, kB, 1000, 80)));
}

// The first fragment has ports, the others have data in their place.
TEST(SpreadKey, IsTheSameForAllFragmentsOfADatagram) {
  Frame first = flow4(kA, kB, 1000, 80), middle = flow4(kA, kB, 0xabcd, 0x1234), last = middle;
  store16_be(&first[kIp + 6], 0x2000);
  store16_be(&middle[kIp + 6], 0x2000 | 4);
  store16_be(&last[kIp + 6], 8);
  EXPECT_EQ(key_of(first), key_of(middle));
  EXPECT_EQ(key_of(first), key_of(last));
  EXPECT_EQ(key_of(first, 77), key_of(last, 78)) << "not by RSS";
  Frame first6 = flow6(kA6, kB6, 1000, 80), last6 = flow6(kA6, kB6, 3, 4);
  first6[kIp + 6] = last6[kIp + 6] = 44;
  EXPECT_EQ(key_of(first6), key_of(last6));
  EXPECT_EQ(key_of(first6, 77), key_of(last6, 78));
}

TEST(SpreadKey, IsTheNicsWhereItSeesTheFlow) {
  EXPECT_EQ(key_of(flow4(kA, kB, 1000, 80), 77), 77u);
  EXPECT_EQ(key_of(flow6(kA6, kB6, 1000, 80), 77), 77u);
  EXPECT_NE(key_of(esp(1), 77), key_of(esp(2), 77));
}

TEST(SpreadKey, TagsAreNoPartOfIt) {
  const auto behind = [](const Frame& frame, const std::vector<uint8_t>& tags) {
    Frame tagged = frame;
    tagged.insert(tagged.begin() + 12, tags.begin(), tags.end());
    return tagged;
  };
  const std::vector<uint8_t> both = {0x88, 0xa8, 0, 100, 0x81, 0, 0, 10};
  for (const Frame& frame : {flow4(kA, kB, 1000, 80), flow6(kA6, kB6, 1000, 80)}) {
    for (const std::vector<uint8_t>& tags :
         {std::vector<uint8_t>{0x81, 0, 0, 7}, {0x88, 0xa8, 0, 7}, both})
      EXPECT_EQ(key_of(behind(frame, tags)), key_of(frame));
    EXPECT_EQ(key_of(behind(behind(frame, {0x81, 0, 0, 7}), both)), 0u) << "a third one";
  }
}

TEST(SpreadKey, OfEspIsTheSas) {
  Frame later = esp(0x1000);
  store32_be(&later[kPayload4 + 4], 99);  // its number
  EXPECT_EQ(key_of(esp(0x1000)), key_of(later));
  EXPECT_NE(key_of(esp(0x1000)), key_of(esp(0x1001)));
}

// Of UDP by 4500 nobody knows whether it is ESP: its data are never the flow's.
TEST(SpreadKey, OfUdpIsThatOfItsPortsWhateverTheyAre) {
  for (const auto& [from, to] :
       {std::pair<uint16_t, uint16_t>{4500, 4500}, {4500, 53}, {40000, 4500}}) {
    const Frame flow = flow4(kA, kB, from, to);
    Frame later = flow;
    store32_be(&later[kPayload4 + 8], 0xabcdef);
    EXPECT_EQ(key_of(flow), key_of(later)) << from << " " << to;
    EXPECT_EQ(key_of(flow), key_of(flow4(kB, kA, to, from)));
    EXPECT_NE(key_of(flow), key_of(flow4(kA, kB, from, static_cast<uint16_t>(to + 1))));
    EXPECT_EQ(key_of(later, 77), 77u);
  }
}

TEST(SpreadKey, OfATunnelIsThatOfWhatIsInside) {
  const Frame one = flow4(kA, kB, 1000, 80), two = flow4(kA, kB, 1001, 80);
  const Frame one6 = flow6(kA6, kB6, 1000, 80);
  EXPECT_EQ(key_of(in_tunnel(one, 4), 77), key_of(one));
  EXPECT_EQ(key_of(in_tunnel(two, 4), 77), key_of(two));
  EXPECT_EQ(key_of(in_tunnel(one6, 41)), key_of(one6));
  for (const auto& [flags, bytes] :
       {std::pair(0u, 0u), {0x8000u, 4u}, {0x2000u, 4u}, {0xa000u, 8u}}) {
    EXPECT_EQ(key_of(in_tunnel(one, 47, gre(flags, kEtherIpv4, bytes)), 77), key_of(one)) << flags;
    EXPECT_EQ(key_of(in_tunnel(one6, 47, gre(flags, kEtherIpv6, bytes))), key_of(one6)) << flags;
  }
  // With numbers, PPTP's version, and what is not IP: by addresses.
  EXPECT_EQ(key_of(in_tunnel(one, 47, gre(0x1000, kEtherIpv4, 4))),
            key_of(in_tunnel(two, 47, gre(0x1000, kEtherIpv4, 4))));
  EXPECT_EQ(key_of(in_tunnel(one, 47, gre(1, kEtherIpv4, 0))),
            key_of(in_tunnel(two, 47, gre(1, kEtherIpv4, 0))));
  EXPECT_EQ(key_of(in_tunnel(one, 47, gre(0, 0x5865, 0))),
            key_of(in_tunnel(two, 47, gre(0, 0x5865, 0))));
  // Not deeper than one.
  EXPECT_EQ(key_of(in_tunnel(in_tunnel(one, 4), 4)), key_of(in_tunnel(in_tunnel(two, 4), 4)));
}

// Behind the IP header by its addresses, within an inner one not at all.
TEST(SpreadKey, OfWhatIsCutIsThatOfWhatIsThere) {
  const auto cut = [](Frame frame, size_t behind_ip) {
    frame.resize(kPayload4 + behind_ip);
    return key_of(frame);
  };
  const Frame one = flow4(kA, kB, 1, 2), two = flow4(kA, kB, 3, 4);
  EXPECT_EQ(cut(one, 3), cut(two, 3));
  EXPECT_NE(cut(one, 4), cut(two, 4));
  EXPECT_EQ(cut(esp(1), 3), cut(esp(2), 3));
  EXPECT_NE(cut(esp(1), 3), 0u);
  const Frame in_gre = in_tunnel(one, 47, gre(0x8000, kEtherIpv4, 4));
  EXPECT_EQ(cut(in_gre, 3), cut(in_gre, 7));
  EXPECT_NE(cut(in_gre, 7), 0u);
  EXPECT_EQ(cut(in_gre, 8 + 19), 0u);
  EXPECT_EQ(cut(in_tunnel(one, 4), 19), 0u);
  EXPECT_EQ(cut(in_tunnel(one, 4), 20 + 3), cut(in_tunnel(two, 4), 20 + 3));
}

// Cut anywhere, and with any bytes: nothing behind the end is read (with ASan it would show).
TEST(SpreadKey, IsBoundByTheFirstSegment) {
  const std::vector<Frame> frames = {
      flow4(kA, kB, 1, 2),
      flow6(kA6, kB6, 1, 2),
      esp(5),
      in_tunnel(flow4(kA, kB, 1, 2), 47, gre(0xb000, kEtherIpv4, 12)),
      in_tunnel(flow6(kA6, kB6, 1, 2), 41),
      flow4(kA, kB, 4500, 4500)};
  for (const Frame& frame : frames)
    for (size_t bytes = 0; bytes <= frame.size(); ++bytes) {
      const std::unique_ptr<uint8_t[]> cut(new uint8_t[bytes]);
      std::memcpy(cut.get(), frame.data(), bytes);
      rte_mbuf made{};
      made.buf_addr = cut.get();
      made.data_len = static_cast<uint16_t>(bytes);
      const uint32_t key = spread_key(&made);
      if (bytes < kPayload4) {
        EXPECT_EQ(key, 0u) << bytes;
      }
    }
  Frame arp = flow4(kA, kB, 1, 2);
  std::memcpy(&arp[12], &kEtherArp, 2);
  EXPECT_EQ(key_of(arp), 0u);
}

}  // namespace
}  // namespace hecto::router::test
