// Compiled rules: by hand, and at random against a walk over the list.
#include "router/rib/rule_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "router/rib/rule_text.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router {
namespace {

using Table4 = RuleTable<uint32_t>;

InterfaceId by_name(const std::string& name) {
  if (name == "a") return InterfaceId(1);
  return name == "b" ? InterfaceId(2) : kNoInterface;
}

PolicyRule to_table(uint32_t priority, uint32_t table) {
  PolicyRule rule;
  rule.priority = priority;
  rule.table = table;
  return rule;
}

PolicyRule refusing(uint32_t priority, RuleAction action) {
  PolicyRule rule;
  rule.priority = priority;
  rule.action = action;
  return rule;
}

std::vector<PolicyRule> with_usual(std::vector<PolicyRule> rules) {
  for (const auto& [priority, table] : {std::pair{0U, 255U}, {32766U, 254U}, {32767U, 253U}})
    rules.push_back(to_table(priority, table));
  std::stable_sort(rules.begin(), rules.end(), [](const PolicyRule& a, const PolicyRule& b) {
    return a.priority < b.priority;
  });
  return rules;
}

class Rules {
 public:
  explicit Rules(const std::vector<PolicyRule>& rules)
      : table_(Table4::compile(rules, by_name).value()) {}
  Reason ask(const char* from, const char* to, RuleKey key = {}, bool routed = true) const {
    return ask(lookup::Ipv4Address::parse(from)->value, lookup::Ipv4Address::parse(to)->value, key,
               routed);
  }
  Reason ask(uint32_t from, uint32_t to, const RuleKey& key, bool routed) const {
    Table4::Packet packet{from, to, 0, 0, key};
    table_->classify_sources(&from, &packet.source_class, 1);
    table_->classify_destinations(&to, &packet.destination_class, 1);
    return table_->verdict(packet, routed);
  }
  const Table4& table() const { return *table_; }

 private:
  std::unique_ptr<const Table4> table_;
};

TEST(RuleTable, SendsOtherTablesToLinuxAndLeavesTheRest) {
  PolicyRule one = to_table(200, 100);
  one.from = IpPrefix::parse("10.0.0.100/32");
  const Rules rules(with_usual({one}));
  EXPECT_EQ(rules.ask("10.0.0.100", "8.8.8.8"), Reason::kPolicyRule);
  EXPECT_EQ(rules.ask("10.0.0.101", "8.8.8.8"), Reason::kNone);
  EXPECT_EQ(rules.ask("10.0.0.101", "8.8.8.8", {}, false), Reason::kNoRoute);
  EXPECT_FALSE(rules.table().asks_for_more());
}

TEST(RuleTable, RefusesAsRulesSay) {
  PolicyRule a = refusing(10, RuleAction::kBlackhole), b = refusing(20, RuleAction::kProhibit),
             c = refusing(32770, RuleAction::kUnreachable);
  a.to = IpPrefix::parse("192.0.2.0/24");
  b.iif = "b";
  const Rules rules(with_usual({a, b, c}));
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.9", {.interface = 2}), Reason::kBlackhole);
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.3.9", {.interface = 2}), Reason::kProhibit);
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.3.9", {.interface = 1}), Reason::kNone);
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.3.9", {.interface = 1}, false), Reason::kUnreachable);
}

TEST(RuleTable, FollowsGotoAndPassesWhatLeadsNowhere) {
  PolicyRule jump = refusing(10, RuleAction::kGoto), lost = jump, over = to_table(20, 7),
             nop = refusing(15, RuleAction::kNop);
  jump.target = 30;
  jump.from = IpPrefix::parse("10.0.0.0/8");
  lost.priority = 11;
  lost.target = 99;
  PolicyRule behind = refusing(30, RuleAction::kBlackhole);
  behind.to = IpPrefix::parse("192.0.2.1/32");
  const Rules rules(with_usual({jump, lost, nop, over, behind}));
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.1"), Reason::kBlackhole);
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.2"), Reason::kNone);
  EXPECT_EQ(rules.ask("11.0.0.1", "192.0.2.1"), Reason::kPolicyRule);
}

TEST(RuleTable, WhatCannotBeSeenIsLinuxsToDecide) {
  PolicyRule mark = refusing(10, RuleAction::kBlackhole);
  mark.fwmask = 1;
  mark.to = IpPrefix::parse("192.0.2.0/24");
  PolicyRule port = refusing(20, RuleAction::kBlackhole);
  port.ip_protocol = 17;
  port.destination_ports = {53, 53};
  PolicyRule short_routes = to_table(30, 254);
  short_routes.suppress_prefix_length = 0;
  short_routes.iif = "b";
  const Rules rules(with_usual({mark, port, short_routes}));
  EXPECT_TRUE(rules.table().asks_for_more());
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.1"), Reason::kPolicyRule);
  RuleKey dns{.protocol = 17, .protocol_seen = true, .ports_seen = true, .destination_port = 53};
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), Reason::kBlackhole);
  dns.destination_port = 54;
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), Reason::kNone);
  dns.ports_seen = false;  // a fragment
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), Reason::kPolicyRule);
  dns.protocol = 6;
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), Reason::kNone);
  dns.interface = 2;
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), Reason::kPolicyRule);
}

TEST(RuleTable, RulesOfPacketsThatAreNotForwardedHoldForNone) {
  PolicyRule out = refusing(10, RuleAction::kBlackhole), own = out, gone = out, contrary = out;
  out.oif = "a";
  own.iif = "lo";
  gone.iif = "elsewhere";
  contrary.priority = 20;
  contrary.invert = true;
  contrary.iif = "elsewhere";
  contrary.action = RuleAction::kProhibit;
  EXPECT_EQ(Rules(with_usual({out, own, gone})).ask("10.0.0.1", "8.8.8.8"), Reason::kNone);
  EXPECT_EQ(Rules(with_usual({contrary})).ask("10.0.0.1", "8.8.8.8"), Reason::kProhibit);
}

TEST(RuleTable, WithoutItsUsualRulesNothingIsAssumed) {
  EXPECT_EQ(Rules({to_table(0, 255)}).ask("10.0.0.1", "8.8.8.8"), Reason::kNoRoute);
  EXPECT_EQ(Rules({to_table(0, 255), to_table(9, 253)}).ask("10.0.0.1", "8.8.8.8"),
            Reason::kPolicyRule)
      << "what the default table alone has is not known";
}

TEST(RuleTable, TooManyRulesGoToLinuxBehindThoseThatFit) {
  std::vector<PolicyRule> rules;
  for (uint32_t i = 0; i < Table4::kMostRules + 8; ++i) {
    PolicyRule rule = refusing(i, RuleAction::kBlackhole);
    rule.from = IpPrefix{IpAddress::from(lookup::Ipv4Address{i << 8}), 24};
    rules.push_back(rule);
  }
  const Rules table(rules);
  EXPECT_EQ(table.ask("0.0.5.9", "8.8.8.8"), Reason::kBlackhole);
  EXPECT_EQ(table.ask("0.15.254.1", "8.8.8.8"), Reason::kBlackhole);  // the last
  EXPECT_EQ(table.ask("0.15.255.1", "8.8.8.8"), Reason::kPolicyRule);
}

// As fib_rules_lookup() walks them.
Reason walked(const std::vector<PolicyRule>& rules, uint32_t from, uint32_t to, const RuleKey& key,
              bool routed) {
  const auto in = [](const std::optional<IpPrefix>& prefix, uint32_t address) {
    return !prefix || prefix->v4().contains(lookup::Ipv4Address{address});
  };
  for (size_t i = 0; i < rules.size(); ++i) {
    const PolicyRule& rule = rules[i];
    bool holds =
        in(rule.from, from) && in(rule.to, to) && rule.oif.empty() &&
        (rule.iif.empty() || by_name(rule.iif) == key.interface) &&
        (rule.ip_protocol == 0 || rule.ip_protocol == key.protocol) &&
        (rule.destination_ports.any() || rule.destination_ports.contains(key.destination_port));
    if (rule.invert) holds = !holds;
    if (!holds) continue;
    if (rule.action == RuleAction::kGoto) {
      const auto target = std::find_if(rules.begin(), rules.end(), [&](const PolicyRule& other) {
        return other.priority == rule.target;
      });
      if (target != rules.end()) i = static_cast<size_t>(target - rules.begin()) - 1;
      continue;
    }
    if (rule.action == RuleAction::kBlackhole) return Reason::kBlackhole;
    if (rule.action != RuleAction::kTable || rule.table == 255) continue;
    if (rule.table < 253) return Reason::kPolicyRule;
    if (routed) return Reason::kNone;
  }
  return Reason::kNoRoute;
}

TEST(RuleTable, AgreesWithAWalkOverRandomRules) {
  std::mt19937 random(test_seed());
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const auto address = [&] { return 0x0a000000U | below(4) << 16 | below(4) << 8 | below(4); };
  const auto prefix = [&]() -> std::optional<IpPrefix> {
    if (below(2) == 0) return std::nullopt;
    return IpPrefix{IpAddress::from(lookup::Ipv4Address{address()}),
                    static_cast<uint8_t>(8 * (1 + below(4)))}
        .network();
  };
  const RuleAction actions[] = {RuleAction::kTable, RuleAction::kTable, RuleAction::kGoto,
                                RuleAction::kNop, RuleAction::kBlackhole};
  const char* const interfaces[] = {"", "", "", "a", "b", "elsewhere"};
  for (int round = 0; round < 100; ++round) {
    std::vector<PolicyRule> rules;
    const uint32_t count = below(round % 10 == 0 ? 900 : 150);
    for (uint32_t i = 0; i < count; ++i) {
      PolicyRule rule = refusing(1 + i / 2, actions[below(5)]);
      if (rule.action == RuleAction::kTable) rule.table = below(3) == 0 ? 254 : 100;
      if (rule.action == RuleAction::kGoto) rule.target = rule.priority + 1 + below(20);
      rule.from = prefix();
      rule.to = prefix();
      rule.iif = interfaces[below(6)];
      if (below(12) == 0) rule.oif = "a";
      if (below(6) == 0) rule.invert = true;
      if (below(6) == 0) rule.ip_protocol = below(2) == 0 ? 6 : 17;
      if (below(6) == 0) rule.destination_ports = {1, 2};
      rules.push_back(rule);
    }
    rules = with_usual(rules);
    const Rules compiled(rules);
    for (int packet = 0; packet < 200; ++packet) {
      const uint32_t from = address(), to = address();
      const RuleKey key{.interface = InterfaceId(1 + below(3)),
                        .protocol = static_cast<uint8_t>(below(2) == 0 ? 6 : 17),
                        .protocol_seen = true,
                        .ports_seen = true,
                        .destination_port = static_cast<uint16_t>(1 + below(4))};
      const bool routed = below(2) == 0;
      ASSERT_EQ(compiled.ask(from, to, key, routed), walked(rules, from, to, key, routed))
          << "round " << round;
    }
  }
}

TEST(RuleTable, SixteenByteAddressesAlike) {
  PolicyRule rule = to_table(5, 100);
  rule.family = Family::kIpv6;
  rule.from = IpPrefix::parse("2001:db8:1::/48");
  const std::vector<PolicyRule> rules = {rule, to_table(32766, 254)};
  const auto table = RuleTable<lookup::Ipv6Address>::compile(rules, by_name).value();
  for (const auto& [from, expected] :
       {std::pair{"2001:db8:1::1", Reason::kPolicyRule}, {"2001:db8:2::1", Reason::kNone}}) {
    RuleTable<lookup::Ipv6Address>::Packet packet{
        *lookup::Ipv6Address::parse(from), *lookup::Ipv6Address::parse("fd00::1"), 0, 0, {}};
    table->classify_sources(&packet.source, &packet.source_class, 1);
    table->classify_destinations(&packet.destination, &packet.destination_class, 1);
    EXPECT_EQ(table->verdict(packet, true), expected) << from;
  }
}

}  // namespace
}  // namespace hecto::router
