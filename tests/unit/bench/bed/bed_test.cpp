// The parts of the bed that need no router.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/bed/calibration_round.hpp"
#include "bench/bed/worker_rate.hpp"

namespace hecto::bench {
namespace {

using config::Constant;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(WorkerCores, FillOneSocketBeforeTheNext) {
  config::Topology box;
  for (unsigned cpu = 0; cpu < 4; ++cpu)
    box.cores.push_back({cpu, {}, static_cast<int>(cpu % 2), cpu != 2});
  EXPECT_THAT(worker_cores(box), ElementsAre(std::pair(0, 0u), std::pair(1, 1u), std::pair(1, 3u)));
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
  MeasuredConstants found;
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

TEST(MeasuredConstants, DoesNotTakeWhatNoConstantCanBe) {
  MeasuredConstants found;
  found.set(Constant::kRemoteAccessCycles, -3);
  EXPECT_FALSE(found.constants.is_set(Constant::kRemoteAccessCycles));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0], HasSubstr("remote_access_cycles: measured -3, which cannot be"));
}

}  // namespace
}  // namespace hecto::bench
