#include "router/ipsec/ipsec.hpp"

#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

using IpsecTest = IpsecBed;

TEST_F(IpsecTest, RekeyIsMakeBeforeBreak) {
  ipsec->sa(sa_state(0x100));
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->commit();
  ASSERT_EQ(spi(), 0x100u);

  ipsec->sa(sa_state(0x200));
  EXPECT_NE(inbound(0x200), nullptr);  // at once: the peer may send already
  EXPECT_EQ(spi(), 0x100u);
  ipsec->commit();
  EXPECT_EQ(spi(), 0x200u);

  ipsec->sa_removed({ip(kThere), 0x100});
  ipsec->commit();
  EXPECT_EQ(spi(), 0x200u);
  EXPECT_EQ(inbound(0x100), nullptr);
}

TEST_F(IpsecTest, AnSaIsDestroyedWhenEveryReaderHasLetGo) {
  ipsec->sa(sa_state(0x100));
  const uint32_t number = ipsec->find({ip(kThere), 0x100})->number;
  ipsec->sa_removed({ip(kThere), 0x100});
  ipsec->commit();
  ipsec->sa(sa_state(0x200));
  EXPECT_NE(ipsec->find({ip(kThere), 0x200})->number, number);  // still the old one's
  readers.quiescent();
  ipsec->commit();
  ipsec->sa(sa_state(0x300));
  EXPECT_EQ(ipsec->find({ip(kThere), 0x300})->number, number);
}

TEST_F(IpsecTest, WithoutAnSaAPolicyWaitsAndTheNextBestTakesOver) {
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->commit();
  ASSERT_NE(out(), nullptr);
  EXPECT_EQ(out()->action, PolicyAction::kProtect);
  EXPECT_EQ(spi(), 0u);
  EXPECT_EQ(ipsec->statistics().policies_without_sa, 1u);
  ipsec->sa(sa_state(0x100));
  ipsec->sa(sa_state(0x200));
  ipsec->commit();
  EXPECT_EQ(spi(), 0x200u);
  ipsec->sa_removed({ip(kThere), 0x200});
  ipsec->commit();
  EXPECT_EQ(spi(), 0x100u);
  ipsec->sa_removed({ip(kThere), 0x100});
  ipsec->commit();
  EXPECT_EQ(spi(), 0u);
}

TEST_F(IpsecTest, AnSaThatIsNotWhatTheTemplateAsksForIsNotTaken) {
  IpsecPolicy policy = out_policy("10.1.0.0/16", "10.2.0.0/16", 7);
  policy.protection->spi = 0x100;
  policy.if_id = 3;
  ipsec->policy(policy);
  SaState right = sa_state(0x100, 7);
  right.if_id = 3;
  auto chosen = [&](const SaState& state) {
    ipsec->sas_flushed();
    ipsec->sa(state);
    ipsec->commit();
    return out("10.1.0.1", "10.2.0.1", 3)->sa.load() != nullptr;
  };
  EXPECT_TRUE(chosen(right));
  auto with = [&](auto change) {
    SaState state = right;
    change(state);
    return chosen(state);
  };
  EXPECT_FALSE(with([](SaState& state) { state.reqid = 8; }));
  EXPECT_FALSE(with([](SaState& state) { state.id.spi = 0x101; }));
  EXPECT_FALSE(with([](SaState& state) { state.if_id = 0; }));
  EXPECT_FALSE(with([](SaState& state) { state.mode = IpsecMode::kTransport; }));
  EXPECT_FALSE(with([](SaState& state) { state.source = ip("192.0.2.9"); }));
  EXPECT_FALSE(with([](SaState& state) { state.id.destination = ip("192.0.2.9"); }));
  EXPECT_TRUE(with([](SaState& state) { state.keys.cipher[0] ^= 1; }));
}

TEST_F(IpsecTest, ATransportPolicyBetweenHostsFindsItsSaByTheSelector) {
  IpsecPolicy policy = out_policy("192.0.2.1/32", "198.51.100.1/32");
  policy.protection = PolicyTemplate{{}, {}, 1, 0, IpsecMode::kTransport, false};
  SaState state = sa_state(0x100);
  state.mode = IpsecMode::kTransport;
  ipsec->policy(policy);
  ipsec->sa(std::move(state));
  IpsecPolicy wide = policy;
  wide.selector.source = net("192.0.2.0/24");
  wide.priority = 200;
  ipsec->policy(wide);
  ipsec->commit();
  ASSERT_NE(protects(kHere, kThere), nullptr);
  EXPECT_EQ(protects(kHere, kThere)->id.spi, 0x100u);
  EXPECT_EQ(protects("192.0.2.2", kThere), nullptr);
}

TEST_F(IpsecTest, TheSameSaAgainChangesNothing) {
  ipsec->sa(sa_state(0x100));
  esp::Sa* before = inbound(0x100);
  before->sequence = 77;
  SaState again = sa_state(0x100);
  again.sequence = 5;  // what Linux believes
  ipsec->sa(std::move(again));
  EXPECT_EQ(inbound(0x100), before);
  EXPECT_EQ(before->sequence.load(), 77u);
}

TEST_F(IpsecTest, AnSaWithOtherPropertiesGoesOnBehindItsNumbers) {
  ipsec->sa(sa_state(0x100));
  esp::Sa* before = inbound(0x100);
  before->sequence = 77;
  before->bytes = 1234;
  now_s += 50;
  SaState again = sa_state(0x100);
  again.encapsulation = UdpEncapsulation{4500, 1024};
  ipsec->sa(std::move(again));
  esp::Sa* after = inbound(0x100);
  ASSERT_NE(after, before);
  EXPECT_GT(after->sequence.load(), 77u + 64 * 256);  // what workers may take meanwhile
  EXPECT_EQ(after->bytes.load(), 1234u);
  EXPECT_EQ(ipsec->find({ip(kThere), 0x100})->age_s, 50u);
}

TEST_F(IpsecTest, NewKeysBeginWithNewNumbers) {
  ipsec->sa(sa_state(0x100, 1, 1));
  inbound(0x100)->sequence = 77;
  ipsec->sa(sa_state(0x100, 1, 2));
  EXPECT_EQ(inbound(0x100)->sequence.load(), 0u);
}

// charon moves an SA to another address by removing it and adding it, with the numbers that Linux
// knows of.
TEST_F(IpsecTest, AnSaThatIsRemovedAndAddedGoesOnBehindItsNumbers) {
  ipsec->sa(sa_state(0x100));
  inbound(0x100)->sequence = 77;
  ipsec->sa_removed({ip(kThere), 0x100});
  SaState moved = sa_state(0x100);
  moved.id.destination = ip("198.51.100.99");
  moved.sequence = 3;
  ipsec->sa(moved);
  ipsec->commit();
  const auto usage = ipsec->usage(moved.id);
  ASSERT_TRUE(usage);
  EXPECT_GT(usage->sequence, 77u);

  ipsec->sa_removed(moved.id);
  now_s += 60;
  ipsec->due(now_s);
  ipsec->sa(sa_state(0x100));
  EXPECT_EQ(inbound(0x100)->sequence.load(), 0u);
}

TEST_F(IpsecTest, AResyncDropsOnlyWhatLinuxNoLongerHas) {
  SaState of_file = sa_state(0x500);
  of_file.origin = RouteOrigin::kFile;
  ASSERT_TRUE(ipsec->add_sa(of_file));
  ipsec->sa(sa_state(0x100));
  ipsec->sa(sa_state(0x200));
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->policy(out_policy("10.3.0.0/16", "10.4.0.0/16"));
  ipsec->commit();
  esp::Sa* stays = inbound(0x200);

  ipsec->ipsec_resync_begin();
  ipsec->sa(sa_state(0x200));
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->commit();
  EXPECT_NE(inbound(0x100), nullptr);  // until the end: packets follow the old state
  ipsec->ipsec_resync_end();
  ipsec->commit();
  EXPECT_EQ(inbound(0x100), nullptr);
  EXPECT_EQ(inbound(0x200), stays);
  EXPECT_NE(inbound(0x500), nullptr);
  EXPECT_NE(out(), nullptr);
  EXPECT_EQ(out("10.3.0.1", "10.4.0.1"), nullptr);
  EXPECT_EQ(ipsec->statistics().swept, 2u);
}

TEST_F(IpsecTest, FlushesSpareTheFile) {
  SaState of_file = sa_state(0x500);
  of_file.origin = RouteOrigin::kFile;
  IpsecPolicy policy = out_policy("10.1.0.0/16", "10.2.0.0/16");
  policy.origin = RouteOrigin::kFile;
  ASSERT_TRUE(ipsec->add_sa(of_file));
  ASSERT_TRUE(ipsec->add_policy(policy));
  ipsec->sa(sa_state(0x100));
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->sas_flushed();
  ipsec->policies_flushed();
  ipsec->commit();
  EXPECT_EQ(ipsec->statistics().sas, 1u);
  EXPECT_EQ(ipsec->statistics().policies, 1u);
  EXPECT_EQ(spi(), 0x500u);
}

TEST_F(IpsecTest, LimitsRefuseTheFileAndCountLinux) {
  make(2, 1);
  SaState of_file = sa_state(0x500);
  of_file.origin = RouteOrigin::kFile;
  ipsec->sa(sa_state(0x100));
  ipsec->sa(sa_state(0x200));
  auto refused = ipsec->add_sa(of_file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "there are 2 SAs already, as many as ipsec.max_sas allows");
  ipsec->sa(sa_state(0x300));
  ipsec->sa(sa_state(0x400));
  ipsec->sa(sa_state(0x100));  // there already: not one more
  EXPECT_EQ(ipsec->statistics().sas_refused, 2u);
  EXPECT_EQ(told("SA 198.51.100.1 0x00000300 of Linux is left out"), 1u);
  EXPECT_EQ(told("left out"), 1u);

  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  IpsecPolicy policy = out_policy("10.3.0.0/16", "10.2.0.0/16");
  ipsec->policy(policy);
  ipsec->policy(out_policy("10.4.0.0/16", "10.2.0.0/16"));
  EXPECT_EQ(ipsec->statistics().policies_refused, 2u);
  EXPECT_EQ(told("policy out 10.3.0.0/16 -> 10.2.0.0/16 of Linux is left out"), 1u);
  policy.origin = RouteOrigin::kApi;
  auto refused_policy = ipsec->add_policy(policy);
  ASSERT_FALSE(refused_policy);
  EXPECT_EQ(refused_policy.error().message,
            "there are 1 policies already, as many as ipsec.max_policies allows");
}

TEST_F(IpsecTest, AnIdOfAnotherOriginIsRefused) {
  ipsec->sa(sa_state(0x100));
  SaState of_file = sa_state(0x100);
  of_file.origin = RouteOrigin::kFile;
  auto refused = ipsec->add_sa(of_file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "SA 198.51.100.1 0x00000100 is there already, from Linux; remove it there, or use "
            "another SPI");
  EXPECT_FALSE(ipsec->remove_sa(of_file.id, RouteOrigin::kFile));
}

TEST_F(IpsecTest, ContradictionsAreToldOnceAndTheOlderWins) {
  IpsecPolicy discard = out_policy("10.1.0.0/16", "10.2.0.0/16");
  discard.origin = RouteOrigin::kFile;
  discard.action = PolicyAction::kDiscard;
  discard.protection.reset();
  ASSERT_TRUE(ipsec->add_policy(discard));
  const IpsecPolicy protect = out_policy("10.1.0.0/16", "10.2.0.0/16");
  ipsec->policy(protect);
  ipsec->policy(protect);
  ipsec->commit();
  EXPECT_EQ(out()->action, PolicyAction::kDiscard);
  EXPECT_EQ(told("ipsec: policy out 10.1.0.0/16 -> 10.2.0.0/16 priority 100 says protect, an older "
                 "one of the same priority says discard and wins"),
            1u);
  EXPECT_EQ(ipsec->statistics().contradictions, 1u);
  IpsecPolicy other = protect;
  other.priority = 99;
  ipsec->policy(other);
  ipsec->commit();
  EXPECT_EQ(out()->action, PolicyAction::kProtect);
  EXPECT_EQ(ipsec->statistics().contradictions, 1u);
}

TEST_F(IpsecTest, PoliciesOfATurnCountFromItsCommit) {
  const IpsecPolicy wide = out_policy("10.0.0.0/8", "10.2.0.0/16", 1, 200);
  ipsec->policy(wide);
  ipsec->commit();
  const esp::Policy* before = out();
  for (int i = 0; i < 50; ++i)
    ipsec->policy(out_policy("10." + std::to_string(i) + ".0.0/16", "10.2.0.0/16"));
  ipsec->policy_removed(wide);
  EXPECT_EQ(out(), before);
  ipsec->commit();
  EXPECT_NE(out(), before);
  EXPECT_EQ(out("10.60.0.1"), nullptr);
  const esp::Policy* after = out();
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));  // the same again
  ipsec->commit();
  EXPECT_EQ(out(), after);
}

TEST_F(IpsecTest, AReplacedPolicyKeepsItsCountAndServesTheOtherDirectionsNot) {
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->commit();
  out()->packets = 5;
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16", 2, 50));
  ipsec->commit();
  EXPECT_EQ(out()->packets.load(), 5u);
  EXPECT_EQ(out()->priority, 50u);
  EXPECT_TRUE(ipsec->view().in->empty());
  ipsec->policy_removed(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->commit();
  EXPECT_EQ(out(), nullptr);
}

TEST_F(IpsecTest, AnInboundPolicySaysWhichProtectionItAsksFor) {
  IpsecPolicy policy = out_policy("10.2.0.0/16", "10.1.0.0/16", 9);
  policy.direction = PolicyDirection::kForward;
  policy.protection->optional = true;
  ipsec->policy(policy);
  ipsec->sa(sa_state(0x100, 9));
  ipsec->commit();
  const auto* found = ipsec->view().forward->find(flow("10.2.0.1", "10.1.0.1"), 0);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->reqid, 9u);
  EXPECT_TRUE(found->optional);
  EXPECT_EQ(found->sa.load(), nullptr);
}

SaState sa_of_the_file(Spi spi, uint8_t key = 1) {
  SaState state = sa_state(spi, 1, key);
  state.origin = RouteOrigin::kFile;
  return state;
}

// A nonce is its key's and its sequence number's: none twice, whichever process gives it out.
TEST_F(IpsecTest, AnSaOfTheFileGoesOnBehindTheNumbersOfTheProcessBefore) {
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100)));
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x200)));
  ipsec->sa(sa_state(0x300));
  inbound(0x100)->sequence = 77;
  const std::vector<SaNumbers> left = ipsec->sa_numbers();
  ASSERT_EQ(left.size(), 2u) << "Linux keeps those of its own";
  EXPECT_EQ(left[0].sequence, 77u);

  make();
  ipsec->continue_from(left);
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100)));
  EXPECT_EQ(inbound(0x100)->sequence.load(), 77u);
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x200, 9)));
  EXPECT_EQ(inbound(0x200)->sequence.load(), 0u) << "with another key all begins anew";
  // Removed and made again by the API in this run, it goes on behind this run's.
  inbound(0x100)->sequence = 5000;
  ASSERT_TRUE(ipsec->remove_sa({ip(kThere), 0x100}, RouteOrigin::kFile));
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100)));
  EXPECT_GE(inbound(0x100)->sequence.load(), 5000u);
}

TEST_F(IpsecTest, NumbersOfAnSaThatWentOrHadOtherKeysMeanwhileAreNotForgotten) {
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100, 1)));
  inbound(0x100)->sequence = 77;
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100, 2)));  // another key, and back
  EXPECT_EQ(inbound(0x100)->sequence.load(), 0u);
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100, 1)));
  EXPECT_GE(inbound(0x100)->sequence.load(), 77u);

  inbound(0x100)->sequence = 500'000;
  ASSERT_TRUE(ipsec->remove_sa({ip(kThere), 0x100}, RouteOrigin::kFile));
  const std::vector<SaNumbers> left = ipsec->sa_numbers();
  make();
  ipsec->continue_from(left);
  const std::vector<SaNumbers> still = ipsec->sa_numbers();  // a process that never has it
  make();
  ipsec->continue_from(still);
  ASSERT_TRUE(ipsec->add_sa(sa_of_the_file(0x100, 1)));
  EXPECT_GE(inbound(0x100)->sequence.load(), 500'000u);
}

TEST_F(IpsecTest, AFingerprintTellsKeysAndTransformsApart) {
  const SaState one = sa_state(0x100), other = sa_state(0x100, 1, 2);
  EXPECT_EQ(fingerprint(one.transform, one.keys), fingerprint(one.transform, one.keys));
  EXPECT_NE(fingerprint(one.transform, one.keys), fingerprint(one.transform, other.keys));
  esp::Transform shorter = one.transform;
  shorter.icv_bytes = 8;
  EXPECT_NE(fingerprint(one.transform, one.keys), fingerprint(shorter, one.keys));
  EXPECT_NE(fingerprint(one.transform, one.keys), 0u);
}

}  // namespace
}  // namespace hecto::router::test
