// What each mode does after empty polls, step by step.
#include "router/dataplane/idle_policy.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hecto::router::test {
namespace {

constexpr uint32_t kLongest_us = 50;

class Idler {
 public:
  explicit Idler(IdleMode mode, bool can_wait = true, uint32_t longest_us = kLongest_us) {
    policy_.use(mode, longest_us, can_wait);
  }
  Rest empty() { return policy_.next(++empty_, busy_); }
  Rest empty(unsigned polls) {
    Rest last;
    for (unsigned i = 0; i < polls; ++i) last = empty();
    return last;
  }
  void packets(unsigned polls = 1) {
    busy_ += polls;
    empty_ = 0;
  }
  // With packets each so many microseconds, where a poll takes 0.2: the last step before each.
  std::map<RestStep, unsigned> steps(double interval_us, unsigned rounds) {
    std::map<RestStep, unsigned> seen;
    for (unsigned i = 0; i < rounds; ++i) {
      packets();
      Rest rest;
      for (double us = 0; us < interval_us && rest.step != RestStep::kWait; us += 0.2 + rest.us)
        rest = empty();
      ++seen[rest.step];
    }
    return seen;
  }

 private:
  IdlePolicy policy_;
  unsigned empty_ = 0;
  uint64_t busy_ = 0;
};

TEST(IdlePolicy, PollNeverRests) {
  EXPECT_EQ(Idler(IdleMode::kPoll).empty(100'000), Rest{});
}

TEST(IdlePolicy, SleepSpinsThenSleepsTwiceAsLongEachTime) {
  Idler idler(IdleMode::kSleep);
  EXPECT_EQ(idler.empty(255), Rest{});
  EXPECT_EQ(idler.empty(), (Rest{RestStep::kSleep, 1}));
  EXPECT_EQ(idler.empty(8), (Rest{RestStep::kSleep, 2}));
  EXPECT_EQ(idler.empty(8), (Rest{RestStep::kSleep, 4}));
  EXPECT_EQ(idler.empty(1000), (Rest{RestStep::kSleep, kLongest_us}));
  idler.packets();
  EXPECT_EQ(idler.empty(), Rest{}) << "it returns at the first packet";
}

TEST(IdlePolicy, InterruptWaitsOrSleepsWhereAQueueSaysNothing) {
  Idler idler(IdleMode::kInterrupt), mute(IdleMode::kInterrupt, false);
  EXPECT_EQ(idler.empty(255), Rest{});
  EXPECT_EQ(idler.empty(), (Rest{RestStep::kWait, 0}));
  EXPECT_EQ(mute.empty(256), (Rest{RestStep::kSleep, 1}));
  EXPECT_EQ(in_force(IdleMode::kInterrupt, false), IdleMode::kSleep);
  EXPECT_EQ(in_force(IdleMode::kAdaptive, false), IdleMode::kAdaptive);
  EXPECT_EQ(in_force(IdleMode::kInterrupt, true), IdleMode::kInterrupt);
}

TEST(IdlePolicy, AdaptiveGoesByAllStepsInOrderAndEachGrows) {
  Idler idler(IdleMode::kAdaptive);
  std::vector<Rest> seen;
  for (unsigned i = 0; i < 2000; ++i) {
    const Rest rest = idler.empty();
    if (seen.empty() || seen.back() != rest) seen.push_back(rest);
  }
  const std::vector<Rest> expected = {{},
                                      {RestStep::kPause, 1},
                                      {RestStep::kPause, 2},
                                      {RestStep::kPause, 4},
                                      {RestStep::kPause, 8},
                                      {RestStep::kPause, 16},
                                      {RestStep::kSleep, 1},
                                      {RestStep::kSleep, 2},
                                      {RestStep::kSleep, 4},
                                      {RestStep::kSleep, 8},
                                      {RestStep::kSleep, 16},
                                      {RestStep::kSleep, 32},
                                      {RestStep::kSleep, 50},
                                      {RestStep::kWait, 0}};
  EXPECT_EQ(seen, expected);
}

TEST(IdlePolicy, AdaptiveWithoutWordOfAQueueStaysAtItsLongestSleep) {
  EXPECT_EQ(Idler(IdleMode::kAdaptive, false).empty(5000), (Rest{RestStep::kSleep, kLongest_us}));
  EXPECT_EQ(Idler(IdleMode::kAdaptive, false, 10'000).empty(5000),
            (Rest{RestStep::kSleep, 10'000}));
}

TEST(IdlePolicy, AdaptiveSpinsAfterOnePacketAndIsSoonBack) {
  Idler idler(IdleMode::kAdaptive);
  ASSERT_EQ(idler.empty(5000).step, RestStep::kWait);
  idler.packets();
  EXPECT_EQ(idler.empty(31), Rest{});
  EXPECT_EQ(idler.empty().step, RestStep::kSleep) << "one packet is no load";
  EXPECT_EQ(idler.empty(500).step, RestStep::kWait);
}

TEST(IdlePolicy, AdaptiveForgetsARestOnceTheLoadIsThere) {
  Idler idler(IdleMode::kAdaptive);
  idler.empty(5000);
  idler.packets(256);
  EXPECT_EQ(idler.empty(100), Rest{});
  idler.packets(1'000'000'000);
  EXPECT_EQ(idler.empty(100), Rest{});
}

TEST(IdlePolicy, AdaptiveSettlesByTheTimeBetweenPackets) {
  const auto settled = [](double interval_us) {
    Idler idler(IdleMode::kAdaptive);
    idler.steps(interval_us, 2000);
    const auto steps = idler.steps(interval_us, 100);
    EXPECT_EQ(steps.size(), 1u) << interval_us;
    return steps.begin()->first;
  };
  EXPECT_EQ(settled(0.2), RestStep::kSpin);
  EXPECT_EQ(settled(4), RestStep::kSpin);
  EXPECT_EQ(settled(20), RestStep::kPause);
  EXPECT_EQ(settled(200), RestStep::kSleep);
  EXPECT_EQ(settled(5000), RestStep::kWait);
}

TEST(IdlePolicy, AnotherModeTakesEffectAtOnce) {
  IdlePolicy policy;
  policy.use(IdleMode::kInterrupt, kLongest_us, true);
  EXPECT_EQ(policy.next(1000, 0).step, RestStep::kWait);
  policy.use(IdleMode::kPoll, kLongest_us, true);
  EXPECT_EQ(policy.next(1001, 0), Rest{});
}

}  // namespace
}  // namespace hecto::router::test
