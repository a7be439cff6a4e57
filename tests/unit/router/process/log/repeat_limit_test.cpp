#include "router/process/log/repeat_limit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hecto::router {
namespace {

using namespace std::chrono_literals;
using Clock = RepeatLimit::Clock;

const Clock::time_point kStart{};

unsigned passed(RepeatLimit& limit, const std::string& text, unsigned times,
                Clock::time_point now) {
  unsigned count = 0;
  for (unsigned i = 0; i < times; ++i) count += limit.passes(text, 3, now);
  return count;
}

TEST(RepeatLimit, CountsWhatRepeatsAndTellsItWhenTheWindowEnds) {
  RepeatLimit limit;
  EXPECT_EQ(passed(limit, "port wan0: no", 62, kStart), RepeatLimit::kMost);
  EXPECT_EQ(limit.due(), kStart + RepeatLimit::kWindow);
  EXPECT_TRUE(limit.take(kStart + 9s).empty());
  const auto held = limit.take(kStart + 10s);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].line, "port wan0: no … 57 times more");
  EXPECT_EQ(held[0].level, 3);
  EXPECT_FALSE(limit.due());
  EXPECT_EQ(passed(limit, "port wan0: no", 1, kStart + 11s), 1u) << "a window of its own";
}

TEST(RepeatLimit, WhatDoesNotRepeatPasses) {
  RepeatLimit limit;
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(limit.passes(std::to_string(i), 2, kStart));
  EXPECT_EQ(passed(limit, "five", RepeatLimit::kMost, kStart), RepeatLimit::kMost);
  EXPECT_FALSE(limit.due());
  EXPECT_TRUE(limit.take(Clock::time_point::max()).empty());
}

TEST(RepeatLimit, EachTextHasItsOwnWindow) {
  RepeatLimit limit;
  passed(limit, "a", 7, kStart);
  passed(limit, "b", 8, kStart + 4s);
  EXPECT_EQ(limit.due(), kStart + 10s);
  ASSERT_EQ(limit.take(kStart + 10s).size(), 1u);
  EXPECT_EQ(limit.due(), kStart + 14s);
  EXPECT_EQ(limit.take(Clock::time_point::max()).at(0).line, "b … 3 times more");
}

TEST(RepeatLimit, IsBounded) {
  RepeatLimit limit;
  for (size_t i = 0; i < RepeatLimit::kMostTexts; ++i) limit.passes(std::to_string(i), 2, kStart);
  EXPECT_EQ(passed(limit, "one too many", 100, kStart), 100u) << "passes, rather than grow";
}

}  // namespace
}  // namespace hecto::router
