// Which worker has which part of a queue: equal ones, or by the time that each has.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "router/dataplane/port_spread.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

TEST(SpreadBuckets, HaveAShareForEachWorker) {
  for (unsigned others = 1; others <= kSpreadLanes; ++others) {
    std::map<uint8_t, unsigned> counts;
    for (const uint8_t lane : equal_buckets(others)) ++counts[lane];
    ASSERT_EQ(counts.size(), others + 1);
    for (const auto& [lane, count] : counts)
      EXPECT_NEAR(count, kSpreadBuckets / (others + 1.0), 1.01) << unsigned{lane};
  }
}

std::vector<unsigned> parts_of(const SpreadBuckets& buckets, size_t takers) {
  std::vector<unsigned> parts(takers + 1);
  for (const uint8_t lane : buckets) ++parts.at(lane);
  return parts;
}

// Whatever packets cost and whoever has time: when the head is at its limit, no taker gives more of its
// time than it has; and the head carries more than it did alone.
TEST(WeighedBuckets, OverloadNobody) {
  std::mt19937 random(test_seed());
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  unsigned begun = 0;
  for (unsigned i = 0; i < 10000; ++i) {
    const SpreadCosts costs{between(1, 200), between(0, 3000)};
    std::vector<double> free(1 + random() % kSpreadLanes);
    for (double& each : free) each = std::max(between(-0.5, 0.9), 0.0);
    const auto buckets = weighed_buckets(costs, free);
    if (!buckets) continue;
    ++begun;
    const auto parts = parts_of(*buckets, free.size());
    const double of_head =
        costs.receive + kHandOver_cycles + costs.rest * parts[0] / kSpreadBuckets;
    EXPECT_GE(costs.receive + costs.rest, 1.1 * of_head * (1 - 1e-9));
    for (size_t taker = 0; taker < free.size(); ++taker)
      EXPECT_LE(parts[taker + 1] / double{kSpreadBuckets} * (costs.rest + kTake_cycles) / of_head,
                free[taker] * (1 + 1e-9));
  }
  EXPECT_GT(begun, 1000u);
}

TEST(WeighedBuckets, GiveByTheTimeThatEachHas) {
  const auto buckets = weighed_buckets({50, 400}, {0.6, 0, 0.2});
  ASSERT_TRUE(buckets);
  const auto parts = parts_of(*buckets, 3);
  EXPECT_EQ(parts[2], 0u) << "it has none";
  EXPECT_NEAR(parts[1], 3.0 * parts[3], 4);
  EXPECT_GT(parts[0], parts[1]);
}

// Two workers of which each has all of its time: the head has less to do behind receive.
TEST(WeighedBuckets, GiveTheHeadLessByWhatItDoesForAll) {
  const auto own = [](double receive) {
    const auto buckets = weighed_buckets({receive, 2000}, {0.9, 0.9});
    return buckets ? parts_of(*buckets, 2)[0] : kSpreadBuckets;
  };
  EXPECT_GT(own(20), own(200));
  EXPECT_GT(own(200), own(600));
  EXPECT_LT(own(20), kSpreadBuckets / 2);
}

// What a packet costs behind receive is little more than to hand it over; nobody has time; or nothing is
// known.
TEST(WeighedBuckets, AreNoneWhereLittleIsGained) {
  EXPECT_TRUE(weighed_buckets({20, 500}, {0.9}));
  EXPECT_FALSE(weighed_buckets({20, 10}, {0.9, 0.9, 0.9}));
  EXPECT_FALSE(weighed_buckets({20, 500}, {0, 0}));
  EXPECT_FALSE(weighed_buckets({20, 500}, {0.05}));
  EXPECT_FALSE(weighed_buckets({0, 500}, {0.9, 0.9}));
  EXPECT_FALSE(weighed_buckets({}, {0.9, 0.9}));
}

}  // namespace
}  // namespace hecto::router::test
