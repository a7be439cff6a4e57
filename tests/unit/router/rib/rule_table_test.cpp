// Compiled rules: by hand, and at random against a walk over the list.
#include "router/rib/rule_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "router/rib/rule_text.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router {
namespace {

using Table4 = RuleTable<uint32_t>;

InterfaceId by_name(const std::string& name) {
  const std::string names = "abcde";
  const size_t at = name.size() == 1 ? names.find(name) : std::string::npos;
  return at == std::string::npos ? kNoInterface : InterfaceId(static_cast<uint16_t>(at + 1));
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

// Linux's 100 and 200 are tables 1 and 2, and for 777 there is no room. c and d are in VRF red, which
// has table 100, e in blue, which has 200.
std::optional<lookup::TableId> by_number(uint32_t table) {
  if (table >= 253 && table <= 255) return 0;
  if (table == 100 || table == 200) return static_cast<lookup::TableId>(table / 100);
  return std::nullopt;
}

RuleSurroundings surroundings() {
  return {
      by_name,
      by_number,
      {{InterfaceId(3), "red", 100}, {InterfaceId(4), "red", 100}, {InterfaceId(5), "blue", 200}}};
}

constexpr const char kMain[] = "main", kLinux[] = "linux", kNoRoute[] = "no_route";

class Rules {
 public:
  explicit Rules(const std::vector<PolicyRule>& rules, bool marks = false)
      : table_(Table4::compile(rules, with_marks(marks)).value()) {}
  // Where the packet's way ends: main, a table's number, linux, or why it is refused.
  std::string ask(const char* from, const char* to, RuleKey key = {}, bool routed = true,
                  const std::set<lookup::TableId>& with_route = {1, 2}) const {
    return ask(lookup::Ipv4Address::parse(from)->value, lookup::Ipv4Address::parse(to)->value, key,
               routed, with_route);
  }
  std::string ask(uint32_t from, uint32_t to, const RuleKey& key, bool routed,
                  const std::set<lookup::TableId>& with_route) const {
    Table4::Packet packet{from, to, 0, 0, key};
    table_->classify_sources(&from, &packet.source_class, 1);
    table_->classify_destinations(&to, &packet.destination_class, 1);
    Table4::Step step = table_->ask(packet, routed);
    while (step.table != 0) {
      if (with_route.contains(step.table)) return std::to_string(step.table);
      step = table_->ask(packet, routed, step.next);
    }
    if (step.reason == Reason::kNone) return kMain;
    return step.reason == Reason::kPolicyRule ? kLinux : std::string(info(step.reason).name);
  }
  const Table4& table() const { return *table_; }

 private:
  static RuleSurroundings with_marks(bool marks) {
    RuleSurroundings around = surroundings();
    around.marks = marks;
    return around;
  }
  std::unique_ptr<const Table4> table_;
};

TEST(RuleTable, SendsByOtherTablesAndLeavesTheRest) {
  PolicyRule one = to_table(200, 100), full = to_table(201, 777);
  one.from = IpPrefix::parse("10.0.0.100/32");
  full.from = IpPrefix::parse("10.0.0.102/32");
  const Rules rules(with_usual({one, full}));
  EXPECT_EQ(rules.ask("10.0.0.100", "8.8.8.8"), "1");
  EXPECT_EQ(rules.ask("10.0.0.100", "8.8.8.8", {}, true, {}), kMain) << "it has no route there";
  EXPECT_EQ(rules.ask("10.0.0.102", "8.8.8.8"), kLinux) << "there is no room for its table";
  EXPECT_EQ(rules.ask("10.0.0.101", "8.8.8.8"), kMain);
  EXPECT_EQ(rules.ask("10.0.0.101", "8.8.8.8", {}, false), kNoRoute);
  EXPECT_FALSE(rules.table().asks_for_more());
}

TEST(RuleTable, RefusesAsRulesSay) {
  PolicyRule a = refusing(10, RuleAction::kBlackhole), b = refusing(20, RuleAction::kProhibit),
             c = refusing(32770, RuleAction::kUnreachable);
  a.to = IpPrefix::parse("192.0.2.0/24");
  b.iif = "b";
  const Rules rules(with_usual({a, b, c}));
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.9", {.interface = 2}), "blackhole");
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.3.9", {.interface = 2}), "prohibit");
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.3.9", {.interface = 1}), kMain);
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.3.9", {.interface = 1}, false), "unreachable");
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
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.1"), "blackhole");
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.2"), kMain);
  EXPECT_EQ(rules.ask("11.0.0.1", "192.0.2.1"), kLinux) << "of 7 nothing is known";
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
  EXPECT_EQ(rules.ask("10.0.0.1", "192.0.2.1"), kLinux);
  RuleKey dns{.protocol = 17, .protocol_seen = true, .ports_seen = true, .destination_port = 53};
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), "blackhole");
  dns.destination_port = 54;
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), kMain);
  dns.ports_seen = false;  // a fragment
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), kLinux);
  dns.protocol = 6;
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), kMain);
  dns.interface = 2;
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", dns), kLinux);
}

TEST(RuleTable, MarksThatFiltersGiveAreSeen) {
  PolicyRule one = to_table(200, 100), unmarked = to_table(300, 200);
  one.fwmark = 0x1;
  one.fwmask = 0xff;
  unmarked.fwmask = 0xf00;
  unmarked.from = IpPrefix::parse("10.0.0.7/32");
  const Rules rules(with_usual({one, unmarked}), true);
  EXPECT_TRUE(rules.table().asks_for_marks());
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.mark = 1}), "1");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.mark = 0xab01}), "1") << "the mask's bits alone";
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.mark = 2}), kMain);
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8"), kMain);
  EXPECT_EQ(rules.ask("10.0.0.7", "8.8.8.8"), "2") << "a mark of 0 may be asked for";
  EXPECT_EQ(rules.ask("10.0.0.7", "8.8.8.8", {.mark = 0x100}), kMain);
  PolicyRule other = one;
  other.invert = true;
  const Rules inverted(with_usual({other}), true);
  EXPECT_EQ(inverted.ask("10.0.0.1", "8.8.8.8", {.mark = 1}), kMain);
  EXPECT_EQ(inverted.ask("10.0.0.1", "8.8.8.8"), "1");
  EXPECT_EQ(Rules(with_usual({one})).ask("10.0.0.1", "8.8.8.8", {.mark = 1}), kLinux)
      << "nobody here gives any";
}

// Linux, which sees no mark, would go another way.
TEST(RuleTable, SaysWhetherAMarkHasLed) {
  PolicyRule one = to_table(200, 100), other = to_table(210, 200);
  one.fwmark = one.fwmask = 1;
  other.from = IpPrefix::parse("10.0.0.9/32");
  const auto led_by = [](const Rules& rules, const RuleKey& key) {
    const uint32_t from = 0x0a000009, to = 0x08080808;
    Table4::Packet packet{from, to, 0, 0, key};
    rules.table().classify_sources(&from, &packet.source_class, 1);
    rules.table().classify_destinations(&to, &packet.destination_class, 1);
    return rules.table().ask(packet, true).by_mark;
  };
  const Rules rules(with_usual({one, other}), true);
  const auto led = [&](uint32_t mark) { return led_by(rules, {.mark = mark}); };
  EXPECT_TRUE(led(1));
  EXPECT_TRUE(led(3));
  EXPECT_FALSE(led(2)) << "that mark is as none to all that was asked";
  EXPECT_FALSE(led(0));
  // Where something else decides, the mark does not.
  for (const bool inverted : {false, true}) {
    one.invert = inverted;
    one.tos = 0x10;
    const Rules with_tos(with_usual({one, other}), true);
    EXPECT_FALSE(led_by(with_tos, {.mark = 1})) << inverted;
    EXPECT_TRUE(led_by(with_tos, {.tos = 0x10, .mark = 1})) << inverted;
  }
  one.fwmark = 0;  // without a mark it holds
  one.invert = false;
  const Rules unmarked(with_usual({one, other}), true);
  EXPECT_TRUE(led_by(unmarked, {.tos = 0x10, .mark = 1}));
  EXPECT_FALSE(led_by(unmarked, {.mark = 1}));
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
  EXPECT_EQ(Rules(with_usual({out, own, gone})).ask("10.0.0.1", "8.8.8.8"), kMain);
  EXPECT_EQ(Rules(with_usual({contrary})).ask("10.0.0.1", "8.8.8.8"), "prohibit");
}

TEST(RuleTable, WithoutItsUsualRulesNothingIsAssumed) {
  EXPECT_EQ(Rules({to_table(0, 255)}).ask("10.0.0.1", "8.8.8.8"), kNoRoute);
  EXPECT_EQ(Rules({to_table(0, 255), to_table(9, 253)}).ask("10.0.0.1", "8.8.8.8"), kLinux)
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
  EXPECT_EQ(table.ask("0.0.5.9", "8.8.8.8"), "blackhole");
  EXPECT_EQ(table.ask("0.15.254.1", "8.8.8.8"), "blackhole");  // the last
  EXPECT_EQ(table.ask("0.15.255.1", "8.8.8.8"), kLinux);
}

PolicyRule by_vrf(uint32_t priority) {
  PolicyRule rule = to_table(priority, 0);
  rule.l3mdev = true;
  return rule;
}

TEST(RuleTable, AVrfsMembersAreLookedUpInItsTable) {
  const Rules rules(with_usual({by_vrf(1000)}));
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.interface = 3}), "1");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.interface = 5}), "2");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.interface = 1}), kMain) << "in none";
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.interface = 3}, true, {2}), kMain)
      << "as in Linux, without a route of its own it goes on";
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.interface = 3, .way_back = true}), "1");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.interface = 1, .way_back = true}), kMain);
  PolicyRule by_name_of_vrf = to_table(5, 200);
  by_name_of_vrf.iif = "red";
  const Rules named(with_usual({by_name_of_vrf}));
  EXPECT_EQ(named.ask("10.0.0.1", "8.8.8.8", {.interface = 4}), "2");
  EXPECT_EQ(named.ask("10.0.0.1", "8.8.8.8", {.interface = 5}), kMain);
}

// vrf_ip6_rcv() makes it one of the VRF before rules are asked; IPv4's keep the member.
TEST(RuleTable, OfAMemberIpv6SeesTheVrfAlone) {
  PolicyRule member = to_table(5, 200), vrf = to_table(6, 100);
  member.iif = "c";
  vrf.iif = "red";
  EXPECT_EQ(Rules(with_usual({member, vrf})).ask("10.0.0.1", "8.8.8.8", {.interface = 3}), "2");
  member.family = vrf.family = Family::kIpv6;
  const std::vector<PolicyRule> rules = {member, vrf};
  const auto table = RuleTable<lookup::Ipv6Address>::compile(rules, surroundings()).value();
  EXPECT_EQ(table->ask({{}, {}, 0, 0, {.interface = 3}}, true).table, 1);
}

// fib_validate_source() asks with the device that the packet leaves by.
TEST(RuleTable, WaysBackThatARuleByInterfaceMayConcernAreLinuxsToJudge) {
  PolicyRule by_a = to_table(5, 100);
  by_a.iif = "a";
  by_a.from = IpPrefix::parse("10.1.0.0/16");
  const Rules rules(with_usual({by_a}));
  EXPECT_EQ(rules.ask("10.1.0.1", "8.8.8.8", {.interface = 2, .way_back = true}), kLinux);
  EXPECT_EQ(rules.ask("10.2.0.1", "8.8.8.8", {.interface = 1, .way_back = true}), kMain);
}

TEST(RuleTable, AGotoBehindTheRulesThatFitIsLinuxs) {
  std::vector<PolicyRule> rules;
  for (uint32_t i = 1; i < Table4::kMostRules + 8; ++i)
    rules.push_back(refusing(i, RuleAction::kNop));
  rules[0] = refusing(1, RuleAction::kGoto);
  rules[0].target = Table4::kMostRules + 5;
  EXPECT_EQ(Rules(rules).ask("10.0.0.1", "8.8.8.8"), kLinux);
}

TEST(RuleTable, OneTableComesFirstOnlyWhereItDoesForEveryPacket) {
  std::vector<PolicyRule> usual = with_usual({by_vrf(1000)});
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(3)).table, 0) << "local stands before it";
  usual.erase(usual.begin());
  usual.push_back(to_table(32765, 255));
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(3)).table, 1);
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(5)).table, 2);
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(1)).table, 0);
  PolicyRule some = to_table(5, 200);
  some.from = IpPrefix::parse("10.0.0.0/8");
  usual.insert(usual.begin(), some);
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(3)).table, 0);
  some.from.reset();
  some.iif = "a";
  usual.front() = some;
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(1)).table, 2);
  EXPECT_EQ(Rules(usual).table().first(InterfaceId(3)).table, 1);
}

// As Linux compares it: IPv4 of older kernels by four bits, newer ones by all six of the DSCP.
TEST(RuleTable, TosIsHeldAgainstTheDscp) {
  PolicyRule rule = to_table(10, 100);
  rule.tos = 0x10;
  const Rules rules(with_usual({rule}));
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0x10}), "1");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0x13}), "1") << "ECN is no part of it";
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0x08}), kMain);
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0xb0}), kLinux) << "kernels differ";
}

TEST(RuleTable, ADscpIsComparedWhole) {
  PolicyRule rule = to_table(10, 100);
  rule.dscp = 46;
  const Rules rules(with_usual({rule}));
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0xb8}), "1");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0xbb}), "1") << "ECN is no part of it";
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", {.tos = 0x18}), kMain) << "it has three bits of it";
  rule.dscp = 0;
  const Rules best_effort(with_usual({rule}));
  EXPECT_EQ(best_effort.ask("10.0.0.1", "8.8.8.8", {.tos = 0x03}), "1");
  EXPECT_EQ(best_effort.ask("10.0.0.1", "8.8.8.8", {.tos = 0x04}), kMain);
  EXPECT_EQ(to_string(rule), "from all dscp 0 lookup 100");
}

// ip rule add l3mdev unreachable: what a VRF has no route for is not main's.
TEST(RuleTable, TheEndOfVrfsIsTheirsAlone) {
  PolicyRule vrfs = to_table(1000, 0), end = refusing(2000, RuleAction::kUnreachable);
  vrfs.l3mdev = end.l3mdev = true;
  const Rules rules(with_usual({vrfs, end}));
  const RuleKey in_red{.interface = InterfaceId(3)}, outside{.interface = InterfaceId(1)};
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", in_red), "1");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", in_red, true, {2}), "unreachable");
  EXPECT_EQ(rules.ask("10.0.0.1", "8.8.8.8", outside), kMain);
  EXPECT_EQ(to_string(end), "from all lookup [l3mdev-table] unreachable");
}

// As fib_rules_lookup() walks them.
std::string walked(const std::vector<PolicyRule>& rules, uint32_t from, uint32_t to,
                   const RuleKey& key, bool routed, const std::set<lookup::TableId>& with_route) {
  const auto in = [](const std::optional<IpPrefix>& prefix, uint32_t address) {
    return !prefix || prefix->v4().contains(lookup::Ipv4Address{address});
  };
  const uint32_t vrf = key.interface < 3 ? 0 : key.interface < 5 ? 100 : 200;
  const std::string vrf_name = vrf == 0 ? "none" : vrf == 100 ? "red" : "blue";
  for (size_t i = 0; i < rules.size(); ++i) {
    const PolicyRule& rule = rules[i];
    const bool known_device =
        by_name(rule.iif) != kNoInterface || rule.iif == "red" || rule.iif == "blue";
    const bool unknown = key.way_back && known_device;  // whether it is by that device
    const bool by_it = unknown || by_name(rule.iif) == key.interface || rule.iif == vrf_name;
    bool holds =
        in(rule.from, from) && in(rule.to, to) && rule.oif.empty() &&
        (rule.iif.empty() || (known_device && by_it)) && (!rule.l3mdev || vrf != 0) &&
        (rule.ip_protocol == 0 || rule.ip_protocol == key.protocol) &&
        (rule.destination_ports.any() || rule.destination_ports.contains(key.destination_port));
    if (unknown && rule.invert && rule.oif.empty()) holds = false;
    if (rule.invert) holds = !holds;
    if (!holds) continue;
    const bool leads =
        rule.action != RuleAction::kNop && (rule.action != RuleAction::kTable || rule.table != 255);
    if (rule.action == RuleAction::kGoto) {
      const auto target = std::find_if(rules.begin(), rules.end(), [&](const PolicyRule& other) {
        return other.priority == rule.target;
      });
      if (unknown && rule.oif.empty() && target != rules.end()) return kLinux;
      if (target != rules.end()) i = static_cast<size_t>(target - rules.begin()) - 1;
      continue;
    }
    if (unknown && rule.oif.empty() && leads) return kLinux;
    if (rule.action == RuleAction::kBlackhole) return "blackhole";
    if (rule.action != RuleAction::kTable || rule.table == 255) continue;
    const uint32_t table = rule.l3mdev ? vrf : rule.table;
    const auto number = by_number(table);
    if (!number) return kLinux;
    if (*number == 0 && routed) return kMain;
    if (*number != 0 && with_route.contains(*number)) return std::to_string(*number);
  }
  return kNoRoute;
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
  const char* const interfaces[] = {"", "", "", "a", "b", "elsewhere", "c", "red", "blue"};
  for (int round = 0; round < 100; ++round) {
    std::vector<PolicyRule> rules;
    const uint32_t count = below(round % 10 == 0 ? 900 : 150);
    for (uint32_t i = 0; i < count; ++i) {
      PolicyRule rule = refusing(1 + i / 2, actions[below(5)]);
      if (rule.action == RuleAction::kTable)
        rule.table = std::array{254U, 254U, 100U, 200U, 777U}[below(round % 3 == 0 ? 5 : 4)];
      if (rule.action == RuleAction::kGoto) rule.target = rule.priority + 1 + below(20);
      rule.from = prefix();
      rule.to = prefix();
      rule.iif = interfaces[below(9)];
      if (below(12) == 0) rule.oif = "a";
      if (below(6) == 0) rule.invert = true;
      rule.l3mdev = rule.action == RuleAction::kTable && !rule.invert && below(12) == 0;
      if (below(6) == 0) rule.ip_protocol = below(2) == 0 ? 6 : 17;
      if (below(6) == 0) rule.destination_ports = {1, 2};
      rules.push_back(rule);
    }
    rules = with_usual(rules);
    const Rules compiled(rules);
    for (int packet = 0; packet < 200; ++packet) {
      const uint32_t from = address(), to = address();
      const RuleKey key{.interface = InterfaceId(1 + below(5)),
                        .protocol = static_cast<uint8_t>(below(2) == 0 ? 6 : 17),
                        .protocol_seen = true,
                        .ports_seen = true,
                        .way_back = below(8) == 0,
                        .destination_port = static_cast<uint16_t>(1 + below(4))};
      const bool routed = below(2) == 0;
      std::set<lookup::TableId> with_route;
      for (const lookup::TableId table : {lookup::TableId{1}, lookup::TableId{2}})
        if (below(2) == 0) with_route.insert(table);
      const std::string expected = walked(rules, from, to, key, routed, with_route);
      ASSERT_EQ(compiled.ask(from, to, key, routed, with_route), expected) << "round " << round;
      // Who is looked up in one table first finds the same there.
      const auto first = compiled.table().first(key.interface);
      if (!key.way_back && first.table != 0 && with_route.contains(first.table)) {
        ASSERT_EQ(expected, std::to_string(first.table)) << "round " << round;
      }
    }
  }
}

TEST(RuleTable, SixteenByteAddressesAlike) {
  PolicyRule rule = to_table(5, 100);
  rule.family = Family::kIpv6;
  rule.from = IpPrefix::parse("2001:db8:1::/48");
  const std::vector<PolicyRule> rules = {rule, to_table(32766, 254)};
  const auto table = RuleTable<lookup::Ipv6Address>::compile(rules, surroundings()).value();
  for (const auto& [from, expected] : {std::pair{"2001:db8:1::1", 1}, {"2001:db8:2::1", 0}}) {
    RuleTable<lookup::Ipv6Address>::Packet packet{
        *lookup::Ipv6Address::parse(from), *lookup::Ipv6Address::parse("fd00::1"), 0, 0, {}};
    table->classify_sources(&packet.source, &packet.source_class, 1);
    table->classify_destinations(&packet.destination, &packet.destination_class, 1);
    EXPECT_EQ(table->ask(packet, true).table, expected) << from;
  }
}

}  // namespace
}  // namespace hecto::router
