#include <gtest/gtest.h>

#include "tests/unit/router/linux/xfrm/builder.hpp"

namespace hecto::router {
namespace {

struct PolicyOutcome {
  XfrmDecoded decoded;
  IpsecPolicy policy;
  std::string why;
};

PolicyOutcome policy_of(XfrmBuilder builder) {
  PolicyOutcome result;
  const auto bytes = builder.bytes();
  result.decoded = decode_policy(message_of(bytes), result.policy, result.why);
  return result;
}

TEST(XfrmDecodePolicy, ReadsWhatProtects) {
  auto info = policy_info();
  info.sel.proto = IPPROTO_TCP;
  info.sel.sport = htons(0x1234);
  info.sel.sport_mask = htons(0xff00);
  auto tmpl = esp_template("2001:db8::1", "2001:db8::2");
  tmpl.optional = 1;
  tmpl.id.spi = htonl(0x99);
  auto builder = policy_message(info, {tmpl});
  builder.put(XFRMA_IF_ID, 42U).put(XFRMA_POLICY_TYPE, xfrm_userpolicy_type{});
  const auto outcome = policy_of(builder);
  ASSERT_EQ(outcome.decoded, XfrmDecoded::kEvent) << outcome.why;
  const IpsecPolicy& policy = outcome.policy;
  EXPECT_EQ(policy.direction, PolicyDirection::kOut);
  EXPECT_EQ(policy.action, PolicyAction::kProtect);
  EXPECT_EQ(policy.priority, 1000U);
  EXPECT_EQ(policy.index, 9U);
  EXPECT_EQ(policy.if_id, 42U);
  EXPECT_EQ(policy.selector.source.to_string(), "10.1.0.0/16");
  EXPECT_EQ(policy.selector.destination.to_string(), "10.2.0.0/16");
  EXPECT_EQ(policy.selector.protocol, IPPROTO_TCP);
  EXPECT_EQ(policy.selector.source_port, 0x1200);
  EXPECT_EQ(policy.selector.source_port_mask, 0xff00);
  ASSERT_TRUE(policy.protection);
  EXPECT_EQ(policy.protection->source.to_string(), "2001:db8::1");
  EXPECT_EQ(policy.protection->destination.to_string(), "2001:db8::2");
  EXPECT_EQ(policy.protection->reqid, 7U);
  EXPECT_EQ(policy.protection->spi, 0x99U);
  EXPECT_TRUE(policy.protection->optional);
}

TEST(XfrmDecodePolicy, ReadsActionsAndDirections) {
  const std::pair<uint8_t, PolicyDirection> directions[] = {
      {XFRM_POLICY_OUT, PolicyDirection::kOut},
      {XFRM_POLICY_IN, PolicyDirection::kIn},
      {XFRM_POLICY_FWD, PolicyDirection::kForward}};
  for (const auto& [number, direction] : directions) {
    EXPECT_EQ(policy_of(policy_message(policy_info(number), {})).policy.direction, direction);
  }
  EXPECT_EQ(policy_of(policy_message(policy_info(), {})).policy.action, PolicyAction::kBypass);
  auto block = policy_info();
  block.action = XFRM_POLICY_BLOCK;
  EXPECT_EQ(policy_of(policy_message(block, {esp_template()})).policy.action,
            PolicyAction::kDiscard);
  // The IKE daemon's sockets have policies of their own.
  EXPECT_EQ(policy_of(policy_message(policy_info(XFRM_POLICY_OUT + 3), {})).decoded,
            XfrmDecoded::kIgnored);
}

TEST(XfrmDecodePolicy, WhatItCannotDoDiscards) {
  auto ah = esp_template();
  ah.id.proto = IPPROTO_AH;
  auto beet = esp_template();
  beet.mode = XFRM_MODE_BEET;
  auto one_interface = policy_info();
  one_interface.sel.ifindex = 3;
  auto labelled = policy_message(policy_info(), {esp_template()});
  labelled.put(XFRMA_SEC_CTX, xfrm_user_sec_ctx{});
  const std::pair<XfrmBuilder, std::string> cases[] = {
      {policy_message(policy_info(), {esp_template(), esp_template()}),
       "a policy with several templates"},
      {policy_message(policy_info(), {ah}), "a policy that asks for AH or IPComp"},
      {policy_message(policy_info(), {beet}),
       "a policy with a mode other than tunnel and transport"},
      {policy_message(one_interface, {}), "a policy for one interface"},
      {labelled, "a policy with a security label"}};
  for (const auto& [builder, why] : cases) {
    const auto outcome = policy_of(builder);
    EXPECT_EQ(outcome.decoded, XfrmDecoded::kStandIn) << why;
    EXPECT_EQ(outcome.why, why);
    EXPECT_EQ(outcome.policy.action, PolicyAction::kDiscard);
    EXPECT_FALSE(outcome.policy.protection);
    EXPECT_EQ(outcome.policy.selector.source.to_string(), "10.1.0.0/16");
  }
}

TEST(XfrmDecodePolicy, AMarkThatNoPacketHasFitsNone) {
  auto marked = policy_message(policy_info(), {esp_template()});
  marked.put(XFRMA_MARK, xfrm_mark{5, 0xff});
  EXPECT_EQ(policy_of(marked).decoded, XfrmDecoded::kUnsupported);
  auto any = policy_message(policy_info(), {esp_template()});
  any.put(XFRMA_MARK, xfrm_mark{0, 0});
  EXPECT_EQ(policy_of(any).decoded, XfrmDecoded::kEvent);
}

TEST(XfrmDecodePolicy, RefusesLies) {
  auto family = policy_info();
  family.sel.family = AF_UNSPEC;
  EXPECT_EQ(policy_of(policy_message(family, {})).decoded, XfrmDecoded::kMalformed);
  auto prefix = policy_info();
  prefix.sel.prefixlen_d = 129;
  EXPECT_EQ(policy_of(policy_message(prefix, {})).decoded, XfrmDecoded::kMalformed);
  auto odd = policy_message(policy_info(), {});
  odd.put(XFRMA_TMPL, uint64_t{0});
  EXPECT_EQ(policy_of(odd).decoded, XfrmDecoded::kMalformed);
  auto tmpl = esp_template();
  tmpl.family = AF_UNIX;
  EXPECT_EQ(policy_of(policy_message(policy_info(), {tmpl})).decoded, XfrmDecoded::kMalformed);
}

TEST(XfrmDecodePolicy, RemovalsNameThePolicyWhole) {
  IpsecPolicy policy;
  // By index: the header holds no selector, the attribute does.
  XfrmBuilder by_index(XFRM_MSG_DELPOLICY);
  xfrm_userpolicy_id id{};
  id.index = 9;
  id.dir = XFRM_POLICY_FWD;
  by_index.head(id).put(XFRMA_POLICY, policy_info(XFRM_POLICY_FWD)).put(XFRMA_IF_ID, 3U);
  auto bytes = by_index.bytes();
  ASSERT_EQ(decode_policy_removed(message_of(bytes), policy), XfrmDecoded::kEvent);
  EXPECT_EQ(policy.direction, PolicyDirection::kForward);
  EXPECT_EQ(policy.selector.destination.to_string(), "10.2.0.0/16");
  EXPECT_EQ(policy.if_id, 3U);

  XfrmBuilder by_selector(XFRM_MSG_DELPOLICY);
  id.sel = policy_info().sel;
  by_selector.head(id);
  bytes = by_selector.bytes();
  ASSERT_EQ(decode_policy_removed(message_of(bytes), policy), XfrmDecoded::kEvent);
  EXPECT_EQ(policy.selector.source.to_string(), "10.1.0.0/16");

  for (const uint8_t hard : {0, 1}) {
    XfrmBuilder expired(XFRM_MSG_POLEXPIRE);
    expired.head(xfrm_user_polexpire{policy_info(), hard});
    bytes = expired.bytes();
    EXPECT_EQ(decode_policy_removed(message_of(bytes), policy),
              hard != 0 ? XfrmDecoded::kEvent : XfrmDecoded::kIgnored);
  }
  bytes = XfrmBuilder(XFRM_MSG_FLUSHPOLICY).bytes();
  EXPECT_EQ(decode_policies_flushed(message_of(bytes)), XfrmDecoded::kEvent);
  bytes = XfrmBuilder(XFRM_MSG_FLUSHPOLICY)
              .put(XFRMA_POLICY_TYPE, xfrm_userpolicy_type{XFRM_POLICY_TYPE_SUB, 0, 0})
              .bytes();
  EXPECT_EQ(decode_policies_flushed(message_of(bytes)), XfrmDecoded::kIgnored);
}

}  // namespace
}  // namespace hecto::router
