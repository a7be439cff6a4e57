// Lines of the log from what workers tell: words, bounds, and what no line tells of.
#include "router/control/filter_log.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace hecto::router::test {
namespace {

class FilterLogTest : public testing::Test {
 protected:
  FilterLogTest() {
    // One that has been told of already, so that the clock's first summary is behind.
    log_.use({{{1, "filter edge rule spoofed"}, {2, "filter edge rule 2"}}, {{0, "wan0"}}});
    log_.write(now_);
  }
  static FilterLogKey key4() {
    FilterLogKey key;
    store32_be(key.source.data(), 0xc0000209);
    store32_be(key.destination.data(), 0xcb007105);
    key.slot = 1;
    key.source_port = 4000;
    key.destination_port = 22;
    key.protocol = 6;
    key.bits = FilterLogKey::kPorts;
    key.reason = Reason::kFilter;
    return key;
  }
  void put(const FilterLogKey& key, unsigned packets = 1) {
    for (unsigned i = 0; i < packets; ++i) tap_.note(key, 1);
    tap_.report_all();
  }
  std::vector<std::string> written(std::chrono::milliseconds later = {}) {
    now_ += later;
    lines_.clear();
    log_.write(now_);
    return lines_;
  }
  using Lines = std::vector<std::string>;

  std::vector<std::string> lines_;
  FilterLog log_{[this](const std::string& line) { lines_.push_back(line); }};
  const std::shared_ptr<const FilterLogTaps> taps_ = log_.taps(2);
  FilterLogTap& tap_ = (*taps_)[0];
  FilterLog::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(FilterLogTest, ALineSaysWhoWhatAndHowMany) {
  put(key4(), 12);
  EXPECT_EQ(written(), Lines{"filter edge rule spoofed: drop tcp 192.0.2.9:4000 -> "
                             "203.0.113.5:22 on wan0 (12 packets)"});
  FilterLogKey key = key4();
  key.bits = FilterLogKey::kLater;
  key.reason = Reason::kPoliced;
  key.place = FilterPlace::kOut;
  put(key);
  EXPECT_EQ(written(), Lines{"filter edge rule spoofed: police tcp 192.0.2.9 -> 203.0.113.5 later "
                             "fragment on wan0, out (1 packet)"});
  key = key4();
  key.bits = FilterLogKey::kPorts | FilterLogKey::kSix;
  key.source = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  key.destination = key.source;
  key.reason = Reason::kNone;
  key.interface = 7;
  put(key);
  EXPECT_EQ(written(), Lines{"filter edge rule spoofed: accept tcp [2001:db8::1]:4000 -> "
                             "[2001:db8::1]:22 on interface 7 (1 packet)"});
  key = key4();
  key.protocol = 1;
  key.source_port = 0x0301;
  key.reason = Reason::kFilterRejected;
  put(key);
  EXPECT_EQ(written(), Lines{"filter edge rule spoofed: reject icmp 192.0.2.9 -> 203.0.113.5 type "
                             "3 code 1 on wan0 (1 packet)"});
  EXPECT_EQ(log_.counts().lines, 4u);
}

TEST_F(FilterLogTest, ARuleHasSoManyLinesASecondAndTheRestIsSummed) {
  for (uint16_t port = 0; port < 200; ++port) {
    FilterLogKey key = key4();
    key.source_port = port;
    put(key, 2);
  }
  EXPECT_EQ(written().size(), FilterLog::kLinesOfARule);
  FilterLogKey other = key4();
  other.slot = 2;
  put(other);
  EXPECT_EQ(written().size(), 1u) << "another rule still has its line";
  EXPECT_EQ(log_.counts().untold_flows, 180u);
  EXPECT_EQ(log_.counts().untold_packets, 360u);
  EXPECT_EQ(
      written(std::chrono::seconds(10)),
      Lines{"filter edge rule spoofed: 180 flows more with 360 packets, not told one by one"});
  EXPECT_TRUE(written(std::chrono::seconds(10)).empty()) << "said once";
}

// Each of a hundred rules may have its lines, but not all of them.
TEST_F(FilterLogTest, AllRulesHaveSoManyLinesASecond) {
  for (uint32_t slot = 0; slot < 100; ++slot)
    for (uint16_t port = 0; port < 5; ++port) {
      FilterLogKey key = key4();
      key.slot = 100 + slot;
      key.source_port = port;
      put(key);
    }
  EXPECT_EQ(written().size(), FilterLog::kLinesASecond);
  EXPECT_LE(written(std::chrono::seconds(10)).size(), FilterLog::kMostSummarized + 1);
  EXPECT_EQ(log_.counts().lines + log_.counts().untold_flows, 500u);
}

TEST_F(FilterLogTest, WhatWorkersCouldNotKeepIsSaidToo) {
  for (uint32_t i = 0; i < 10'000; ++i) {
    FilterLogKey key = key4();
    store32_be(key.source.data(), i);
    tap_.note(key, 1);
  }
  const uint64_t untold = tap_.untold().get();
  ASSERT_GT(untold, 5000u);
  EXPECT_GE(log_.counts().untold_packets, untold);
  const auto lines = written(std::chrono::seconds(10));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], std::to_string(untold).insert(0, "filters: ") +
                          " packets more of rules with log, of too many flows at once to be told "
                          "of which");
}

TEST_F(FilterLogTest, RulesOfBeforeAreKnownForWhatIsUnderWay) {
  put(key4());
  log_.use({{{3, "filter other rule 1"}}, {{0, "wan0"}}});
  FilterLogKey gone = key4();
  gone.slot = 99;
  put(gone);
  const auto lines = written();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("filter edge rule spoofed: "), 0u);
  EXPECT_EQ(lines[1].find("filter rule that has gone: "), 0u);
}

}  // namespace
}  // namespace hecto::router::test
