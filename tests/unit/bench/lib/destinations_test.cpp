#include "bench/lib/destinations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/lib/statistics.hpp"

namespace hecto::bench {
namespace {

TEST(Quantile, IsAValueOfTheList) {
  const std::vector<double> values = {9, 1, 5, 3, 7};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.25), 3);
  EXPECT_EQ(median(values), 5);
  EXPECT_EQ(quantile(values, 1), 9);
  EXPECT_EQ(median({4}), 4);
}

TEST(Median, OfTwoIsBetweenThem) {
  EXPECT_EQ(median({3, 1}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Spread, IsTheRangeByTheMedian) {
  EXPECT_DOUBLE_EQ(spread({9, 10, 12}), 0.3);
  EXPECT_EQ(spread({4}), 0);
  EXPECT_EQ(spread({0, 0}), 0);
}

TEST(ZipfDistribution, RankKComesOneKthAsOftenAsTheFirst) {
  constexpr size_t kRanks = 1000;
  constexpr int kDraws = 2'000'000;
  const ZipfDistribution zipf(kRanks);
  std::mt19937_64 random(1);
  std::vector<int> drawn(kRanks);
  for (int i = 0; i < kDraws; ++i) {
    const size_t rank = zipf(random);
    ASSERT_LT(rank, kRanks);
    ++drawn[rank];
  }
  double harmonic = 0;
  for (size_t k = 1; k <= kRanks; ++k) harmonic += 1.0 / static_cast<double>(k);
  for (const size_t rank : {0u, 1u, 2u, 9u, 99u, 999u}) {
    const double expected = kDraws / harmonic / static_cast<double>(rank + 1);
    EXPECT_NEAR(drawn[rank], expected, 6 * std::sqrt(expected)) << rank;
  }
}

TEST(ZipfDistribution, OfOneIsAlwaysTheFirst) {
  std::mt19937_64 random(1);
  const ZipfDistribution zipf(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(zipf(random), 0u);
}

const std::vector<lookup::Prefix4> kPrefixes4 = {
    *lookup::Prefix4::parse("10.0.0.0/8"), *lookup::Prefix4::parse("192.0.2.128/25"),
    *lookup::Prefix4::parse("198.51.100.7/32"), *lookup::Prefix4::parse("203.0.113.0/24")};
const std::vector<lookup::Prefix6> kPrefixes6 = {*lookup::Prefix6::parse("2001:db8::/29"),
                                                 *lookup::Prefix6::parse("2620:0:1::/61"),
                                                 *lookup::Prefix6::parse("2a00::7/128")};

// How many destinations lie in each prefix; the last count is of those that lie in none.
std::vector<unsigned> counts(const auto& prefixes, const auto& destinations, auto address) {
  std::vector<unsigned> inside(prefixes.size() + 1);
  for (const auto& destination : destinations) {
    const auto found = std::find_if(prefixes.begin(), prefixes.end(), [&](const auto& prefix) {
      return prefix.contains(address(destination));
    });
    ++inside[static_cast<size_t>(found - prefixes.begin())];
  }
  return inside;
}

std::vector<unsigned> counts4(Destinations kind) {
  return counts(kPrefixes4, make_destinations(kind, kPrefixes4, 40000, 3),
                [](uint32_t value) { return lookup::Ipv4Address{value}; });
}
std::vector<unsigned> counts6(Destinations kind) {
  return counts(kPrefixes6, make_destinations(kind, kPrefixes6, 30000, 3),
                [](const lookup::Ipv6Address& address) { return address; });
}

TEST(Destinations, InTableOnesLieInAllPrefixesAlike) {
  const auto inside4 = counts4(Destinations::kInTable);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(inside4[i], 10000, 600);
  EXPECT_EQ(inside4[4], 0u);
  const auto inside6 = counts6(Destinations::kInTable);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(inside6[i], 10000, 600);
  EXPECT_EQ(inside6[3], 0u);
}

TEST(Destinations, ZipfOnesLieInPrefixesAsTheirRanksSay) {
  auto inside = counts4(Destinations::kZipf);
  EXPECT_EQ(inside.back(), 0u);
  std::sort(inside.rbegin(), inside.rend());
  const double first = 40000 / (1 + 1 / 2. + 1 / 3. + 1 / 4.);
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_NEAR(inside[rank], first / static_cast<double>(rank + 1), 600);
}

TEST(Destinations, UniformOnesLieAnywhere) {
  const auto inside = counts4(Destinations::kUniform);
  EXPECT_NEAR(inside[0], 40000 / 256, 60);  // the /8
  EXPECT_GT(inside[4], 39000u);
  EXPECT_EQ(counts6(Destinations::kUniform)[3], 30000u);
}

TEST(Destinations, HostsDifferAndTheSeedDecides) {
  const std::span<const lookup::Prefix6> prefix(kPrefixes6.data(), 1);
  auto once = make_destinations(Destinations::kInTable, prefix, 1000, 5);
  EXPECT_EQ(once, make_destinations(Destinations::kInTable, prefix, 1000, 5));
  EXPECT_NE(once, make_destinations(Destinations::kInTable, prefix, 1000, 6));
  std::sort(once.begin(), once.end());
  EXPECT_EQ(std::unique(once.begin(), once.end()), once.end());
}

}  // namespace
}  // namespace hecto::bench
