#include "router/dataplane/punt/punt_meter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reason.hpp"
#include "tests/beds/clock.hpp"

namespace hecto::router::test {
namespace {

PuntRates rates(uint32_t reason, uint32_t punt_class) {
  PuntRates rates;
  rates.reasons.fill(reason);
  rates.classes.fill(punt_class);
  return rates;
}

// It is too large for a stack.
std::unique_ptr<PuntMeter> meter(const PuntRates& rates) {
  auto made = std::make_unique<PuntMeter>();
  made->configure(kHz, rates);
  return made;
}

// One packet each tick, a million a second.
unsigned taken_in_a_second(PuntMeter& meter, PuntClass punt_class, InterfaceId interface,
                           uint64_t from) {
  unsigned taken = 0;
  for (uint64_t now = from; now < from + kHz; ++now)
    taken += meter.take(Reason::kLocal, punt_class, interface, now);
  return taken;
}

TEST(PuntMeter, AFloodedInterfaceLeavesTheOthersTheirs) {
  auto m = meter(rates(10'000'000, 1000));
  EXPECT_NEAR(taken_in_a_second(*m, PuntClass::kLocal, 0, kHz), 1100, 2);
  // At the very end of the flood.
  EXPECT_FALSE(m->take(Reason::kLocal, PuntClass::kLocal, 0, 2 * kHz - 1));
  EXPECT_TRUE(m->take(Reason::kLocal, PuntClass::kLocal, 1, 2 * kHz - 1));
  EXPECT_TRUE(m->take(Reason::kLocal, PuntClass::kLocal, kNoInterface, 2 * kHz - 1));
}

TEST(PuntMeter, AFloodedClassLeavesTheOthersTheirs) {
  auto m = meter(rates(10'000'000, 1000));
  taken_in_a_second(*m, PuntClass::kClosed, 0, kHz);
  EXPECT_FALSE(m->take(Reason::kLocal, PuntClass::kClosed, 0, 2 * kHz - 1));
  for (unsigned i = 0; i < 100; ++i)
    EXPECT_TRUE(m->take(Reason::kLocal, PuntClass::kSessions, 0, 2 * kHz - 1)) << i;
}

TEST(PuntMeter, AllInterfacesTogetherHaveSomeShares) {
  auto m = meter(rates(10'000'000, 1000));
  unsigned taken = 0;
  for (uint64_t now = kHz; now < 2 * kHz; ++now)
    taken += m->take(Reason::kLocal, PuntClass::kTtl, static_cast<InterfaceId>(now % 100), now);
  EXPECT_NEAR(taken, kPuntShares * 1100, 2);
}

// What one bucket refuses is not taken from the others: else a flood of one class would empty the
// reason's for all.
TEST(PuntMeter, WhatIsRefusedCostsNothing) {
  auto m = meter(rates(2000, 1000));
  taken_in_a_second(*m, PuntClass::kClosed, 0, kHz);
  // The reason's bucket has 200 at once and gave 1100 to the flood in that second.
  unsigned left = 0;
  while (m->take(Reason::kLocal, PuntClass::kSessions, 1, 2 * kHz - 1) && left < 1000) ++left;
  EXPECT_GE(left, 100u);
}

TEST(PuntMeter, TheReasonsRateHoldsForAllClassesTogether) {
  auto m = meter(rates(100, 1000));
  unsigned taken = 0;
  for (uint64_t now = kHz; now < 2 * kHz; ++now)
    taken += m->take(Reason::kLocal, static_cast<PuntClass>(now % 8), 0, now);
  EXPECT_NEAR(taken, 117, 2);
}

TEST(PuntMeter, ThreeASecondIsOneAtATime) {
  auto m = meter(rates(10'000'000, 3));
  EXPECT_EQ(taken_in_a_second(*m, PuntClass::kStrangers, 0, kHz), 4u);
}

TEST(PuntMeter, ARateOfZeroLetsNothingThrough) {
  auto m = meter(rates(1000, 0));
  EXPECT_EQ(taken_in_a_second(*m, PuntClass::kLocal, 0, kHz), 0u);
}

TEST(PuntMeter, CountsWhereItDrops) {
  auto m = meter(rates(1000, 1000));
  m->dropped(PuntClass::kTtl, 7);
  m->dropped(PuntClass::kTtl, kNoInterface);
  m->passed(PuntClass::kBfd);
  const auto& ttl = m->counters()[static_cast<size_t>(PuntClass::kTtl)];
  EXPECT_EQ(ttl.dropped.get(), 2u);
  EXPECT_EQ(ttl.dropped_by_interface[7].get(), 1u);
  EXPECT_EQ(ttl.passed.get(), 0u);
  EXPECT_EQ(m->counters()[static_cast<size_t>(PuntClass::kBfd)].passed.get(), 1u);
}

TEST(PuntClass, EveryOneHasANameARateAndAPlaceInTheOrder) {
  std::set<std::string> names;
  unsigned priority = 0;
  for (size_t i = 0; i < kPuntClassCount; ++i) {
    const PuntClassInfo& each = info(static_cast<PuntClass>(i));
    EXPECT_TRUE(names.insert(std::string(each.name)).second) << each.name;
    EXPECT_GT(each.default_pps, 0u) << each.name;
    EXPECT_LT(each.priority, kPuntPriorities) << each.name;
    EXPECT_GE(each.priority, priority) << each.name << ": the classes are in the order of worth";
    priority = each.priority;
  }
}

// Else a flood of one class would take the reason's rate from the others.
TEST(PuntClass, ReasonsHaveRoomForAllTheirClassesAtOnce) {
  using enum PuntClass;
  const std::pair<Reason, std::vector<PuntClass>> by_reason[] = {
      {Reason::kArp, {kNeighbor, kRequests}},
      {Reason::kMulticast, {kRouting, kNeighbor, kRequests, kMulticast}},
      {Reason::kLocal,
       {kSessions, kBfd, kRouting, kNeighbor, kConnections, kRequests, kIke, kManagement, kLocal,
        kTransit, kStrangers, kFragments, kClosed}},
      {Reason::kOtherProtocol, {kRouting, kOther}},
      {Reason::kBroadcast, {kBroadcast}},
      {Reason::kGlean, {kGlean}},
      {Reason::kTtlExpired, {kTtl}},
      {Reason::kTooBig, {kTooBig}},
      {Reason::kNoRoute, {kNoRoute}},
      {Reason::kUnreachable, {kNoRoute}},
      {Reason::kProhibit, {kNoRoute}}};
  for (const auto& [reason, classes] : by_reason) {
    uint32_t all = 0;
    for (const PuntClass each : classes) all += info(each).default_pps * kPuntShares;
    EXPECT_LE(all, info(reason).default_pps) << info(reason).name;
  }
}

}  // namespace
}  // namespace hecto::router::test
