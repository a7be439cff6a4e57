#include "router/dataplane/core/reason_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace hecto::router {
namespace {

using Pairs = std::map<std::pair<Reason, InterfaceId>, uint64_t>;

Pairs pairs_of(const ReasonTable& table) {
  Pairs all;
  table.each([&](Reason reason, InterfaceId interface, uint64_t packets) {
    EXPECT_TRUE(all.emplace(std::pair(reason, interface), packets).second) << "twice";
  });
  return all;
}

TEST(ReasonTable, CountsPairsAsAMapDoes) {
  ReasonTable table;
  Pairs wanted;
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto reason = static_cast<Reason>(1 + random() % 6);
    const auto interface = static_cast<InterfaceId>(random() % 20);
    EXPECT_TRUE(table.add(reason, interface));
    ++wanted[{reason, interface}];
  }
  EXPECT_EQ(pairs_of(table), wanted);
}

TEST(ReasonTable, OneThatIsFullRefusesNewPairsAndCountsTheOldOnes) {
  ReasonTable table;
  uint64_t added = 0;
  for (unsigned interface = 0; interface < kMaxInterfaces; ++interface)
    added += table.add(Reason::kUrpf, static_cast<InterfaceId>(interface));
  EXPECT_LE(added, ReasonTable::kSlots);
  EXPECT_GT(added, ReasonTable::kSlots / 2);
  EXPECT_TRUE(table.add(Reason::kUrpf, 0));
  const Pairs all = pairs_of(table);
  EXPECT_EQ(all.size(), added);
  EXPECT_EQ(all.at({Reason::kUrpf, 0}), 2u);
}

TEST(ReasonTable, AnEmptyOneTellsNothing) {
  EXPECT_TRUE(pairs_of(ReasonTable()).empty());
}

}  // namespace
}  // namespace hecto::router
