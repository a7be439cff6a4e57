#include "router/dataplane/punt/punt_gate.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "router/dataplane/core/table_views.hpp"
#include "tests/beds/clock.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

// Rates that are out of the way: what is left are the shares of sources and destinations.
struct GateBed {
  explicit GateBed(uint32_t pps = 1'000'000) {
    pool();
    PuntRates rates;
    rates.reasons.fill(1'000'000);
    rates.classes.fill(pps);
    gate->configure(kHz, rates);
  }
  ~GateBed() { rte_pktmbuf_free(sent); }

  bool pass(Reason reason, uint32_t source, uint32_t destination, uint64_t now,
            InterfaceId interface = 0) {
    uint8_t* ip = rte_pktmbuf_mtod_offset(sent, uint8_t*, kEthernetBytes);
    std::memcpy(ip + 12, &source, 4);
    std::memcpy(ip + 16, &destination, 4);
    return gate->ask(sent, reason, interface, {}, nullptr, now).may_pass;
  }

  std::unique_ptr<PuntGate> gate = std::make_unique<PuntGate>();
  rte_mbuf* sent = packet(ipv4_frame());
};

// A scan of one host, or a flow to one that is silent, leaves the others' first packets theirs.
TEST(PuntGate, AScanLeavesOthersTheirFirstPackets) {
  GateBed bed;
  unsigned scanned = 0, honest = 0;
  for (uint64_t now = kHz; now < 2 * kHz; now += 10) {
    scanned += bed.pass(Reason::kGlean, 1, static_cast<uint32_t>(now), now);
    if (now % (kHz / 5) == 0)
      honest += bed.pass(Reason::kGlean, 2, static_cast<uint32_t>(now) | 1u << 31, now);
  }
  EXPECT_NEAR(scanned, PuntGate::kGleaningPps + PuntGate::kGleaningBurst, 2);
  EXPECT_EQ(honest, 5u);
}

TEST(PuntGate, ASilentHostIsAskedForSoOftenAndNoMore) {
  GateBed bed;
  unsigned passed = 0;
  for (uint64_t now = kHz; now < 2 * kHz; now += 10)
    passed += bed.pass(Reason::kGlean, static_cast<uint32_t>(now), 7, now);
  EXPECT_NEAR(passed, PuntGate::kDestinationPps + PuntGate::kDestinationBurst, 2);
}

TEST(PuntGate, ErrorsAreSharedAmongSources) {
  for (const Reason reason : {Reason::kTooBig, Reason::kTtlExpired, Reason::kNoRoute}) {
    GateBed bed;
    unsigned loud = 0, quiet = 0;
    for (uint64_t now = kHz; now < 2 * kHz; now += 10) {
      loud += bed.pass(reason, 1, 9, now);
      if (now % (kHz / 5) == 0) quiet += bed.pass(reason, 2, 9, now);
    }
    EXPECT_NEAR(loud, PuntGate::kErrorsPps + PuntGate::kErrorsBurst, 2);
    EXPECT_EQ(quiet, 5u);
  }
}

// A source that has no more costs its class nothing.
TEST(PuntGate, WhatIsRefusedForItsSourceLeavesTheClassItsTokens) {
  GateBed bed(200);
  uint64_t now = kHz;
  for (; now < 3 * kHz; now += 100) bed.pass(Reason::kTooBig, 1, 9, now);
  unsigned others = 0;
  for (uint32_t source = 2; source < 12; ++source)
    others += bed.pass(Reason::kTooBig, source, 9, now);
  EXPECT_EQ(others, 10u);
  const auto& dropped = bed.gate->meter().counters()[static_cast<size_t>(PuntClass::kTooBig)];
  EXPECT_GT(dropped.dropped_by_interface[0].get(), 19'000u);
}

TEST(PuntGate, OtherClassesHaveNoSharesOfSources) {
  GateBed bed;
  unsigned passed = 0;
  for (uint64_t now = kHz; now < kHz + 1000; ++now) passed += bed.pass(Reason::kArp, 1, 9, now);
  EXPECT_EQ(passed, 1000u);
}

}  // namespace
}  // namespace hecto::router::test
