#include <gtest/gtest.h>

#include <vector>

#include "base/reason.hpp"
#include "router/dataplane/core/token_bucket.hpp"
#include "tests/beds/clock.hpp"

namespace hecto::router::test {
namespace {

TEST(TokenBucket, HoldsTheRateAndAllowsABurst) {
  TokenBucket bucket;
  bucket.configure(kHz, 1000, 16);
  unsigned at_once = 0;
  while (bucket.take(5 * kHz)) ++at_once;
  EXPECT_EQ(at_once, 17u);
  unsigned in_a_second = 0;
  for (uint64_t now = 5 * kHz; now < 6 * kHz; ++now) in_a_second += bucket.take(now);
  EXPECT_NEAR(in_a_second, 1000, 2);
}

TEST(TokenBucket, ARateOfZeroLetsNothingThrough) {
  TokenBucket bucket;
  EXPECT_FALSE(bucket.take(1));
  bucket.configure(kHz, 0, 16);
  EXPECT_FALSE(bucket.take(kHz));
}

TEST(Reason, EveryOneHasANameAndAPlace) {
  for (size_t i = 1; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    EXPECT_FALSE(reason.name.empty());
    EXPECT_FALSE(reason.description.empty());
    EXPECT_EQ(reason.punt, reason.default_pps > 0) << reason.name;
    EXPECT_EQ(reason_by_name(reason.name), static_cast<Reason>(i));
  }
  EXPECT_EQ(reason_by_name("nonsense"), Reason::kNone);
}

}  // namespace
}  // namespace hecto::router::test
