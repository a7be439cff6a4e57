// What stands in the generator's packets: tags, templates, checksums, and the arithmetic of windows
// and pace.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "bench/traffic/frames.hpp"
#include "bench/traffic/pace.hpp"
#include "bench/traffic/spec_problems.hpp"
#include "bench/traffic/tag.hpp"
#include "bench/traffic/window.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::bench {
namespace {

constexpr MacPair kMacs = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

lookup::IpAddress parsed_address(const char* text) {
  return *lookup::IpAddress::parse(text);
}

StreamSpec stream_of(lookup::Family family, uint16_t bytes) {
  StreamSpec stream = make_spec("net_ring0", "net_ring0", bytes, family).streams[0];
  stream.flows = 300;
  stream.destinations.count = 1000;
  return stream;
}

StreamFrames frames_of(const StreamSpec& stream) {
  const bool v4 = stream.family == lookup::Family::kIpv4;
  return StreamFrames(stream, 7, parsed_address(v4 ? "198.18.0.1" : "2001:2:0:1::"), kMacs);
}

// The naive sum over a buffer, high byte first.
uint32_t naive_sum(const uint8_t* bytes, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

std::vector<uint8_t> packet(const StreamFrames& frames, size_t place, size_t record,
                            uint32_t sequence, uint32_t time) {
  const FrameTemplate& from = frames.templates[place];
  std::vector<uint8_t> frame(std::max<size_t>(from.length, 128));
  const uint32_t varying =
      frames.ipv6
          ? write_frame6(frame.data(), from, from.bytes.data(), frames.l3, frames.records6[record])
          : write_frame4(frame.data(), from, from.bytes.data(), frames.l3, frames.records4[record]);
  if (from.short_tag) {
    write_short_tag(frame.data() + from.tag, sequence, time);
  } else {
    write_sequence(frame.data() + from.tag, sequence);
    write_time(frame.data() + from.tag, time, fold(sequence) + fold(time) + varying);
  }
  frame.resize(from.length);
  return frame;
}

void expect_valid(const StreamFrames& frames, const std::vector<uint8_t>& frame) {
  const uint8_t* ip = &frame[frames.l3];
  const size_t bytes = frame.size() - frames.l3;
  const unsigned header = frames.ipv6 ? 40 : 20;
  if (!frames.ipv6) {
    ASSERT_EQ(naive_sum(ip, 20), 0xffffu);
    ASSERT_EQ(size_t(ip[2] << 8 | ip[3]), bytes);
  } else {
    ASSERT_EQ(size_t(ip[4] << 8 | ip[5]), bytes - 40);
  }
  const uint8_t protocol = ip[frames.ipv6 ? 6 : 9];
  if (protocol != 17) return;
  const size_t udp_bytes = bytes - header;
  ASSERT_EQ(size_t(ip[header + 4] << 8 | ip[header + 5]), udp_bytes);
  std::vector<uint8_t> covered(ip + (frames.ipv6 ? 8 : 12), ip + header);
  covered.insert(covered.end(), {0, 17, uint8_t(udp_bytes >> 8), uint8_t(udp_bytes)});
  covered.insert(covered.end(), ip + header, ip + bytes);
  ASSERT_EQ(naive_sum(covered.data(), covered.size()), 0xffffu);
  ASSERT_NE(ip[header + 6] << 8 | ip[header + 7], 0) << "no checksum";
}

TEST(TrafficTag, FoldAgreesWithANaiveOne) {
  const auto naive = [](uint64_t sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
  };
  std::mt19937_64 random(test_seed());
  std::vector<uint64_t> sums = {0,           1,           0xffff,       0x10000,     0x1fffe,
                                0xffff0000,  0xffff0001,  0xfffeffff,   UINT32_MAX,  0x100000000,
                                0x1fffffffe, 0x1ffffffff, ~uint64_t{0}, ~uint64_t{1}};
  for (int i = 0; i < 10'000; ++i) sums.push_back(random() >> (random() % 64));
  for (const uint64_t sum : sums) {
    ASSERT_EQ(fold(sum), naive(sum)) << sum;
    ASSERT_EQ(fold(static_cast<uint32_t>(sum)), naive(static_cast<uint32_t>(sum))) << sum;
  }
}

TEST(TrafficFrame, ChecksumsHoldInEveryPacket) {
  std::mt19937_64 random(test_seed());
  for (const lookup::Family family : {lookup::Family::kIpv4, lookup::Family::kIpv6})
    for (const bool vlan : {false, true})
      for (const uint16_t bytes : {64, 68, 80, 84, 128, 1518, 9022}) {
        StreamSpec stream = stream_of(family, bytes);
        if (vlan) stream.vlan = 100;
        if (bytes < least_bytes(stream)) continue;
        const StreamFrames frames = frames_of(stream);
        ASSERT_EQ(frames.records, 1000u);
        std::set<uint16_t> checksums;
        for (unsigned i = 0; i < 200; ++i) {
          const auto frame =
              packet(frames, 0, random() % frames.records, static_cast<uint32_t>(random()),
                     static_cast<uint32_t>(random()));
          ASSERT_EQ(frame.size(), bytes - 4u);
          ASSERT_NO_FATAL_FAILURE(expect_valid(frames, frame)) << bytes << (vlan ? " vlan" : "");
          const FrameTemplate& from = frames.templates[0];
          if (!from.short_tag)
            checksums.insert(static_cast<uint16_t>(frame[from.tag - 2] << 8 | frame[from.tag - 1]));
        }
        EXPECT_LE(checksums.size(), 1u);
      }
}

TEST(TrafficFrame, UdpGoesWhereItFitsBesideTheTag) {
  const auto short_tag = [](lookup::Family family, uint16_t bytes, bool vlan) {
    StreamSpec stream = stream_of(family, bytes);
    if (vlan) stream.vlan = 5;
    return FrameLayout::needs_short_tag(stream, bytes);
  };
  EXPECT_FALSE(short_tag(lookup::Family::kIpv4, 64, false));
  EXPECT_FALSE(short_tag(lookup::Family::kIpv4, 64, true));
  EXPECT_TRUE(short_tag(lookup::Family::kIpv6, 64, false));
  EXPECT_TRUE(short_tag(lookup::Family::kIpv6, 79, false));
  EXPECT_FALSE(short_tag(lookup::Family::kIpv6, 80, false));
  EXPECT_TRUE(short_tag(lookup::Family::kIpv6, 83, true));
  EXPECT_FALSE(short_tag(lookup::Family::kIpv6, 84, true));
}

TEST(TrafficFrame, CarriesAddressesPortsAndTagOfItsFlow) {
  StreamSpec stream = stream_of(lookup::Family::kIpv4, 64);
  stream.vlan = 0x123;
  stream.destinations.prefixes = {*lookup::IpPrefix::parse("192.0.2.1"),
                                  *lookup::IpPrefix::parse("192.0.2.9")};
  stream.flows = 3;
  const StreamFrames frames = frames_of(stream);
  ASSERT_EQ(frames.records, 3u);
  const auto frame = packet(frames, 0, 2, 0xdeadbeef, 0x01020304);
  const std::vector<uint8_t> head = {2, 0, 0,    0,    0,    1,    2, 0,    0,   0,
                                     0, 2, 0x81, 0x00, 0x01, 0x23, 8, 0x00, 0x45};
  EXPECT_TRUE(std::equal(head.begin(), head.end(), frame.begin()));
  const uint8_t addresses[] = {198, 18, 0, 3, 192, 0, 2, 1};
  EXPECT_TRUE(std::equal(addresses, addresses + 8, frame.begin() + 18 + 12));
  EXPECT_EQ(frame[18 + 20] << 8 | frame[18 + 21], kUdpPort + 2);
  Tag tag;
  ASSERT_TRUE(read_tag(&frame[18 + 28], tag));
  EXPECT_EQ(tag.stream, 7);
  EXPECT_EQ(tag.sequence, 0xdeadbeefu);
  EXPECT_EQ(tag.time, 0x01020304u);
}

TEST(TrafficFrame, ShortTagHoldsTheLowBits) {
  uint8_t bytes[kShortTag_bytes];
  write_short_tag(bytes, 0x12345678, 0xabcdef);
  Tag tag;
  read_short_tag(bytes, tag);
  EXPECT_EQ(tag.sequence, 0x345678u);
  EXPECT_EQ(tag.time, 0xabcdefu);
}

TEST(TrafficFrame, SizesComeByWeightAndSpread) {
  const std::vector<uint16_t> pattern = spread({7, 4, 1});
  ASSERT_EQ(pattern.size(), 12u);
  EXPECT_EQ(std::count(pattern.begin(), pattern.end(), 0), 7);
  EXPECT_EQ(std::count(pattern.begin(), pattern.end(), 1), 4);
  EXPECT_EQ(std::count(pattern.begin(), pattern.end(), 2), 1);
  for (size_t i = 0; i + 2 < pattern.size(); ++i)
    EXPECT_FALSE(pattern[i] == 0 && pattern[i + 1] == 0 && pattern[i + 2] == 0) << i;
  StreamSpec stream = stream_of(lookup::Family::kIpv4, 64);
  stream.sizes = {{64, 70}, {594, 40}, {1518, 10}};
  EXPECT_EQ(frames_of(stream).pattern, pattern);
  stream.sizes_in_order = true;
  stream.sizes = {{100, 1}, {64, 1}, {100, 1}};
  EXPECT_EQ(frames_of(stream).pattern, (std::vector<uint16_t>{0, 1, 0}));
}

TEST(TrafficFrame, UniformDestinationsAreUnicast) {
  StreamSpec stream = stream_of(lookup::Family::kIpv4, 64);
  stream.destinations = {Destinations::kUniform, {}, 5000};
  std::set<uint32_t> firsts;
  for (const Ipv4Record& record : frames_of(stream).records4) {
    const uint32_t first = record.destination & 0xff;
    firsts.insert(first);
    ASSERT_TRUE(first > 0 && first < 224 && first != 127) << first;
  }
  EXPECT_GT(firsts.size(), 200u);
}

TEST(Clock, UnitIsShortAndSpansAreKept) {
  for (const uint64_t hz : {25'000'000ull, 1'000'000'000ull, 2'600'000'000ull, 5'000'000'000ull}) {
    const Clock clock(hz);
    EXPECT_LE(clock.unit_ns(), hz < 80'000'000 ? 40 : 12.5) << hz;
    const uint64_t sent = ~uint64_t{0} - hz / 10;  // the counter's low bits come round on the way
    const uint64_t come = sent + hz / 1000 * 250;
    const double unit = clock.unit_ns();
    EXPECT_NEAR(static_cast<double>(clock.elapsed_ns(come, clock.time(sent))), 250e6, 2 * unit);
    EXPECT_NEAR(static_cast<double>(clock.short_elapsed_ns(come, clock.short_time(sent))), 250e6,
                16 * unit);
  }
}

// All that has come, and nothing forgotten.
struct NaiveWindow {
  std::set<uint64_t> seen;
  uint64_t received = 0, duplicated = 0, reordered = 0;
  void take(uint64_t sequence) {
    if (!seen.insert(sequence).second) {
      ++duplicated;
      return;
    }
    ++received;
    if (sequence != *seen.rbegin()) ++reordered;
  }
};

TEST(SequenceWindow, AgreesWithANaiveOne) {
  std::mt19937_64 random(test_seed());
  for (unsigned round = 0; round < 20; ++round) {
    SequenceWindow window;
    const uint64_t first = random() % (uint64_t{1} << 40);
    window.restart(first);
    NaiveWindow naive;
    uint64_t next = first;
    std::deque<uint64_t> held;
    for (unsigned i = 0; i < 20'000; ++i) {
      const unsigned what = random() % 100;
      std::vector<uint64_t> come;
      if (what < 80)
        come.push_back(next++);
      else if (what < 84)
        next += random() % 200;  // lost
      else if (what < 92)
        held.push_back(next++);  // late
      else if (what < 96 && next > first + 300)
        come.push_back(next - 1 - random() % 300);
      else if (!held.empty()) {
        come.push_back(held.front());
        held.pop_front();
      }
      for (const uint64_t sequence : come) {
        const auto low = static_cast<uint32_t>(sequence);
        ASSERT_EQ(window.expand(low, 32), sequence);
        ASSERT_EQ(window.expand(low & 0xffffff, 24), sequence);
        window.take(sequence);
        naive.take(sequence);
      }
    }
    EXPECT_EQ(window.received(), naive.received);
    EXPECT_EQ(window.duplicated(), naive.duplicated);
    EXPECT_EQ(window.reordered(), naive.reordered);
    EXPECT_EQ(window.stale(), 0u);
  }
}

TEST(SequenceWindow, ForgetsWhatLiesBehindAndBeforeIt) {
  SequenceWindow window;
  window.restart(1000);
  EXPECT_FALSE(window.take(999));
  EXPECT_FALSE(window.take(~uint64_t{0}));
  EXPECT_EQ(window.stale(), 2u);
  EXPECT_TRUE(window.take(1000));
  EXPECT_FALSE(window.take(1000));
  // A gap of several windows leaves no bits behind.
  const uint64_t far = 1000 + 3 * SequenceWindow::kSize;
  EXPECT_TRUE(window.take(far));
  for (uint64_t back = 1; back < 1000; ++back) EXPECT_TRUE(window.take(far - back));
  EXPECT_FALSE(window.take(far - 500));
  EXPECT_EQ(window.reordered(), 999u);
  EXPECT_EQ(window.received(), 1001u);
  EXPECT_EQ(window.duplicated(), 2u);
}

TEST(Pace, SendsExactlyWhatIsWanted) {
  for (const double pps : {0.5, 3.0, 1e3, 1e6 / 3, 14'880'952.4, 1e8}) {
    constexpr uint64_t kHz = 2'600'000'000;
    Pace pace(pps, kHz, 12345, 64);
    uint64_t sent = 0;
    const double seconds = std::max(0.05, 3 / pps);
    const auto end = 12345 + static_cast<uint64_t>(seconds * kHz);
    const uint64_t step = std::max<uint64_t>(1, static_cast<uint64_t>(32 / pps * kHz));
    for (uint64_t now = 12345; now < end; now += std::min(step, end - now)) {
      const uint64_t due = pace.due(now);
      pace.sent(due);
      sent += due;
    }
    EXPECT_NEAR(static_cast<double>(sent), pps * seconds, 65) << pps;
    EXPECT_EQ(pace.skipped(), 0u);
  }
}

TEST(Pace, CatchesUpWithAShortPauseAndSkipsALongOne) {
  constexpr uint64_t kHz = 1'000'000'000;
  Pace pace(1e5, kHz, 0, 32);
  EXPECT_EQ(pace.due(0), 1u);
  pace.sent(1);
  EXPECT_EQ(pace.due(kHz / 2000), 50u);  // half a millisecond
  pace.sent(50);
  EXPECT_EQ(pace.skipped(), 0u);
  EXPECT_EQ(pace.due(kHz), 100u);  // a millisecond's worth of a second
  EXPECT_EQ(pace.skipped(), 100'001u - 51 - 100);
}

}  // namespace
}  // namespace hecto::bench
