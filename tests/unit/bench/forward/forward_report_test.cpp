#include <gtest/gtest.h>

#include "bench/forward/report.hpp"

namespace hecto::bench {
namespace {

ForwardPoint point_of(PacketCache cache, unsigned burst) {
  ForwardPoint point{cache, 0, burst};
  point.series = {{BedWork::kFloor, {20, 40, 60}, {0, 0, 0}},
                  {BedWork::kIpv4, {50, 71, 90}, {0, 0, 0}}};
  return point;
}

// A machine whose speed drifts drifts for both: the rounds lie 20 apart, their differences 1.
TEST(ForwardRows, PairTheFloorWithWhatIsOverItRoundByRound) {
  const auto rows = rows_of(point_of(PacketCache::kL2, 64), 64, 2e9);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_FALSE(rows[0].over_floor);
  EXPECT_DOUBLE_EQ(*rows[1].over_floor, 30);
  EXPECT_DOUBLE_EQ(*rows[1].over_floor_spread, 1);
  EXPECT_DOUBLE_EQ(rows[1].cycles, 71);
  EXPECT_NEAR(rows[1].mpps, 2000 / 71.0, 1e-9);
}

TEST(ForwardRows, HaveNothingOverAFloorThatWasNotMeasured) {
  ForwardPoint point = point_of(PacketCache::kL2, 64);
  point.series.erase(point.series.begin());
  EXPECT_FALSE(rows_of(point, 64, 2e9)[0].over_floor);
}

TEST(MainPoint, IsTheSecondLevelAndTheLargestBurst) {
  const std::vector<ForwardPoint> points = {
      point_of(PacketCache::kL1, 64), point_of(PacketCache::kL2, 8), point_of(PacketCache::kL2, 32),
      point_of(PacketCache::kL3, 64)};
  EXPECT_EQ(main_point(points).cache, PacketCache::kL2);
  EXPECT_EQ(main_point(points).burst, 32u);
  EXPECT_EQ(main_point({point_of(PacketCache::kL1, 4), point_of(PacketCache::kL1, 16)}).burst, 16u);
}

}  // namespace
}  // namespace hecto::bench
