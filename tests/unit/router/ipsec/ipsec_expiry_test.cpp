#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

using Cause = Expiry::Cause;

class IpsecExpiry : public IpsecBed {
 protected:
  void add(Spi spi, const SaLifetime& lifetime, RouteOrigin origin = RouteOrigin::kLinux) {
    SaState state = sa_state(spi);
    state.lifetime = lifetime;
    state.origin = origin;
    if (origin == RouteOrigin::kLinux)
      ipsec->sa(std::move(state));
    else
      ASSERT_TRUE(ipsec->add_sa(std::move(state)));
  }
  static Expiry expiry(Spi spi, bool hard, Cause cause, RouteOrigin origin = RouteOrigin::kLinux) {
    return {{ip(kThere), spi}, origin, hard, cause};
  }
  using Expiries = std::vector<Expiry>;
};

TEST_F(IpsecExpiry, SoftThenHardEachToldOnce) {
  add(0x100, {.soft_bytes = 1000, .hard_bytes = 2000});
  EXPECT_EQ(ipsec->due(now_s), Expiries{});
  inbound(0x100)->bytes = 1000;
  EXPECT_EQ(ipsec->due(now_s), Expiries{expiry(0x100, false, Cause::kBytes)});
  EXPECT_EQ(ipsec->due(now_s), Expiries{});
  EXPECT_FALSE(inbound(0x100)->expired.load());
  inbound(0x100)->bytes = 2000;
  EXPECT_EQ(ipsec->due(now_s), Expiries{expiry(0x100, true, Cause::kBytes)});
  EXPECT_TRUE(inbound(0x100)->expired.load());
  EXPECT_EQ(ipsec->due(now_s), Expiries{});
  EXPECT_NE(inbound(0x100), nullptr);  // until Linux removes it
}

TEST_F(IpsecExpiry, WhatAllSasCarriedStaysCountedWhenTheyGo) {
  add(0x100, {.soft_bytes = 500, .hard_bytes = 2000});
  add(0x200, {.hard_packets = 100});
  inbound(0x100)->bytes = 1000;
  inbound(0x100)->packets = 3;
  inbound(0x200)->packets = 80;
  (void)ipsec->due(now_s);
  const auto totals = [&] { return ipsec->statistics().sa_totals; };
  EXPECT_EQ(totals().bytes, 1000u);
  EXPECT_EQ(totals().packets, 83u);
  EXPECT_EQ(totals().soft_expired, 1u);
  EXPECT_EQ(totals().expired, 0u);
  EXPECT_DOUBLE_EQ(totals().most_used, 0.8);
  inbound(0x100)->bytes = 1700;  // not looked at before it goes
  ipsec->sa_removed({ip(kThere), 0x100});
  EXPECT_EQ(totals().bytes, 1700u);
  SaState again = sa_state(0x200);
  again.lifetime.hard_packets = 1000;
  ipsec->sa(std::move(again));  // the keys it has: it goes on
  inbound(0x200)->packets = 90;
  (void)ipsec->due(now_s);
  EXPECT_EQ(totals().packets, 93u);
  EXPECT_DOUBLE_EQ(totals().most_used, 0.09);
  EXPECT_EQ(totals().soft_expired, 0u);
  ipsec->sa(sa_state(0x200, 1, 2));  // another key: from nothing
  inbound(0x200)->packets = 5;
  (void)ipsec->due(now_s);
  EXPECT_EQ(totals().packets, 98u);
}

TEST_F(IpsecExpiry, PacketsAndTimeSinceTheFirstUseCount) {
  add(0x100, {.soft_packets = 10});
  add(0x200, {.soft_use_s = 30, .hard_use_s = 60});
  now_s += 1000;
  EXPECT_EQ(ipsec->due(now_s), Expiries{});  // not used yet
  inbound(0x100)->packets = 10;
  inbound(0x200)->first_used_s = now_s;
  EXPECT_EQ(ipsec->due(now_s), Expiries{expiry(0x100, false, Cause::kPackets)});
  EXPECT_EQ(ipsec->due(now_s + 30), Expiries{expiry(0x200, false, Cause::kUseTime)});
  EXPECT_EQ(ipsec->due(now_s + 60), Expiries{expiry(0x200, true, Cause::kUseTime)});
}

TEST_F(IpsecExpiry, TheFilesSasAreDroppedWhenTheyAreOver) {
  add(0x100, {.soft_add_s = 50, .hard_add_s = 100}, RouteOrigin::kFile);
  EXPECT_EQ(ipsec->due(now_s + 50),
            Expiries{expiry(0x100, false, Cause::kAddTime, RouteOrigin::kFile)});
  EXPECT_EQ(ipsec->due(now_s + 100),
            Expiries{expiry(0x100, true, Cause::kAddTime, RouteOrigin::kFile)});
  EXPECT_EQ(inbound(0x100), nullptr);
  EXPECT_EQ(told("ipsec: SA 198.51.100.1 0x00000100 is over (time since it was added) and "
                 "dropped"),
            1u);
}

TEST_F(IpsecExpiry, TimeSinceAddingIsLinuxsOwnBusinessForItsSas) {
  add(0x100, {.soft_add_s = 50, .hard_add_s = 100});
  EXPECT_EQ(ipsec->due(now_s + 1000), Expiries{});
}

TEST_F(IpsecExpiry, NumbersThatRunOutAreToldInTime) {
  add(0x100, {});
  SaState esn = sa_state(0x200);
  esn.esn = true;
  ipsec->sa(esn);
  inbound(0x100)->sequence = 0xc0000000;
  inbound(0x200)->sequence = 0xc0000000;
  EXPECT_EQ(ipsec->due(now_s), Expiries{expiry(0x100, false, Cause::kSequence)});
  inbound(0x100)->expired = true;  // a worker met the last number
  EXPECT_EQ(ipsec->due(now_s), Expiries{expiry(0x100, true, Cause::kSequence)});
}

TEST_F(IpsecExpiry, ASoftExpiredSaServesOnlyWhenThereIsNoOther) {
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  add(0x100, {});
  add(0x200, {.soft_bytes = 1000, .hard_bytes = 2000});
  ipsec->commit();
  ASSERT_EQ(spi(), 0x200u);
  inbound(0x200)->bytes = 1000;
  ipsec->due(now_s);
  ipsec->commit();
  EXPECT_EQ(spi(), 0x100u);
  ipsec->sa_removed({ip(kThere), 0x100});
  ipsec->commit();
  EXPECT_EQ(spi(), 0x200u);
  inbound(0x200)->bytes = 2000;
  ipsec->due(now_s);
  ipsec->commit();
  EXPECT_EQ(spi(), 0u);
}

TEST_F(IpsecExpiry, UsageTellsCountsAndTheWindow) {
  add(0x100, {});
  esp::Sa* sa = inbound(0x100);
  sa->bytes = 500;
  sa->packets = 3;
  sa->first_used_s = 1001;
  sa->last_used_s = 1002;
  for (uint64_t number : {1, 2, 5}) sa->replay.mark(number);
  const auto usage = ipsec->usage({ip(kThere), 0x100}, true);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->bytes, 500u);
  EXPECT_EQ(usage->packets, 3u);
  EXPECT_EQ(usage->first_used_s, 1001u);
  EXPECT_EQ(usage->last_used_s, 1002u);
  EXPECT_EQ(usage->replay_top, 5u);
  EXPECT_EQ(usage->replay_bitmap, (std::vector<uint32_t>{0b11001, 0}));
  EXPECT_FALSE(ipsec->usage({ip(kThere), 0x999}));
}

}  // namespace
}  // namespace hecto::router::test
