#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/compare-plan/rounds.hpp"

namespace hecto::bench {
namespace {

using config::Constant;

class Prediction : public testing::Test {
 protected:
  Prediction() {
    constants_.set(Constant::kMemoryRxCycles, 20, "test");
    constants_.set(Constant::kMemoryTxCycles, 10, "test");
    constants_.set(Constant::kCopyPacketCycles, 5, "test");
    constants_.set(Constant::kCopyByteCycles, 0.1, "test");
    constants_.set(Constant::kL1Kbyte, 1e6, "test");  // so that nothing leaves it
    constants_.set(Constant::kLoopCycles, 1, "test");
    constants_.set(Constant::kClassifyIpv4Cycles, 12, "test");
    constants_.set(Constant::kLookupIpv4Cycles, 6, "test");
    constants_.set(Constant::kRewriteIpv4Cycles, 11, "test");
    constants_.set(Constant::kLookupIpv6Cycles, 40, "test");
    constants_.set(Constant::kClassifyIpv6Cycles, 13, "test");
    constants_.set(Constant::kRewriteIpv6Cycles, 9, "test");
  }
  config::Constants constants_;
};

TEST_F(Prediction, CopiesAllBytesOutAndTheRestBehindTheHeadersIn) {
  // In: 5 and no byte. Out: 5 and 64 bytes.
  EXPECT_NEAR(predict(constants_, "floor", {64}).sum, 20 + 10 + 10 + 6.4, 1e-9);
  EXPECT_NEAR(predict(constants_, "floor", {164}).sum, 20 + 10 + 10 + 10 + 16.4, 1e-9);
}

TEST_F(Prediction, OfForwardingIsTheFloorAndTheStages) {
  const double floor = predict(constants_, "floor", {512}).sum;
  EXPECT_NEAR(predict(constants_, "ipv4", {512}).sum, floor + 1 + 12 + 6 + 11, 1e-9);
  EXPECT_NEAR(predict(constants_, "ipv6", {512}).sum, floor + 1 + 13 + 40 + 9, 1e-9);
}

TEST_F(Prediction, OfAMixIsThatOfItsMean) {
  EXPECT_NEAR(predict(constants_, "ipv4", {64, 128, 192, 128}).sum,
              predict(constants_, "ipv4", {128}).sum, 1e-9);
}

PlanRow row_of(double error, bool calibrated) {
  PlanRow row;
  row.error = error;
  row.calibrated = calibrated;
  return row;
}

TEST(PlanVerdict, CountsPredictionsOutsideOfTheBoundAndNoCalibratedPoint) {
  const auto verdict =
      verdict_of({row_of(0.4, true), row_of(0.1, false), row_of(-0.2, false), row_of(0.15, false)});
  EXPECT_EQ(verdict.predictions, 3u);
  EXPECT_EQ(verdict.outside, 1u);
  EXPECT_DOUBLE_EQ(verdict.median_error, 0.15);
  EXPECT_DOUBLE_EQ(verdict.largest_error, 0.2);
  EXPECT_FALSE(verdict.within());
  EXPECT_TRUE(verdict_of({row_of(0.4, true), row_of(0.1, false)}).within());
}

TEST(PlanVerdict, OfCalibratedPointsAloneIsNone) {
  EXPECT_FALSE(verdict_of({row_of(0.01, true)}).within());
  EXPECT_TRUE(is_calibrated({64}));
  EXPECT_FALSE(is_calibrated({128}));
  EXPECT_FALSE(is_calibrated({64, 64, 590}));
}

}  // namespace
}  // namespace hecto::bench
