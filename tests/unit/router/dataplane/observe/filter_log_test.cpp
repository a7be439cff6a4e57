// Flows that a worker tells the log of: when, how often, and what becomes of those that find no place.
#include "router/dataplane/observe/filter_log.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/bytes.hpp"

namespace hecto::router::test {
namespace {

constexpr uint64_t kHz = 1'000'000;  // of a clock that the tests turn

class FilterLogTapTest : public testing::Test {
 protected:
  static FilterLogKey flow(uint32_t source, uint32_t slot = 1) {
    FilterLogKey key;
    store32_be(key.source.data(), source);
    key.slot = slot;
    key.protocol = 17;
    return key;
  }
  void note(const FilterLogKey& key, unsigned packets = 1) {
    for (unsigned i = 0; i < packets; ++i) tap_.note(key, now_);
  }
  // The clock on, as a worker polls: 200 times a second.
  void wait(double seconds) {
    const uint64_t until = now_ + static_cast<uint64_t>(seconds * kHz);
    for (; now_ < until; now_ += kHz / 200) tap_.tick(now_);
  }
  std::vector<FilterLogRecord> read() {
    std::vector<FilterLogRecord> records;
    for (auto entry = tap_.ring().front(); !entry.empty(); entry = tap_.ring().front()) {
      FilterLogRecord record;
      EXPECT_EQ(entry.size(), sizeof record);
      std::memcpy(&record, entry.data(), sizeof record);
      records.push_back(record);
      tap_.ring().pop();
    }
    return records;
  }
  uint64_t now_ = 5 * kHz;
  FilterLogTap tap_{kHz};
};

TEST_F(FilterLogTapTest, AFlowIsToldOnceWithItsPacketsAndNotAtOnce) {
  note(flow(7), 12);
  wait(0.5);
  EXPECT_TRUE(read().empty());
  wait(1);
  const auto records = read();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].key, flow(7));
  EXPECT_EQ(records[0].packets, 12u);
  wait(30);
  EXPECT_TRUE(read().empty()) << "nothing came since";
}

TEST_F(FilterLogTapTest, AFlowThatGoesOnIsToldEachTenSeconds) {
  unsigned lines = 0;
  uint64_t packets = 0;
  for (unsigned i = 0; i < 410; ++i) {
    note(flow(7));
    wait(0.1);
    for (const FilterLogRecord& record : read()) {
      ++lines;
      packets += record.packets;
    }
  }
  EXPECT_EQ(lines, 4u) << "in 41 s";
  EXPECT_GE(packets, 300u);
  wait(20);
  for (const FilterLogRecord& record : read()) packets += record.packets;
  EXPECT_EQ(packets, 410u);
}

TEST_F(FilterLogTapTest, WhatDiffersInAnythingIsAnotherFlow) {
  FilterLogKey key = flow(7);
  note(key);
  key.reason = Reason::kPoliced;
  note(key);
  key.slot = 2;
  note(key);
  key.interface = 3;
  note(key);
  key.destination_port = 53;
  note(key);
  wait(2);
  EXPECT_EQ(read().size(), 5u);
}

// 100,000 flows in a second: a table's worth is told, all others are counted, and no packet twice.
TEST_F(FilterLogTapTest, AFloodOfFlowsIsBoundedAndCounted) {
  for (uint32_t i = 0; i < 100'000; ++i) {
    note(flow(i));
    if (i % 1000 == 0) wait(0.01);
  }
  wait(3);
  uint64_t told = 0;
  for (const FilterLogRecord& record : read()) told += record.packets;
  EXPECT_GE(told, FilterLogTap::kFlows / 4 * FilterLogTap::kWaysOfARule * 9 / 10);
  EXPECT_LE(told, 2 * FilterLogTap::kFlows);
  EXPECT_EQ(told + tap_.untold().get() + tap_.lost_packets().get(), 100'000u);
}

TEST_F(FilterLogTapTest, AFloodOfOneRuleLeavesRoomForOthers) {
  for (uint32_t i = 0; i < 100'000; ++i) note(flow(i));
  const uint64_t untold = tap_.untold().get();
  for (uint32_t i = 0; i < 20; ++i) note(flow(i, 2));
  EXPECT_EQ(tap_.untold().get(), untold) << "of the other rule each is told";
  wait(2);
  std::map<uint32_t, unsigned> by_rule;
  for (const FilterLogRecord& record : read()) ++by_rule[record.key.slot];
  EXPECT_EQ(by_rule[2], 20u);
}

TEST_F(FilterLogTapTest, AFullRingLosesFlowsAndCountsThem) {
  unsigned noted = 0;
  for (unsigned round = 0; round < 6; ++round) {
    for (uint32_t i = 0; i < 500; ++i, ++noted) note(flow(round * 1000 + i));
    wait(25);  // told, and forgotten; nobody reads
  }
  EXPECT_GT(tap_.lost_flows().get(), 0u);
  EXPECT_EQ(tap_.lost_flows().get(), tap_.lost_packets().get());
  EXPECT_EQ(read().size() + tap_.lost_flows().get() + tap_.untold().get(), noted);
}

TEST_F(FilterLogTapTest, BeforeRulesChangeAllIsTold) {
  for (uint32_t i = 0; i < 100; ++i) note(flow(i), 2);
  tap_.report_all();
  const auto records = read();
  EXPECT_EQ(records.size() + tap_.untold().get() / 2, 100u);
  wait(30);
  EXPECT_TRUE(read().empty());
}

}  // namespace
}  // namespace hecto::router::test
