#include "bench/throughput/search.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/bench/throughput/scripted_device.hpp"

namespace hecto::bench {
namespace {

SearchResult find(ScriptedDevice& device, SearchOptions options = {}) {
  options.now = device.clock();
  return search(device, options);
}

bool has(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

TEST(ThroughputSearch, FindsTheKneeOfAnIdealDevice) {
  for (const double capacity : {20'000.0, 1.3e6, 14.88e6, 39e6}) {
    ScriptedDevice device(knee(capacity));
    const SearchResult result = find(device);
    const GoalResult &ndr = result.goals[0], &pdr = result.goals[1];
    EXPECT_LE(ndr.pps, capacity) << capacity;
    EXPECT_GE(ndr.pps, capacity * 0.985) << capacity;
    EXPECT_GT(ndr.upper_pps, capacity) << capacity;
    EXPECT_LE(ndr.upper_pps - ndr.pps, ndr.upper_pps * 0.01) << capacity;
    // Half a percent of loss is a load half a percent over the capacity.
    EXPECT_LE(pdr.pps, capacity / 0.995) << capacity;
    EXPECT_GE(pdr.pps, capacity * 0.985) << capacity;
    EXPECT_EQ(ndr.limit, Limit::kDevice);
    EXPECT_EQ(ndr.spread, 0);
    EXPECT_GE(ndr.trials, 2u);
    EXPECT_FALSE(result.partial());
    EXPECT_TRUE(notes(result, {}).empty()) << notes(result, {})[0];
    EXPECT_LE(device.seconds(), 60) << capacity;
  }
}

TEST(ThroughputSearch, ReachesAWidthOfHalfAPercent) {
  ScriptedDevice device(knee(7.77e6));
  SearchOptions options;
  options.width = 0.005;
  const SearchResult result = find(device, options);
  EXPECT_LE(result.goals[0].upper_pps - result.goals[0].pps, result.goals[0].upper_pps * 0.005);
  EXPECT_FALSE(result.partial());
}

// One packet of a million is lost at any load: no rate without loss, but one with a ratio.
TEST(ThroughputSearch, ToleratesRandomLossWithinTheRatio) {
  const auto forward = [](double pps, double seconds) {
    return std::min(pps, 10e6) * seconds * (1 - 1e-5);
  };
  ScriptedDevice strict(forward), tolerant(forward);
  const SearchResult none = find(strict);
  EXPECT_LT(none.goals[0].pps, 60'000);
  EXPECT_GE(none.goals[1].pps, 9.85e6);
  SearchOptions options;
  options.goals[0].loss_ratio = 1e-4;
  const SearchResult some = find(tolerant, options);
  EXPECT_GE(some.goals[0].pps, 9.85e6);
  EXPECT_LE(some.goals[0].pps, 10.01e6);
}

// A device that loses over a band of loads below its knee, which no phase has a reason to try.
TEST(ThroughputSearch, ALowerLoadThatFailsBoundsTheResult) {
  ScriptedDevice device([](double pps, double seconds) {
    const bool bad = pps > 8e6 && pps < 9.5e6;
    return std::min(pps, 10e6) * seconds * (bad ? 0.97 : 1);
  });
  const SearchResult result = find(device);
  for (const GoalResult& goal : result.goals) {
    EXPECT_LE(goal.pps, 8e6) << goal.goal.name;
    EXPECT_GE(goal.pps, 7.8e6) << goal.goal.name;
    EXPECT_LT(goal.upper_pps, 9.5e6) << goal.goal.name;
    EXPECT_TRUE(goal.complete);
  }
}

// It carries 10 Mpps for as long as the search takes, and 1.6 ever after.
TEST(ThroughputSearch, AResultThatLaterTrialsContradictIsNone) {
  ScriptedDevice device(knee(10e6));
  SearchResult result = find(device);
  const double pps = result.goals[0].pps;
  SearchResult steady = result;
  refute(steady, std::vector<LaterTrial>{{pps, 2, 0.1}, {pps * 0.9, 2, 0}, {pps / 2, 2, 0}}, 0.5);
  EXPECT_EQ(steady.goals[0].refuted_pps, 0) << "one trial that the machine disturbed";
  EXPECT_FALSE(steady.partial());
  refute(result,
         std::vector<LaterTrial>{
             {pps, 2, 0.8}, {pps * 0.9, 2, 0.8}, {pps / 2, 2, 0.004}, {pps / 10, 2, 0}},
         0.5);
  EXPECT_EQ(result.goals[0].refuted_pps, pps / 2);
  EXPECT_EQ(result.goals[1].refuted_pps, 0) << "0.4% is within the PDR's ratio: half of the time";
  EXPECT_TRUE(result.partial());
  EXPECT_TRUE(has(notes(result, {}), "ndr: no result: "));
}

// A stall in every fourth trial, whatever the load.
TEST(ThroughputSearch, AStallNowAndThenDoesNotMislead) {
  unsigned trials = 0;
  ScriptedDevice device([&](double pps, double seconds) {
    return std::min(pps, 10e6) * seconds - (++trials % 4 == 0 ? 50'000 : 0);
  });
  const SearchResult result = find(device);
  EXPECT_NEAR(result.goals[0].pps, 10e6, 0.15e6);
  EXPECT_FALSE(result.partial());
}

TEST(ThroughputSearch, SaysWhenTheMachineIsNoisy) {
  std::mt19937_64 random(test_seed());
  std::uniform_real_distribution<double> capacity(8.6e6, 11.4e6);
  ScriptedDevice device(
      [&](double pps, double seconds) { return std::min(pps, capacity(random)) * seconds; });
  const SearchResult result = find(device);
  EXPECT_GE(result.goals[0].pps, 8.4e6);
  EXPECT_LE(result.goals[0].pps, 11.4e6);
  EXPECT_GT(result.forwarding_spread, 0.1);
  EXPECT_TRUE(has(notes(result, {}), "noisy machine (spread "));
  EXPECT_LE(device.seconds(), 60);
}

// Loses between 3 and 4 Mpps, then forwards again up to 10: the lower one stands.
TEST(ThroughputSearch, OfNonMonotonicLossTheLowestFailureSeenCounts) {
  ScriptedDevice device([](double pps, double seconds) {
    if (pps > 3e6 && pps < 4e6) return pps * seconds * 0.9;
    return std::min(pps, 10e6) * seconds;
  });
  const SearchResult result = find(device);
  for (const GoalResult& goal : result.goals) {
    EXPECT_GT(goal.pps, 0);
    EXPECT_TRUE(goal.complete);
    for (const double load : device.loads())
      EXPECT_TRUE(load <= 3e6 || load >= 4e6 || goal.pps <= load) << goal.goal.name;
  }
}

// Overloaded it forwards less than it could (receive livelock).
TEST(ThroughputSearch, FindsTheKneeOfADeviceThatChokes) {
  ScriptedDevice device([](double pps, double seconds) {
    return (pps <= 10e6 ? pps : 10e6 * std::exp2(-(pps - 10e6) / 5e6)) * seconds;
  });
  const SearchResult result = find(device);
  EXPECT_NEAR(result.goals[0].pps, 10e6, 0.15e6);
}

TEST(ThroughputSearch, ADeviceThatDiesLeavesAPartialResult) {
  for (const unsigned trial : {0u, 2u, 9u, 20u}) {
    ScriptedDevice device(knee(10e6));
    device.die_at(trial);
    const SearchResult result = find(device);
    ASSERT_TRUE(result.error) << trial;
    EXPECT_EQ(result.error->message, "the router has ended by signal 9");
    EXPECT_TRUE(result.partial());
    EXPECT_EQ(result.trials.size(), trial);
    EXPECT_TRUE(has(notes(result, {}), "ended early: the router has ended"));
    // Bounds of earlier phases are kept, those of none are none.
    EXPECT_NEAR(result.goals[0].pps, trial >= 9 ? 10e6 : 0, 1e6) << trial;
  }
}

TEST(ThroughputSearch, AnInterruptionLeavesAPartialResult) {
  ScriptedDevice device(knee(10e6));
  device.interrupt_at(15);
  const SearchResult result = find(device);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.partial());
  EXPECT_EQ(device.trials(), 16u);
}

TEST(ThroughputSearch, ADeviceThatLosesEverythingIsToldSo) {
  ScriptedDevice device([](double, double) { return 0.0; });
  const SearchResult result = find(device);
  for (const GoalResult& goal : result.goals) {
    EXPECT_EQ(goal.pps, 0);
    EXPECT_EQ(goal.limit, Limit::kNothing);
    EXPECT_TRUE(goal.complete);
  }
  EXPECT_TRUE(has(notes(result, {}), "loses packets at every rate down to 1000 pps"));
  EXPECT_LT(device.seconds(), 30);
}

TEST(ThroughputSearch, ADeviceThatNeverLosesIsLimitedByTheGenerator) {
  ScriptedDevice device(knee(1e12), 25e6);
  const SearchResult result = find(device);
  for (const GoalResult& goal : result.goals) {
    EXPECT_NEAR(goal.pps, 25e6, 1);
    EXPECT_EQ(goal.limit, Limit::kGenerator);
    EXPECT_EQ(goal.upper_pps, 0);
    EXPECT_TRUE(goal.complete);
  }
  EXPECT_TRUE(has(notes(result, {}), "ndr: the generator is the limit: the device carries"));
  ScriptedDevice line(knee(1e12), 25e6);
  SearchOptions options;
  options.max_pps = 14'880'952;
  EXPECT_EQ(find(line, options).goals[0].pps, 14'880'952);
}

// What it offers sinks from 25 to 20 Mpps after its first trials: no loss, but no 25 either.
TEST(ThroughputSearch, AGeneratorThatTiresIsNoMeritOfTheDevice) {
  class Tired : public ScriptedDevice {
   public:
    Tired() : ScriptedDevice(knee(1e12), 25e6) {}
    Result<TrialResult> run(const TrialRequest& request) override {
      TrialRequest less = request;
      if (trials() > 4) less.pps = std::min(less.pps, 20e6);
      auto result = ScriptedDevice::run(less);
      result->wanted = static_cast<uint64_t>(request.pps * request.seconds);
      return result;
    }
  } device;
  const SearchResult result = find(device);
  EXPECT_NEAR(result.goals[0].pps, 20e6, 1e3);
  EXPECT_EQ(result.goals[0].limit, Limit::kGenerator);
  EXPECT_FALSE(result.partial());
}

// Offers four fifths of whatever it is asked for.
class StarvedGenerator : public ScriptedDevice {
 public:
  StarvedGenerator() : ScriptedDevice(knee(10e6)) {}
  Result<TrialResult> run(const TrialRequest& request) override {
    TrialRequest less = request;
    less.pps *= 0.8;
    return ScriptedDevice::run(less);
  }
};

TEST(ThroughputSearch, AGeneratorWithoutItsCpuIsToldOfAndEndsTheSearch) {
  StarvedGenerator device;
  SearchOptions options;
  options.now = device.clock();
  const SearchResult result = search(device, options);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->message.find("other work takes its CPU"), std::string::npos);
  EXPECT_TRUE(result.partial());
  EXPECT_LT(result.seconds, 60);
}

TEST(ThroughputSearch, EndsInItsTime) {
  for (const double total : {0.05, 1.0, 5.0, 12.0}) {
    std::mt19937_64 random(test_seed());
    std::uniform_real_distribution<double> capacity(2e6, 11.4e6);
    ScriptedDevice device(
        [&](double pps, double seconds) { return std::min(pps, capacity(random)) * seconds; });
    SearchOptions options;
    options.total_s = total;
    const SearchResult result = find(device, options);
    EXPECT_LE(device.seconds(), total + 1e-9);
    EXPECT_TRUE(result.partial()) << total;
    EXPECT_TRUE(has(notes(result, options), "give --search-seconds more"));
  }
}

TEST(ThroughputSearch, WhatAPortRefusedIsLost) {
  class Ring : public ScriptedDevice {
   public:
    Ring() : ScriptedDevice(knee(6e6)) {}
    Result<TrialResult> run(const TrialRequest& request) override {
      auto result = ScriptedDevice::run(request);
      result->refused = result->sent - result->received;
      result->sent = result->received;
      return result;
    }
  } device;
  EXPECT_NEAR(find(device).goals[0].pps, 6e6, 0.1e6);
}

}  // namespace
}  // namespace hecto::bench
