#include "bench/bed/expected.hpp"

#include <gtest/gtest.h>

#include "bench/bed/packet_ring.hpp"
#include "bench/bed/verify.hpp"

namespace hecto::bench {
namespace {

constexpr MacAddress kTo = {{2, 0, 0, 1, 0, 9}}, kFrom = {{2, 0, 0, 0, 0, 8}};

// An IPv4 frame of RFC 1071's kind of header: its checksum is worked out by hand below.
std::vector<uint8_t> frame4() {
  std::vector<uint8_t> frame(64);
  const uint8_t header[] = {0x45, 0,    0,   50, 0, 0, 0,  0, 64, 17,
                            0xee, 0x79, 198, 18, 0, 1, 10, 1, 2,  3};
  frame[12] = 8;
  std::copy(std::begin(header), std::end(header), frame.begin() + 14);
  return frame;
}

std::vector<uint8_t> frame6() {
  std::vector<uint8_t> frame(64);
  frame[12] = 0x86;
  frame[13] = 0xdd;
  frame[14] = 0x60;
  frame[21] = 64;
  frame[38] = 0x20;
  frame[39] = 1;
  return frame;
}

TEST(Forwarded, HasTheNextHopsMacAndOneHopLessAndARightChecksum) {
  auto sent = frame4();
  mark_frame(sent, 7);
  const auto out = forwarded(sent, kTo, kFrom);
  EXPECT_TRUE(std::equal(kTo.begin(), kTo.end(), out.begin()));
  EXPECT_TRUE(std::equal(kFrom.begin(), kFrom.end(), out.begin() + 6));
  EXPECT_EQ(out[22], sent[22] - 1);
  EXPECT_EQ(checksum_by_definition(std::span(out).subspan(14, 20)), 0);
  EXPECT_TRUE(std::equal(out.begin() + 26, out.end(), sent.begin() + 26));
  EXPECT_EQ(forwarded(frame6(), kTo, kFrom)[21], 63);
}

TEST(ChecksumByDefinition, IsThatOfRfc1071) {
  const uint8_t words[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(checksum_by_definition(words), static_cast<uint16_t>(~0xddf2));
}

TEST(Difference, NamesTheFieldThatIsWrong) {
  const auto right = forwarded(frame4(), kTo, kFrom);
  EXPECT_EQ(difference(right, right), std::nullopt);
  const auto with = [&right](size_t at) {
    auto wrong = right;
    wrong[at] ^= 1;
    return *difference(wrong, right);
  };
  EXPECT_EQ(with(5), "goes to MAC 02:00:00:01:00:08, not 02:00:00:01:00:09");
  EXPECT_EQ(with(11), "comes from MAC 02:00:00:00:00:09, not 02:00:00:00:00:08");
  EXPECT_EQ(with(22), "has TTL 62, not 63");
  EXPECT_EQ(with(25).substr(0, 14), "has checksum 0");
  EXPECT_EQ(with(33), "differs in header byte 19: 0x02, not 0x03");
  EXPECT_EQ(with(40), "differs in payload byte 6: 0x01, not 0x00");
  auto cut = right;
  cut.resize(60);
  EXPECT_EQ(difference(cut, right), "has 60 bytes, not 64");
  const auto right6 = forwarded(frame6(), kTo, kFrom);
  EXPECT_EQ(difference(frame6(), forwarded(frame6(), MacAddress{}, MacAddress{})),
            "has hop limit 64, not 63");
  EXPECT_EQ(difference(right6, right6), std::nullopt);
}

TEST(MarkFrame, MakesEachFrameAnother) {
  for (auto frame : {frame4(), frame6()}) {
    auto one = frame, two = frame;
    mark_frame(one, 0x12345);
    mark_frame(two, 0x12346);
    EXPECT_EQ(number_of(one), 0x12345u);
    EXPECT_EQ(number_of(two), 0x12346u);
    EXPECT_NE(one.back(), two.back());
    const size_t ttl = frame[14] == 0x45 ? 22 : 21;
    EXPECT_NE(one[ttl], two[ttl]);
    EXPECT_GE(one[ttl], 2);
  }
  auto marked = frame4();
  mark_frame(marked, 3);
  EXPECT_EQ(checksum_by_definition(std::span(marked).subspan(14, 20)), 0);
  EXPECT_EQ(number_of(std::vector<uint8_t>(20)), 0u);
}

TEST(ExpectedHops, AreThoseOfTheLongestPrefix) {
  router::RouteTable table;
  const auto hop = [](const char* gateway) {
    router::NextHop next_hop;
    next_hop.gateway = lookup::IpAddress::parse(gateway);
    return std::vector{next_hop};
  };
  table.next_hop_sets = {hop("100.64.0.1"), hop("100.64.1.1"), hop("192.0.2.1")};
  table.entries = {{*lookup::IpPrefix::parse("10.0.0.0/8"), 0},
                   {*lookup::IpPrefix::parse("10.1.0.0/16"), 1},
                   {*lookup::IpPrefix::parse("10.2.0.0/16"), 2},
                   {*lookup::IpPrefix::parse("2001::/16"), 1}};
  const ExpectedHops hops(table, {{*lookup::IpAddress::parse("100.64.0.1"), "out0", kTo},
                                  {*lookup::IpAddress::parse("100.64.1.1"), "out1", kFrom}});
  auto frame = frame4();
  EXPECT_EQ(hops.find(frame)->side, 1u);
  EXPECT_EQ(hops.find(frame)->mac, kFrom);
  EXPECT_EQ(hops.find(frame6())->side, 1u);
  frame[31] = 9;
  EXPECT_EQ(hops.find(frame)->side, 0u);
  frame[31] = 2;  // its next hop has no neighbor
  EXPECT_EQ(hops.find(frame), std::nullopt);
  frame[30] = 11;
  EXPECT_EQ(hops.find(frame), std::nullopt);
}

TEST(RingPackets, AreAtLeast4096AndMoreThanTheCacheBefore) {
  constexpr CacheSizes kSmall = {32 << 10, 512 << 10}, kLarge = {48 << 10, 2 << 20};
  for (const CacheSizes& sizes : {kSmall, kLarge}) {
    EXPECT_EQ(ring_packets(PacketCache::kL1, sizes), 0u);
    EXPECT_GE(ring_packets(PacketCache::kL2, sizes), 4096u);
    EXPECT_GE(ring_packets(PacketCache::kL2, sizes) * 64, sizes.l1);
    EXPECT_GE(ring_packets(PacketCache::kL3, sizes) * 192, 2 * sizes.l2);
  }
  EXPECT_EQ(ring_note(PacketCache::kL2, kLarge), "");
  EXPECT_NE(ring_note(PacketCache::kL2, kSmall), "");
  EXPECT_NE(ring_note(PacketCache::kL3, {48 << 10, 64 << 20}), "");
}

}  // namespace
}  // namespace hecto::bench
