#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/calibrate/parts.hpp"
#include "bench/lib/fit.hpp"

namespace hecto::bench {
namespace {

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

TEST(Links, ThatCameUpNarrowAreTold) {
  config::Topology box;
  config::Nic nic;
  nic.pci = "0000:17:00.0";
  nic.pcie_gt_s = nic.pcie_max_gt_s = 16;
  nic.pcie_lanes = 8;
  nic.pcie_max_lanes = 16;
  box.nics = {nic};
  MeasuredConstants found;
  note_links(box, found);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0], HasSubstr("16 GT/s x8, below the card's 16 GT/s x16"));
}

}  // namespace
}  // namespace hecto::bench
