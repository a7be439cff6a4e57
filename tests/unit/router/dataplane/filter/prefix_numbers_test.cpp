// Numbers of a set's prefixes: each has one of its own, which it keeps while others come and go.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <type_traits>
#include <utility>

#include "router/dataplane/filter/prefix_policer.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

using lookup::IpAddress;
using lookup::IpPrefix;

template <typename Prefix>
void expect_each_its_number(bool six) {
  std::mt19937_64 random(test_seed());
  const auto any = [&] {
    IpPrefix prefix;
    prefix.address.family = six ? lookup::Family::kIpv6 : lookup::Family::kIpv4;
    for (unsigned i = 0; i < (six ? 16u : 4u); ++i)
      prefix.address.bytes[i] = static_cast<uint8_t>(random() % (i == 0 ? 4 : 256));
    prefix.length = static_cast<uint8_t>(six ? 12 + random() % 60 : 10 + random() % 23);
    return IpPrefix{prefix.address, prefix.length};
  };
  const auto clean = [&](const IpPrefix& prefix) {
    if constexpr (std::is_same_v<Prefix, lookup::Prefix4>)
      return Prefix::make(prefix.address.v4(), prefix.length);
    else
      return Prefix::make(prefix.address.v6(), prefix.length);
  };
  config::PolicerConfig policer;
  policer.rate_bps = 8;
  policer.burst_bytes = 240;
  const auto profile = *MeterProfile::create(policer, 2'400'000'000);
  config::PrefixSetConfig set{"homes", {}, {}, {}};
  for (int i = 0; i < 80'000; ++i) {
    const Prefix prefix = clean(any());
    set.prefixes.push_back({IpAddress::from(prefix.address), prefix.length});
  }
  std::shared_ptr<const PrefixNumbers> numbers;
  std::map<Prefix, uint32_t> before;
  for (int round = 0; round < 3; ++round) {
    auto made = PrefixNumbers::build(set, {0}, std::make_shared<PrefixBuckets>(profile), numbers);
    ASSERT_TRUE(made) << made.error().message;
    const std::shared_ptr<const PrefixNumbers> old = std::exchange(numbers, *made);
    std::set<Prefix> in;
    for (const IpPrefix& each : set.prefixes) in.insert(clean(each));
    std::map<Prefix, uint32_t> found;
    std::map<uint32_t, Prefix> owners;
    unsigned inside = 0;
    for (int i = 0; i < 60'000; ++i) {
      IpPrefix host = i % 2 == 0 ? any() : set.prefixes[random() % set.prefixes.size()];
      host.length = six ? 128 : 32;
      const auto address = clean(host).address;
      std::optional<Prefix> longest;
      for (int length = host.length; length >= 0 && !longest; --length)
        if (const Prefix prefix = Prefix::make(address, static_cast<uint8_t>(length));
            in.contains(prefix))
          longest = prefix;
      lookup::GroupId low, high = 0;
      if constexpr (std::is_same_v<Prefix, lookup::Prefix4>) {
        const auto tables = numbers->tables4(0);
        lookup_batch(tables.low, &address.value, &low, 1);
        lookup_batch(tables.high, &address.value, &high, 1);
      } else {
        const auto tables = numbers->tables6(0);
        lookup_batch(tables.low, &address, &low, 1);
        lookup_batch(tables.high, &address, &high, 1);
      }
      ASSERT_EQ(uint16_t{low} != 0, longest.has_value()) << host.address.to_string();
      if (!longest) continue;
      ++inside;
      const uint32_t number = uint16_t{low} - 1u + uint16_t{high} * PrefixNumbers::kLow;
      ASSERT_EQ(found.emplace(*longest, number).first->second, number) << longest->to_string();
      ASSERT_EQ(owners.emplace(number, *longest).first->second, *longest);
      if (const auto had = before.find(*longest); had != before.end()) {
        ASSERT_EQ(had->second, number) << "it keeps its bucket";
      }
    }
    EXPECT_GT(inside, 30'000u);
    EXPECT_GT(owners.rbegin()->first, PrefixNumbers::kLow);
    before = found;
    for (int i = 0; i < 20'000; ++i) {
      const size_t at = random() % set.prefixes.size();
      before.erase(clean(set.prefixes[at]));  // unless it is there twice, or comes again
      const Prefix fresh = clean(any());
      before.erase(fresh);
      set.prefixes[at] = {IpAddress::from(fresh.address), fresh.length};
    }
  }
}

TEST(PrefixNumbers, AreOneForEachPrefixHoweverTheyLie) {
  expect_each_its_number<lookup::Prefix4>(false);
  expect_each_its_number<lookup::Prefix6>(true);
}

// Between prefixes the table may say anything, so what lies side by side is few entries.
TEST(Covering, IsOfFewEntriesWhereNeighborsSayTheSame) {
  using lookup::Prefix4;
  const auto of = [](std::initializer_list<std::pair<const char*, uint32_t>> list) {
    std::vector<Valued<Prefix4>> all;
    for (const auto& [prefix, value] : list) all.push_back({*Prefix4::parse(prefix), value});
    std::string out;
    for (const auto& each : Covering<Prefix4>::of(all))
      out += each.prefix.to_string() + "=" + std::to_string(each.value) + " ";
    return out;
  };
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({{"10.0.0.0/24", 7}}), "10.0.0.0/24=7 ");
  EXPECT_EQ(of({{"10.0.0.0/24", 7}, {"10.0.3.0/24", 7}, {"10.0.3.9/32", 7}}), "10.0.0.0/22=7 ");
  EXPECT_EQ(of({{"10.0.0.0/24", 7}, {"10.0.1.0/24", 7}, {"10.0.2.0/24", 8}, {"10.0.3.1/32", 8}}),
            "10.0.0.0/23=7 10.0.2.0/23=8 ");
  EXPECT_EQ(of({{"10.0.0.0/8", 1}, {"10.1.0.0/16", 2}, {"10.1.1.0/24", 2}, {"10.3.0.0/16", 2}}),
            "10.0.0.0/8=1 10.1.0.0/16=2 10.3.0.0/16=2 ")
      << "10.2 is the outer one's";
  EXPECT_EQ(of({{"10.0.0.0/8", 1}, {"10.0.0.0/16", 2}, {"10.0.0.0/24", 1}}),
            "10.0.0.0/8=1 10.0.0.0/16=2 10.0.0.0/24=1 ");
}

}  // namespace
}  // namespace hecto::router::test
