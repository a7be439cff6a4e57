#include "router/dataplane/stages/reordering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

constexpr uint64_t kHz = 1'000'000;  // a cycle is a microsecond
constexpr uint32_t kData = 100;
constexpr uint8_t kTcpAck = 0x10, kTcpSyn = 0x02, kTcpFin = 0x01, kTcpRst = 0x04;

struct Tcp {
  uint32_t sequence = 0;
  uint32_t data = kData;
  uint8_t flags = kTcpAck;
  uint16_t from = 1000;
  bool ipv6 = false;
  uint16_t vlan = 0;
  uint16_t fragment = 0;
};

Frame frame_of(const Tcp& tcp) {
  FrameOptions options;
  if (tcp.ipv6) {
    options.source = "2001:db8::1";
    options.destination = "2001:db8:1::1";
  }
  options.protocol = 6;
  options.payload_bytes = static_cast<uint16_t>(20 + tcp.data);
  options.vlan = tcp.vlan;
  options.flags_and_offset = tcp.fragment;
  Frame frame = tcp.ipv6 ? ipv6_frame(options) : ipv4_frame(options);
  uint8_t* const header = frame.data() + frame.size() - options.payload_bytes;
  store16_be(header, tcp.from);
  store16_be(header + 2, 80);
  store32_be(header + 4, tcp.sequence);
  header[12] = 5 << 4;
  header[13] = tcp.flags;
  return frame;
}

std::optional<TcpSegment> segment_in(const Frame& frame) {
  const auto bytes = static_cast<uint32_t>(frame.size());
  return tcp_segment(0, frame.data(), bytes, bytes);
}

class ReorderingTest : public testing::Test {
 protected:
  ReorderingTest() { reordering_.configure(kHz); }

  void see(const Frame& frame, PortId port = 0, const std::vector<size_t>& cuts = {}) {
    rte_mbuf* one = packet(frame, cuts);
    const Reordering::Counts seen = reordering_.watch(port, &one, 1, now_us_);
    segments_ += seen.segments;
    reordered_ += seen.reordered;
    rte_pktmbuf_free(one);
  }
  void see(const Tcp& tcp, PortId port = 0) { see(frame_of(tcp), port); }
  // Segments of kData bytes, by number, from a sequence number on.
  void see_in(const std::vector<unsigned>& order, uint32_t start = 0) {
    for (const unsigned number : order) see(Tcp{start + number * kData});
  }

  Reordering reordering_;
  uint64_t now_us_ = 1;
  unsigned segments_ = 0, reordered_ = 0;
};

TEST_F(ReorderingTest, InOrderNothingIsReordered) {
  std::vector<unsigned> order(50);
  std::iota(order.begin(), order.end(), 0u);
  see_in(order);
  EXPECT_EQ(segments_, 49u) << "the first is held against nothing";
  EXPECT_EQ(reordered_, 0u);
}

// RFC 4737 §3.3: each that comes behind a higher one; what was left out and does not come is none.
TEST_F(ReorderingTest, CountsEachThatComesBehindAHigherOne) {
  see_in({0, 2, 1, 3, 6, 4, 5, 7, 9});
  EXPECT_EQ(segments_, 8u);
  EXPECT_EQ(reordered_, 3u);
}

TEST_F(ReorderingTest, RoundRobinOverTwoMembersThatAreReadOneAfterTheOther) {
  for (unsigned burst = 0; burst < 10; ++burst) {
    for (unsigned i = 0; i < 8; i += 2) see(Tcp{(burst * 8 + i) * kData});
    for (unsigned i = 1; i < 8; i += 2) see(Tcp{(burst * 8 + i) * kData});
  }
  EXPECT_EQ(segments_, 79u);
  EXPECT_EQ(reordered_, 30u) << "three of each burst are below its highest, the fourth is above";
}

TEST_F(ReorderingTest, SequenceNumbersGoAround) {
  see_in({0, 1, 2, 3, 4, 5}, 0u - 3 * kData);
  EXPECT_EQ(reordered_, 0u);
  see_in({8, 7, 6, 9}, 0u - 3 * kData);
  EXPECT_EQ(segments_, 9u);
  EXPECT_EQ(reordered_, 2u);
  see_in({0, 2, 1, 3}, 0x7fffff80);
  EXPECT_EQ(reordered_, 3u) << "also over the sign";
}

TEST_F(ReorderingTest, OneFlowIsFollowedAtATime) {
  see(Tcp{0});
  see(Tcp{5000, kData, kTcpAck, 2000});
  see(Tcp{1000, kData, kTcpAck, 2000});  // behind, of another flow
  see(Tcp{kData});
  Tcp tagged{0};
  tagged.vlan = 7;
  see(tagged);     // the same again, as it comes back from behind
  see(Tcp{0}, 1);  // and by another port
  see(Tcp{2 * kData});
  EXPECT_EQ(segments_, 2u);
  EXPECT_EQ(reordered_, 0u);
}

TEST_F(ReorderingTest, AFlowThatIsSilentGivesWayToAnother) {
  see(Tcp{0});
  for (unsigned i = 0; i < Reordering::kPatiencePackets; ++i)
    see(Tcp{i * kData, kData, kTcpAck, 2000});
  EXPECT_EQ(segments_, 0u);
  see(Tcp{0, kData, kTcpAck, 2000});
  see(Tcp{kData, kData, kTcpAck, 2000});
  EXPECT_EQ(segments_, 1u);
}

TEST_F(ReorderingTest, AfterSoManySegmentsItIsAnothersTurn) {
  for (unsigned i = 0; i <= Reordering::kFlowSegments; ++i) see(Tcp{i * kData});
  EXPECT_EQ(segments_, Reordering::kFlowSegments);
  see(Tcp{0, kData, kTcpAck, 2000});
  see(Tcp{kData, kData, kTcpAck, 2000});
  EXPECT_EQ(segments_, Reordering::kFlowSegments + 1);
  EXPECT_EQ(reordered_, 0u);
}

TEST_F(ReorderingTest, TheNextConnectionOfThePortsBeginsAnew) {
  for (const uint8_t end : {kTcpSyn, kTcpRst, kTcpFin}) {
    see_in({0, 1}, 100'000);
    see(Tcp{0, 0, static_cast<uint8_t>(end | kTcpAck)});
    see_in({0, 1}, 50'000);  // lower, as initial sequence numbers may be
    see(Tcp{0, 0, kTcpRst});
  }
  EXPECT_EQ(segments_, 6u);
  EXPECT_EQ(reordered_, 0u);
}

TEST_F(ReorderingTest, FarBackIsAnotherConnectionOrWasSentAnew) {
  see_in({0, 1}, 0x40000000);
  see_in({0, 1}, 0x30000000);
  EXPECT_EQ(reordered_, 0u);
  see_in({3, 2}, 0x30000000);
  EXPECT_EQ(reordered_, 1u) << "it is followed from there";
}

TEST_F(ReorderingTest, LateBehindTheGapItWasSentAnew) {
  see_in({0, 1, 3});  // 2 is lost
  now_us_ += 4000;    // a round trip
  see_in({4, 2, 5});
  EXPECT_EQ(segments_, 5u);
  EXPECT_EQ(reordered_, 0u);
  see_in({7});
  now_us_ += 1000;
  see_in({6});
  EXPECT_EQ(reordered_, 1u);
}

TEST_F(ReorderingTest, SegmentsWithoutDataAreNotCounted) {
  see_in({0, 1});
  for (int i = 0; i < 10; ++i) see(Tcp{0, 0});
  see(Tcp{2 * kData, 0, kTcpAck, 2000});
  EXPECT_EQ(segments_, 1u);
  EXPECT_EQ(reordered_, 0u);
}

TEST_F(ReorderingTest, RestsBetweenWindows) {
  for (unsigned i = 0; i < Reordering::kWindowPackets; ++i) see(Tcp{i * kData});
  const unsigned first = segments_;
  EXPECT_GE(first, Reordering::kWindowPackets - 5);
  now_us_ += Reordering::kRest_ms * 1000 - 1;
  see_in({1, 0});
  EXPECT_EQ(segments_, first);
  now_us_ += 1;
  see_in({1, 0});
  EXPECT_EQ(segments_, first + 1);
  EXPECT_EQ(reordered_, 1u);
}

TEST_F(ReorderingTest, DataMayLieInFurtherMbufs) {
  for (const unsigned number : {1, 0}) see(frame_of(Tcp{number * kData}), 0, {60});
  EXPECT_EQ(segments_, 1u);
  EXPECT_EQ(reordered_, 1u);
}

TEST(TcpSegmentTest, OfBothFamiliesWithAndWithoutATag) {
  for (const bool ipv6 : {false, true})
    for (const uint16_t vlan : {0, 7}) {
      Tcp tcp{12345};
      tcp.ipv6 = ipv6;
      tcp.vlan = vlan;
      const auto segment = segment_in(frame_of(tcp));
      ASSERT_TRUE(segment);
      EXPECT_EQ(segment->sequence, 12345u);
      EXPECT_EQ(segment->bytes, kData);
      EXPECT_EQ(segment->flags, kTcpAck);
      EXPECT_EQ(segment->flow.vlan, vlan == 0 ? 0xffff : vlan);
      const bool second_half = segment->flow.addresses[2] != 0;
      EXPECT_EQ(second_half, ipv6);
    }
}

TEST(TcpSegmentTest, PaddingIsNoData) {
  Frame frame = frame_of(Tcp{0, 0});
  frame.resize(60 + 20);
  ASSERT_TRUE(segment_in(frame));
  EXPECT_EQ(segment_in(frame)->bytes, 0u);
}

TEST(TcpSegmentTest, NotOfFragmentsOtherProtocolsAndHeadersThatLie) {
  Tcp fragment{0};
  for (const uint16_t bits : {uint16_t{kMoreFragments}, uint16_t{1}}) {
    fragment.fragment = bits;
    EXPECT_FALSE(segment_in(frame_of(fragment)));
  }
  EXPECT_FALSE(segment_in(ipv4_frame()));  // UDP
  const auto with = [](size_t at, uint8_t value) {
    Frame frame = frame_of(Tcp{0});
    frame[at] = value;
    return segment_in(frame);
  };
  EXPECT_TRUE(with(kIp + 8, 1));
  EXPECT_FALSE(with(kIp, 0x44)) << "an IP header of 16 bytes";
  EXPECT_FALSE(with(kIp, 0x65)) << "of another family";
  EXPECT_FALSE(with(kIp + 2, 0xff)) << "longer than the frame";
  EXPECT_FALSE(with(kIp + 3, 39)) << "no room for a TCP header";
  EXPECT_FALSE(with(kIp + 20 + 12, 4 << 4)) << "a TCP header of 16 bytes";
  Frame long_header = frame_of(Tcp{0, 10});
  long_header[kIp + 20 + 12] = 15 << 4;
  EXPECT_FALSE(segment_in(long_header)) << "options beyond the packet";
}

// Whatever comes: nothing is read beyond the frame (AddressSanitizer), data is no more than the frame
// has, and the counts hold.
TEST(ReorderingFuzz, FramesWithBytesChangedAndCutAnywhere) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("HECTO_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Reordering reordering;
  reordering.configure(kHz);
  const unsigned before = (pool(), mbufs_in_use());
  unsigned understood = 0;
  uint64_t now_us = 1;
  for (unsigned round = 0; round < 50'000; ++round) {
    Tcp tcp{static_cast<uint32_t>(random()), static_cast<uint32_t>(random() % 300)};
    tcp.flags = random() % 4 == 0 ? static_cast<uint8_t>(random()) : kTcpAck;
    tcp.ipv6 = random() % 2 == 0;
    tcp.vlan = random() % 2 == 0 ? 7 : 0;
    Frame frame = frame_of(tcp);
    for (auto changes = random() % 4; changes > 0; --changes)
      frame[random() % std::min<size_t>(frame.size(), 80)] = static_cast<uint8_t>(random());
    if (random() % 2 == 0) frame.resize(random() % (frame.size() + 1));
    frame.shrink_to_fit();
    const auto bytes = static_cast<uint32_t>(frame.size());
    const uint32_t whole =
        bytes + (random() % 4 == 0 ? static_cast<uint32_t>(random() % 70'000) : 0);
    const auto segment = tcp_segment(3, frame.data(), bytes, whole);
    if (segment) {
      ++understood;
      EXPECT_LE(segment->bytes + kIp + 40, whole);
      EXPECT_EQ(segment->flow.port, 3);
    }
    if (bytes == 0) continue;
    rte_mbuf* one = packet(frame);
    now_us += random() % 2000;
    const Reordering::Counts seen = reordering.watch(3, &one, 1, now_us);
    EXPECT_LE(seen.segments, 1u);
    EXPECT_LE(seen.reordered, seen.segments);
    rte_pktmbuf_free(one);
  }
  EXPECT_GT(understood, 10'000u);
  EXPECT_EQ(mbufs_in_use(), before);
}

}  // namespace
}  // namespace hecto::router::test
