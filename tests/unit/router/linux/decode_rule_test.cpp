#include "router/linux/decode_rule.hpp"

#include <gtest/gtest.h>
#include <linux/fib_rules.h>

#include "router/rib/rule_text.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

fib_rule_hdr rule_head(int family, uint8_t action = FR_ACT_TO_TBL, uint8_t from = 0,
                       uint8_t to = 0) {
  fib_rule_hdr head{};
  head.family = static_cast<uint8_t>(family);
  head.action = action;
  head.src_len = from;
  head.dst_len = to;
  head.table = RT_TABLE_MAIN;
  return head;
}

RuleEvent decode_rule_or_die(MessageBuilder& builder) {
  const auto bytes = builder.bytes();
  RuleEvent event;
  EXPECT_EQ(decode_rule(message_of(bytes), event), Decoded::kEvent);
  return event;
}

Decoded rule_verdict(MessageBuilder& builder) {
  const auto bytes = builder.bytes();
  RuleEvent event;
  return decode_rule(message_of(bytes), event);
}

TEST(DecodeRule, ReadsWhatIpRuleMakes) {
  MessageBuilder builder(RTM_NEWRULE);
  builder.head(rule_head(AF_INET, FR_ACT_TO_TBL, 32)).address(FRA_SRC, "10.0.0.100");
  builder.put(FRA_PRIORITY, 200U).put(FRA_TABLE, 100200U).put(FRA_PROTOCOL, uint8_t{3});
  builder.put(FRA_SUPPRESS_PREFIXLEN, ~0U);
  const RuleEvent event = decode_rule_or_die(builder);
  EXPECT_FALSE(event.removed);
  EXPECT_EQ(event.rule.priority, 200U);
  EXPECT_EQ(event.rule.protocol, 3);
  EXPECT_EQ(to_string(event.rule), "from 10.0.0.100 lookup 100200");
}

TEST(DecodeRule, ReadsEverySelector) {
  MessageBuilder builder(RTM_DELRULE);
  fib_rule_hdr head = rule_head(AF_INET6, FR_ACT_TO_TBL, 64, 48);
  head.tos = 0x10;
  head.flags = FIB_RULE_INVERT;
  builder.head(head).address(FRA_SRC, "2001:db8::ffff").address(FRA_DST, "2001:db8:1::");
  builder.text(FRA_IIFNAME, "wan0").text(FRA_OIFNAME, "lan0");
  builder.put(FRA_FWMARK, 1U).put(FRA_FWMASK, 0xffU).put(FRA_IP_PROTO, uint8_t{17});
  builder.put(FRA_SPORT_RANGE, fib_rule_port_range{1, 2});
  builder.put(FRA_DPORT_RANGE, fib_rule_port_range{53, 53});
  builder.put(FRA_SUPPRESS_PREFIXLEN, 0U);
  const RuleEvent event = decode_rule_or_die(builder);
  EXPECT_TRUE(event.removed);
  EXPECT_EQ(to_string(event.rule),
            "not from 2001:db8::/64 to 2001:db8:1::/48 tos 0x10 fwmark 0x1/0xff iif wan0 oif lan0 "
            "ipproto 17 sport 1-2 dport 53 lookup main suppress_prefixlength 0");
}

TEST(DecodeRule, AMarkWithoutMaskIsAskedWhole) {
  MessageBuilder builder(RTM_NEWRULE);
  builder.head(rule_head(AF_INET)).put(FRA_FWMARK, 7U);
  EXPECT_EQ(decode_rule_or_die(builder).rule.fwmask, 0xffffffffU);
}

TEST(DecodeRule, ReadsActions) {
  const std::pair<uint8_t, const char*> actions[] = {{FR_ACT_NOP, "from all nop"},
                                                     {FR_ACT_BLACKHOLE, "from all blackhole"},
                                                     {FR_ACT_UNREACHABLE, "from all unreachable"},
                                                     {FR_ACT_PROHIBIT, "from all prohibit"},
                                                     {FR_ACT_GOTO, "from all goto 9000"}};
  for (const auto& [action, text] : actions) {
    MessageBuilder builder(RTM_NEWRULE);
    builder.head(rule_head(AF_INET, action)).put(FRA_GOTO, 9000U);
    EXPECT_EQ(to_string(decode_rule_or_die(builder).rule), text);
  }
}

TEST(DecodeRule, WhatItDoesNotKnowIsNotTakenForLess) {
  constexpr uint16_t kYounger = 60;
  for (const uint16_t type : {kYounger, uint16_t{FRA_TUN_ID}, uint16_t{FRA_UID_RANGE}}) {
    MessageBuilder builder(RTM_NEWRULE);
    builder.head(rule_head(AF_INET)).put(type, uint64_t{5});
    EXPECT_TRUE(decode_rule_or_die(builder).rule.other_selectors) << type;
  }
  MessageBuilder all_users(RTM_NEWRULE);
  all_users.head(rule_head(AF_INET)).put(FRA_UID_RANGE, fib_rule_uid_range{0, ~0U});
  EXPECT_FALSE(decode_rule_or_die(all_users).rule.other_selectors);
  MessageBuilder of_vrfs(RTM_NEWRULE);
  of_vrfs.head(rule_head(AF_INET)).put(FRA_L3MDEV, uint8_t{1});
  EXPECT_EQ(to_string(decode_rule_or_die(of_vrfs).rule), "from all lookup [l3mdev-table]");
}

TEST(DecodeRule, RefusesWhatCannotBe) {
  MessageBuilder longer(RTM_NEWRULE);
  longer.head(rule_head(AF_INET, FR_ACT_TO_TBL, 33)).address(FRA_SRC, "10.0.0.1");
  EXPECT_EQ(rule_verdict(longer), Decoded::kMalformed);
  MessageBuilder nothing(RTM_NEWRULE);
  nothing.head(rule_head(AF_INET, FR_ACT_TO_TBL, 8));
  EXPECT_EQ(rule_verdict(nothing), Decoded::kMalformed);
  MessageBuilder other(RTM_NEWRULE);
  other.head(rule_head(AF_INET, FR_ACT_TO_TBL, 8)).address(FRA_SRC, "fd00::1");
  EXPECT_EQ(rule_verdict(other), Decoded::kMalformed);
  MessageBuilder backwards(RTM_NEWRULE);
  backwards.head(rule_head(AF_INET)).put(FRA_SPORT_RANGE, fib_rule_port_range{9, 8});
  EXPECT_EQ(rule_verdict(backwards), Decoded::kMalformed);
  MessageBuilder name(RTM_NEWRULE);
  name.head(rule_head(AF_INET)).text(FRA_IIFNAME, "a-name-that-is-far-too-long");
  EXPECT_EQ(rule_verdict(name), Decoded::kMalformed);
  MessageBuilder multicast(RTM_NEWRULE);
  multicast.head(rule_head(128));  // RTNL_FAMILY_IPMR
  EXPECT_EQ(rule_verdict(multicast), Decoded::kIgnored);
}

}  // namespace
}  // namespace hecto::router
