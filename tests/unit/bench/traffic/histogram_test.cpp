// Latencies: what stamp and histogram can tell apart.
#include "bench/traffic/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "bench/traffic/tag.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::bench {
namespace {

constexpr uint64_t kFine_ns = 1 << 14;  // up to here a bucket is at most 64 ns wide

TEST(Histogram, TellsApart100nsUpTo16usAndOnePartIn128Above) {
  for (uint64_t ns = 0; ns < 4 * kFine_ns; ns += 3) {
    Histogram one;
    one.record(ns);
    one.record(~uint64_t{0} >> 1);  // else the largest value would be the answer
    const uint64_t told = one.quantile(0.5);
    ASSERT_GE(told, ns);
    ASSERT_LE(told - ns, ns < kFine_ns ? 100 : ns / 128) << ns;
  }
}

TEST(Histogram, AgreesWithSortedValues) {
  std::mt19937_64 random(test_seed());
  Histogram all, half;
  std::vector<uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t ns = random() >> (24 + random() % 40);
    values.push_back(ns);
    (i % 2 == 0 ? all : half).record(ns);
  }
  all.merge(half);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(all.count(), values.size());
  EXPECT_EQ(all.min(), values.front());
  EXPECT_EQ(all.max(), values.back());
  for (const double part : {0.01, 0.5, 0.99, 0.999}) {
    const uint64_t right = values[static_cast<size_t>(part * 20'000) - 1];
    EXPECT_GE(all.quantile(part), right) << part;
    EXPECT_LE(all.quantile(part), right + std::max<uint64_t>(100, right / 128)) << part;
  }
}

// From the time stamp counter to the quantile: two latencies 100 ns apart are told apart, whatever
// the counter's rate.
TEST(Latency, IsResolvedTo100ns) {
  for (const uint64_t hz : {1'000'000'000ull, 2'445'000'000ull, 5'000'000'000ull}) {
    const Clock clock(hz);
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 2000; ++i) {
      const uint64_t sent = random();
      const uint64_t ns = random() % (kFine_ns - 200);
      Histogram first, second;
      for (Histogram* of : {&first, &second}) {
        const uint64_t took = ns + (of == &second ? 100 : 0);
        of->record(clock.elapsed_ns(sent + took * hz / 1'000'000'000, clock.time(sent)));
        of->record(1'000'000);
      }
      ASSERT_LT(first.quantile(0.5), second.quantile(0.5)) << ns << " ns, " << hz << " Hz";
      ASSERT_NEAR(static_cast<double>(first.quantile(0.5)), static_cast<double>(ns), 100);
    }
  }
}

}  // namespace
}  // namespace hecto::bench
