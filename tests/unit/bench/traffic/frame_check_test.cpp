// Packets that come back: what a router has made of them, and all that something else may have.
#include "bench/traffic/frame_check.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/checksum.hpp"
#include "bench/traffic/spec_problems.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::bench {
namespace {

constexpr MacAddress kStation = {2, 0, 0, 0, 0, 0xb};
constexpr MacPair kSent = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 0xa}};
constexpr uint64_t kFirst = 1000;  // sequence number

using Frame = std::vector<uint8_t>;

// One stream between ports 0 and 1 of a generator that has three.
struct Way {
  StreamSpec spec;
  StreamFrames frames;
  FrameCheck check;
  PacketCursor cursor;

  static FrameCheck make(const StreamSpec& spec, const StreamFrames& frames) {
    Arrival arrival = expected_arrival(spec, kSent, kStation);
    arrival.from = 0;
    arrival.to = 1;
    return FrameCheck(frames, arrival);
  }
  explicit Way(const StreamSpec& of)
      : spec(of),
        frames(spec, 7,
               *lookup::IpAddress::parse(spec.family == lookup::Family::kIpv4 ? "198.18.0.1"
                                                                              : "2001:2:0:1::"),
               kSent),
        check(make(spec, frames)),
        cursor(kFirst, check.records(), check.places()) {}

  unsigned l3() const { return frames.l3; }
  const FrameTemplate& shape(uint64_t sequence) const {
    return frames.templates[frames.pattern[(sequence - kFirst) % frames.pattern.size()]];
  }
  Frame sent(uint64_t sequence) const {
    const FrameTemplate& from = shape(sequence);
    const size_t record = (sequence - kFirst) % frames.records;
    Frame frame(std::max<size_t>(from.length, 128));
    const uint32_t sum = frames.ipv6 ? write_frame6(frame.data(), from, from.bytes.data(),
                                                    frames.l3, frames.records6[record])
                                     : write_frame4(frame.data(), from, from.bytes.data(),
                                                    frames.l3, frames.records4[record]);
    const auto low = static_cast<uint32_t>(sequence);
    if (from.short_tag) {
      write_short_tag(&frame[from.tag], low, 0x1234);
    } else {
      write_sequence(&frame[from.tag], low);
      write_time(&frame[from.tag], 0x12345678, fold(low) + fold(uint32_t{0x12345678}) + sum);
    }
    frame.resize(from.length);
    return frame;
  }
  // As a router sends it on.
  Frame routed(uint64_t sequence) const {
    Frame frame = sent(sequence);
    std::copy(kStation.begin(), kStation.end(), frame.begin());
    count_down(frame, 1);
    return frame;
  }
  void count_down(Frame& frame, unsigned hops) const {
    uint8_t* ip = &frame[l3()];
    ip[frames.ipv6 ? 7 : 8] = static_cast<uint8_t>(ip[frames.ipv6 ? 7 : 8] - hops);
    mend_checksum(frame);
  }
  void mend_checksum(Frame& frame) const {
    uint8_t* ip = &frame[l3()];
    if (frames.ipv6) return;
    store16_be(ip + 10, 0);
    store16_be(ip + 10, static_cast<uint16_t>(~fold_sum(sum_words(ip, 20))));
  }
  Verdict judge(const Frame& frame, uint64_t sequence, uint16_t port = 1,
                std::optional<uint16_t> vlan = {}, int l3_now = 0) const {
    // A buffer of exactly that many bytes, for sanitizers.
    const Arrived arrived{frame.data(), static_cast<uint32_t>(frame.size()),
                          static_cast<uint32_t>(frame.size()),
                          static_cast<uint8_t>(l3_now > 0 ? l3_now : l3()),
                          arrived_at(port, vlan.value_or(spec.vlan.value_or(0)))};
    const auto at = cursor.find(sequence);
    if (!frames.ipv6) return judge<false, false>(arrived, at);
    return shape(sequence).short_tag ? judge<true, true>(arrived, at)
                                     : judge<true, false>(arrived, at);
  }
  // The short way through must not let pass what the long one would not.
  template <bool kIpv6, bool kShort>
  Verdict judge(const Arrived& arrived, const PacketCursor::Place& at) const {
    const Verdict verdict = check.judge<kIpv6, kShort>(arrived, at.record, at.place);
    if (check.matches<kIpv6, kShort>(arrived, at.record, at.place)) {
      EXPECT_EQ(verdict, Verdict::kRight);
      ++matched;
    }
    return verdict;
  }
  mutable unsigned matched = 0;
};

StreamSpec spec_of(lookup::Family family, uint16_t bytes, bool vlan = false) {
  StreamSpec spec = make_spec("net_ring0", "net_ring1", bytes, family).streams[0];
  spec.flows = 300;
  spec.destinations.count = 1000;
  if (vlan) spec.vlan = 42;
  return spec;
}

// Every family and form of a frame.
std::vector<StreamSpec> all_specs() {
  std::vector<StreamSpec> specs;
  for (const lookup::Family family : {lookup::Family::kIpv4, lookup::Family::kIpv6})
    for (const bool vlan : {false, true})
      for (const uint16_t bytes : {64, 68, 80, 84, 128, 1518, 9022}) {
        const StreamSpec spec = spec_of(family, bytes, vlan);
        if (bytes >= least_bytes(spec)) specs.push_back(spec);
      }
  StreamSpec imix = spec_of(lookup::Family::kIpv6, 64);
  imix.sizes = *parse_sizes("imix");
  specs.push_back(imix);
  return specs;
}

std::string name(const StreamSpec& spec) {
  return std::string(spec.family == lookup::Family::kIpv4 ? "v4 " : "v6 ") +
         std::to_string(spec.sizes[0].bytes) + (spec.vlan ? " vlan" : "");
}

TEST(FrameCheck, WhatARouterSendsIsRight) {
  for (const StreamSpec& spec : all_specs()) {
    Way way(spec);
    for (uint64_t n = kFirst; n < kFirst + 2500; ++n) {
      ASSERT_EQ(way.judge(way.routed(n), n), Verdict::kRight) << name(spec) << " " << n;
      way.cursor.pass(n, way.cursor.find(n));
    }
    EXPECT_EQ(way.matched, 2500u) << "each goes the short way";
  }
}

struct Wrong {
  Verdict verdict;
  std::function<void(const Way&, Frame&)> make;
};

TEST(FrameCheck, EachWayOfBeingWrongHasItsName) {
  const std::vector<Wrong> all = {
      {Verdict::kUnchanged, [](const Way& way, Frame& frame) { frame = way.sent(kFirst); }},
      {Verdict::kUnchanged,  // a bridge that writes MAC addresses
       [](const Way& way, Frame& frame) {
         frame[way.l3() + (way.frames.ipv6 ? 7 : 8)] = kHopLimit;
         way.mend_checksum(frame);
       }},
      {Verdict::kHopLimit, [](const Way& way, Frame& frame) { way.count_down(frame, 1); }},
      {Verdict::kDestinationMac, [](const Way&, Frame& frame) { frame[5] ^= 1; }},
      {Verdict::kTruncated, [](const Way&, Frame& frame) { frame.pop_back(); }},
      {Verdict::kTruncated,  // and says so
       [](const Way& way, Frame& frame) {
         frame.pop_back();
         const unsigned at = way.l3() + (way.frames.ipv6 ? 4 : 2);
         store16_be(&frame[at], load16_be(&frame[at]) - 1u);
         way.mend_checksum(frame);
       }},
      {Verdict::kPadded, [](const Way&, Frame& frame) { frame.resize(frame.size() + 5); }},
      {Verdict::kPadded,
       [](const Way& way, Frame& frame) {
         frame.resize(frame.size() + 8);
         const unsigned at = way.l3() + (way.frames.ipv6 ? 4 : 2);
         store16_be(&frame[at], load16_be(&frame[at]) + 8u);
         way.mend_checksum(frame);
       }},
      {Verdict::kCorrupted,  // destination
       [](const Way& way, Frame& frame) {
         frame[way.l3() + (way.frames.ipv6 ? 39 : 19)] ^= 0x80;
         way.mend_checksum(frame);
       }},
      {Verdict::kCorrupted,  // source
       [](const Way& way, Frame& frame) {
         frame[way.l3() + (way.frames.ipv6 ? 8 : 12)] ^= 1;
         way.mend_checksum(frame);
       }}};
  for (const StreamSpec& spec : all_specs()) {
    const Way way(spec);
    for (size_t i = 0; i < all.size(); ++i) {
      Frame frame = way.routed(kFirst);
      all[i].make(way, frame);
      EXPECT_STREQ(to_string(way.judge(frame, kFirst)), to_string(all[i].verdict))
          << name(spec) << ", case " << i;
    }
    EXPECT_EQ(way.judge(way.routed(kFirst), kFirst, 0), Verdict::kReflected);
    EXPECT_EQ(way.judge(way.sent(kFirst), kFirst, 0), Verdict::kReflected);
    EXPECT_EQ(way.judge(way.routed(kFirst), kFirst, 2), Verdict::kMisrouted);
    EXPECT_EQ(way.judge(way.routed(kFirst), kFirst, 1, 7), Verdict::kVlan);
  }
}

TEST(FrameCheck, AWrongIpv4ChecksumIsNamed) {
  const Way way(spec_of(lookup::Family::kIpv4, 64));
  Frame frame = way.sent(kFirst);
  std::copy(kStation.begin(), kStation.end(), frame.begin());
  --frame[14 + 8];  // without the checksum
  EXPECT_EQ(way.judge(frame, kFirst), Verdict::kChecksum);
}

// One bit anywhere is seen, but for what may change on the way or belongs to nobody: traffic class,
// flow label, the sender's MAC address, and the short tag's time.
TEST(FrameCheck, NoBitChangesUnseen) {
  std::mt19937_64 random(test_seed());
  for (const StreamSpec& spec : all_specs()) {
    const Way way(spec);
    for (unsigned i = 0; i < 4000; ++i) {
      const uint64_t n = kFirst + random() % 5000;
      Frame frame = way.routed(n);
      const size_t at = random() % frame.size();
      const unsigned ip = way.l3();
      const bool v6 = way.frames.ipv6;
      if (at >= 6 && at < ip) continue;
      if (v6 ? at >= ip && at < ip + 4 : at == ip + 1) continue;
      // What says whose packet it is: the station reads it before, and then asks for another.
      const FrameTemplate& shape = way.shape(n);
      if (at >= shape.tag && at < shape.tag + (shape.short_tag ? 6u : 8u)) continue;
      frame[at] ^= static_cast<uint8_t>(1u << random() % 8);
      ASSERT_NE(way.judge(frame, n), Verdict::kRight) << name(spec) << " byte " << at;
    }
  }
}

TEST(FrameCheck, TrafficClassAndFlowLabelMayChange) {
  Way way(spec_of(lookup::Family::kIpv4, 128));
  Frame frame = way.routed(kFirst);
  frame[14 + 1] = 0xb8;
  way.mend_checksum(frame);
  EXPECT_EQ(way.judge(frame, kFirst), Verdict::kRight);
  const Way six(spec_of(lookup::Family::kIpv6, 128));
  frame = six.routed(kFirst);
  frame[14] = 0x6b;
  frame[14 + 1] = 0x87;
  frame[14 + 3] = 0x21;
  EXPECT_EQ(six.judge(frame, kFirst), Verdict::kRight);
}

TEST(FrameCheck, AVlanThatIsTakenOffLeavesAShortFrameOrAFilledOne) {
  StreamSpec spec = spec_of(lookup::Family::kIpv4, 64, true);
  spec.expect.vlan = 0;
  const Way way(spec);
  Frame frame = way.routed(kFirst);
  frame.erase(frame.begin() + 12, frame.begin() + 16);
  EXPECT_EQ(way.judge(frame, kFirst, 1, 0, 14), Verdict::kRight);
  frame.resize(60);
  EXPECT_EQ(way.judge(frame, kFirst, 1, 0, 14), Verdict::kRight);
  frame.resize(61);
  EXPECT_EQ(way.judge(frame, kFirst, 1, 0, 14), Verdict::kPadded);
  EXPECT_EQ(way.judge(way.routed(kFirst), kFirst, 1, 42), Verdict::kVlan);
}

TEST(FrameCheck, ExpectsWhatItIsTold) {
  StreamSpec spec = spec_of(lookup::Family::kIpv4, 64);
  spec.expect.wire = true;
  const Way wire(spec);
  EXPECT_EQ(wire.judge(wire.sent(kFirst), kFirst), Verdict::kRight);
  EXPECT_EQ(wire.judge(wire.routed(kFirst), kFirst), Verdict::kHopLimit);
  EXPECT_EQ(wire.judge(wire.sent(kFirst), kFirst, 0), Verdict::kReflected);
  spec.expect = {};
  spec.expect.hops = 3;
  spec.expect.destination_mac = MacAddress{2, 0, 0, 0, 7, 7};
  const Way far(spec);
  Frame frame = far.routed(kFirst);
  EXPECT_EQ(far.judge(frame, kFirst), Verdict::kHopLimit);
  far.count_down(frame, 2);
  EXPECT_EQ(far.judge(frame, kFirst), Verdict::kDestinationMac);
  std::copy(spec.expect.destination_mac->begin(), spec.expect.destination_mac->end(),
            frame.begin());
  EXPECT_EQ(far.judge(frame, kFirst), Verdict::kRight);
}

// A table behind the device: each destination has its next hop.
TEST(FrameCheck, KnowsTheNextHopOfEachDestination) {
  for (const lookup::Family family : {lookup::Family::kIpv4, lookup::Family::kIpv6}) {
    StreamSpec spec = spec_of(family, 64);
    const auto next_hop = [](const lookup::IpAddress& to) -> std::optional<MacAddress> {
      if (to.bytes[to.size() - 1] % 5 == 0) return std::nullopt;
      return MacAddress{2, 0, 0, 0, 2, static_cast<uint8_t>(to.bytes[to.size() - 1] % 3)};
    };
    spec.expect.next_hop_mac = next_hop;
    const Way way(spec);
    for (uint64_t n = kFirst; n < kFirst + 50; ++n) {
      Frame frame = way.routed(n);
      const unsigned last = way.l3() + (family == lookup::Family::kIpv4 ? 19u : 39u);
      frame[4] = 2;
      frame[5] = frame[last] % 3;
      EXPECT_EQ(way.judge(frame, n), Verdict::kRight);
      frame[5] = (frame[last] + 1) % 3;
      EXPECT_EQ(way.judge(frame, n),
                frame[last] % 5 == 0 ? Verdict::kRight : Verdict::kDestinationMac);
    }
  }
}

TEST(PacketCursor, FindsPacketsThatComeLateOrNever) {
  PacketCursor cursor(kFirst, 7, 3);
  std::mt19937_64 random(test_seed());
  uint64_t n = kFirst;
  for (unsigned i = 0; i < 20'000; ++i) {
    n = random() % 4 == 0 ? std::max(kFirst, n + random() % 2000 - 900) : n + 1;
    ASSERT_EQ(cursor.expand(static_cast<uint32_t>(n) & 0xffffff, 24), n);
    const auto at = cursor.find(n);
    ASSERT_EQ(at.record, (n - kFirst) % 7);
    ASSERT_EQ(at.place, (n - kFirst) % 3);
    cursor.pass(n, at);
  }
}

TEST(WrongCounts, TellHowManyWhatAndWhatToDo) {
  WrongCounts counts;
  EXPECT_EQ(counts.text(), "");
  counts[Verdict::kUnchanged] = 1204;
  counts[Verdict::kPadded] = 3;
  EXPECT_EQ(counts.text(), "1204 unchanged, 3 padded");
  WrongCounts more = counts;
  more.add(counts);
  EXPECT_EQ(more.total(), 2 * counts.total());
  ASSERT_EQ(counts.lines().size(), 2u);
  EXPECT_EQ(counts.lines()[0],
            "1204 packets came back unchanged: TTL as it was sent: a wire or a bridge, no router; "
            "expect: wire where that is right");
}

}  // namespace
}  // namespace hecto::bench
