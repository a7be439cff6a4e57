#include "bench/throughput/procedures.hpp"

#include <gtest/gtest.h>

#include "tests/unit/bench/throughput/scripted_device.hpp"

namespace hecto::bench {
namespace {

TEST(LoadedTrial, TellsLatencyLossAndWhatTheDeviceSpends) {
  ScriptedDevice device(knee(5e6));
  unsigned readings = 0;
  const auto result = measure_loaded(device, 10e6, 2, [&]() -> std::optional<DeviceLoad> {
    ++readings;
    return DeviceLoad{.cycles_per_packet = 100.0 * readings};
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->offered, 20'000'000u);
  EXPECT_EQ(result->lost, 10'000'000u);
  EXPECT_NEAR(static_cast<double>(result->latency_ns.p50), 1500, 20);
  EXPECT_EQ(result->latency_ns.min, 1000u);
  EXPECT_EQ(result->latency_ns.max, 1999u);
  EXPECT_NEAR(static_cast<double>(result->pdv_ns()), 999, 20);
  ASSERT_TRUE(result->device);
  EXPECT_EQ(result->device->cycles_per_packet, 200);
}

TEST(LossCurve, EndsAfterTwoRatesWithoutLoss) {
  ScriptedDevice device(knee(7.5e6), 10e6);
  std::vector<LossRow> rows;
  ASSERT_TRUE(loss_curve(device, 10e6, 1, rows));
  ASSERT_EQ(rows.size(), 5u);  // 10, 9, 8 lose; 7 and 6 do not
  EXPECT_NEAR(rows[0].loss_ratio, 0.25, 1e-6);
  EXPECT_NEAR(rows[2].loss_ratio, 0.0625, 1e-6);
  EXPECT_EQ(rows[4].loss_ratio, 0);
}

// A buffer of 1,024 frames before something that forwards half of the rate.
TEST(BackToBack, FindsTheBurstThatTheBuffersHold) {
  ScriptedDevice device(
      [](double pps, double seconds) { return std::min(pps * seconds, 1024 + pps * seconds / 2); });
  BackToBack result;
  ASSERT_TRUE(back_to_back(device, 10e6, 2, 3, result));
  EXPECT_NEAR(result.frames, 2048, 2048 / 16);
  EXPECT_LE(result.most, 2048u);
  EXPECT_EQ(result.repetitions, 3u);
  EXPECT_FALSE(result.unlimited);
}

TEST(BackToBack, SaysWhenNoBurstIsTooLong) {
  ScriptedDevice device(knee(1e12));
  BackToBack result;
  ASSERT_TRUE(back_to_back(device, 10e6, 1, 2, result));
  EXPECT_TRUE(result.unlimited);
  EXPECT_EQ(result.frames, 10e6);
  ScriptedDevice never([](double, double) { return 0.0; });
  result = {};
  ASSERT_TRUE(back_to_back(never, 10e6, 1, 1, result));
  EXPECT_EQ(result.most, 0u);
}

TEST(Procedures, KeepWhatWasMeasuredBeforeAFailure) {
  ScriptedDevice dead(knee(7.5e6), 10e6);
  dead.die_at(3);
  std::vector<LossRow> rows;
  EXPECT_FALSE(loss_curve(dead, 10e6, 1, rows));
  EXPECT_EQ(rows.size(), 3u);
  ScriptedDevice stopped(knee(7.5e6), 10e6);
  stopped.interrupt_at(1);
  rows.clear();
  EXPECT_EQ(loss_curve(stopped, 10e6, 1, rows).error().message, "interrupted");
  EXPECT_EQ(rows.size(), 1u);

  ScriptedDevice whole(knee(1e12)), half(knee(1e12));
  BackToBack one, two;
  ASSERT_TRUE(back_to_back(whole, 10e6, 1, 1, one));
  half.die_at(whole.trials() + 2);
  EXPECT_FALSE(back_to_back(half, 10e6, 1, 5, two));
  EXPECT_EQ(two.repetitions, 1u);
  EXPECT_EQ(two.frames, one.frames);
}

TEST(Soak, CountsLossOverAllIntervals) {
  unsigned trials = 0;
  ScriptedDevice device(
      [&](double pps, double seconds) { return pps * seconds - (++trials == 3 ? 7 : 0); });
  std::vector<SoakInterval> intervals;
  const auto result =
      soak(device, 1e6, 25, 10, [&](const auto& each) { intervals.push_back(each); });
  EXPECT_EQ(result.lost, 7u);
  EXPECT_EQ(result.offered, 25'000'000u);
  EXPECT_EQ(result.lossy_intervals, 1u);
  ASSERT_EQ(intervals.size(), 3u);
  EXPECT_EQ(intervals[1].all_lost, 0u);
  EXPECT_EQ(intervals[2].lost, 7u);
  EXPECT_EQ(intervals[2].at_s, 25);
  EXPECT_FALSE(result.interrupted);
}

TEST(Soak, EndsWhenInterruptedOrWhenTheDeviceFails) {
  ScriptedDevice interrupted(knee(1e12)), dead(knee(1e12));
  interrupted.interrupt_at(1);
  dead.die_at(2);
  const auto nothing = [](const SoakInterval&) {};
  EXPECT_TRUE(soak(interrupted, 1e6, 3600, 10, nothing).interrupted);
  EXPECT_EQ(interrupted.trials(), 2u);
  const auto result = soak(dead, 1e6, 3600, 10, nothing);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.intervals, 2u);
  EXPECT_EQ(result.seconds, 20);
}

}  // namespace
}  // namespace hecto::bench
