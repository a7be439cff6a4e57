// The pure parts of calibrate, compare-plan, forward and scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/bed/bed.hpp"
#include "bench/calibrate/fit.hpp"
#include "bench/calibrate/round.hpp"
#include "bench/compare-plan/compare_plan.hpp"
#include "bench/scale/scale.hpp"

namespace hecto::bench {
namespace {

using config::Constant;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Fit, FindsALineThatGoesThroughAllPoints) {
  const Line line = fit({64, 512, 1518}, {6 + 64 * 0.04, 6 + 512 * 0.04, 6 + 1518 * 0.04});
  EXPECT_NEAR(line.at_zero, 6, 1e-9);
  EXPECT_NEAR(line.slope, 0.04, 1e-12);
}

TEST(Fit, WeighsSmallValuesAsMuchAsLargeOnes) {
  // The third point lies a tenth too high; the line stays within a tenth of the first, too.
  const Line line = fit({0, 10, 1000}, {1, 2, 110});
  EXPECT_NEAR(line.at_zero, 1, 0.1);
}

TEST(FrameSizes, AreOneSizeOrTheMixOfSevenFourAndOne) {
  EXPECT_THAT(*frame_sizes("9000"), ElementsAre(9000));
  const auto mix = *frame_sizes("imix");
  EXPECT_EQ(std::count(mix.begin(), mix.end(), 64), 7);
  EXPECT_EQ(std::count(mix.begin(), mix.end(), 590), 4);
  EXPECT_EQ(std::count(mix.begin(), mix.end(), 1514), 1);
  EXPECT_NEAR(mean_bytes(mix), 361.83 - 4, 3);
}

TEST(FrameSizes, OutsideOfWhatFitsAreRefusedWithTheRange) {
  for (const char* wrong : {"63", "9015", "", "64x", "-1", "99999999999", "IMIX"}) {
    const auto sizes = frame_sizes(wrong);
    ASSERT_FALSE(sizes) << wrong;
    EXPECT_THAT(sizes.error().message, HasSubstr("use imix, or 64 to 9014 bytes"));
  }
}

TEST(ScaleSteps, DoubleAndEndWithAll) {
  EXPECT_THAT(scale_steps(1), ElementsAre(1));
  EXPECT_THAT(scale_steps(8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(scale_steps(6), ElementsAre(1, 2, 4, 6));
}

TEST(ScaleCores, FillOneSocketBeforeTheNext) {
  config::Topology box;
  for (unsigned cpu = 0; cpu < 4; ++cpu)
    box.cores.push_back({cpu, {}, static_cast<int>(cpu % 2), cpu != 2});
  EXPECT_THAT(scale_cores(box), ElementsAre(std::pair(0, 0u), std::pair(1, 1u), std::pair(1, 3u)));
}

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

TEST(CalibrationRound, TakesApartWhatPortsCopiesAndRefillsCost) {
  RoundCycles cycles;
  cycles.ipv4 = {.cycles = 101, .taken = 0, .stages = {{21, 13, 7, 12, 33}}};
  cycles.ipv6 = {.cycles = 131, .taken = 0, .stages = {{23, 14, 30, 15, 35}}};
  cycles.sampling = 1;
  cycles.floor = 40;
  cycles.copied_floor = 40 + 2 * 9 + 64 * 0.1;
  cycles.swept_floor = 46;
  cycles.swept_ipv4 = 101 + 6 + 11;
  cycles.copy = {0.1, 0.2, 0.3};
  Found found;
  take_round(cycles, found);
  const auto& c = found.constants;
  EXPECT_DOUBLE_EQ(c[Constant::kMemoryRxCycles], 21);
  EXPECT_DOUBLE_EQ(c[Constant::kMemoryTxCycles], 33);
  EXPECT_DOUBLE_EQ(c[Constant::kClassifyIpv4Cycles], 12);
  EXPECT_DOUBLE_EQ(c[Constant::kLookupIpv6Cycles], 29);
  EXPECT_DOUBLE_EQ(c[Constant::kRewriteIpv6Cycles], 14);
  EXPECT_DOUBLE_EQ(c[Constant::kLoopCycles], ((101 - 81) + (131 - 112)) / 2.0);
  EXPECT_NEAR(c[Constant::kCopyPacketCycles], 9, 1e-9);
  EXPECT_DOUBLE_EQ(c[Constant::kRefillPortCycles], 6);
  EXPECT_DOUBLE_EQ(c[Constant::kRefillStageCycles], 11);
  EXPECT_DOUBLE_EQ(c[Constant::kCopyByteL3Cycles], 0.3);
}

TEST(Found, DoesNotTakeWhatNoConstantCanBe) {
  Found found;
  found.set(Constant::kRemoteAccessCycles, -3);
  EXPECT_FALSE(found.constants.is_set(Constant::kRemoteAccessCycles));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0], HasSubstr("remote_access_cycles: measured -3, which cannot be"));
}

TEST(Links, ThatCameUpNarrowAreTold) {
  config::Topology box;
  config::Nic nic;
  nic.pci = "0000:17:00.0";
  nic.pcie_gt_s = nic.pcie_max_gt_s = 16;
  nic.pcie_lanes = 8;
  nic.pcie_max_lanes = 16;
  box.nics = {nic};
  Found found;
  note_links(box, found);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0], HasSubstr("16 GT/s x8, below the card's 16 GT/s x16"));
}

}  // namespace
}  // namespace hecto::bench
