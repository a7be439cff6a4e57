#include "bench/scale/scale.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hecto::bench {
namespace {

using testing::ElementsAre;

TEST(ScaleSteps, DoubleAndEndWithAll) {
  EXPECT_THAT(scale_steps(1), ElementsAre(1));
  EXPECT_THAT(scale_steps(8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(scale_steps(6), ElementsAre(1, 2, 4, 6));
}

}  // namespace
}  // namespace hecto::bench
