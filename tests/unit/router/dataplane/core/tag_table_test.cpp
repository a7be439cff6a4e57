// Interfaces by their tags, against a map.
#include "router/dataplane/core/tag_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

TEST(TagTable, FindsWhatAMapFinds) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (const size_t count : {size_t{0}, size_t{1}, size_t{5}, size_t{100}, size_t{1023}}) {
    std::map<VlanTags, InterfaceId> map;
    std::vector<TagTable::Entry> entries;
    const auto any = [&] {
      const auto vlan = [&] {
        return static_cast<uint16_t>(1 + random() % (count < 50 ? 6 : 4094));
      };
      const bool one = random() % 4 == 0;
      return VlanTags{vlan(), one ? uint16_t{0} : vlan(), one || random() % 2 == 0};
    };
    while (entries.size() < count) {
      const VlanTags tags = any();
      const InterfaceId interface(entries.size());
      entries.emplace_back(tags, interface);
      map.emplace(tags, interface);  // the first of equal ones
    }
    const TagTable table(entries);
    for (const auto& [tags, interface] : map) {
      ASSERT_EQ(table.find(tags), interface) << to_string(tags);
      ASSERT_TRUE(tags.count() == 1 || table.has_within(tags.service, tags.outer_vlan));
    }
    for (int i = 0; i < 20'000; ++i) {
      const VlanTags tags = any();
      const auto known = map.find(tags);
      ASSERT_EQ(table.find(tags), known == map.end() ? kNoInterface : known->second);
    }
  }
}

TEST(TagTable, KnowsTheOuterTagsThatHaveOthersWithin) {
  const std::vector<TagTable::Entry> entries = {
      {{100, 0, true}, 1}, {{10, 200, true}, 2}, {{10, 300, false}, 3}};
  const TagTable table(entries);
  EXPECT_FALSE(table.has_within(true, 100));
  EXPECT_TRUE(table.has_within(true, 200));
  EXPECT_FALSE(table.has_within(false, 200));
  EXPECT_TRUE(table.has_within(false, 300));
  EXPECT_EQ(table.view().find(TagTable::key_of_two(true, 200, 4095)), kNoInterface);
  EXPECT_EQ(table.view().find(TagTable::key_of_two(true, 100, 0)), kNoInterface)
      << "a priority tag inside is none of its";
}

TEST(TagTable, NoTableFindsNothing) {
  EXPECT_EQ(TagView{}.find(0), kNoInterface);
  EXPECT_EQ(TagView{}.find(TagTable::key_of_two(true, 4094, 4094)), kNoInterface);
}

}  // namespace
}  // namespace hecto::router::test
