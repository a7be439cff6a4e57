// Policy rules on their way to the workers, and what is said of them.
#include "router/control/rule_control.hpp"
#include "router/rib/rule_table.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kRuleBase =
    "workers: {0: [1]}\nports: {wan0: {device: eth1}, lan0: {device: eth2}}\n";

PolicyRule usual(uint32_t priority, uint32_t table) {
  PolicyRule rule;
  rule.priority = priority;
  rule.table = table;
  return rule;
}

class RuleControlTest : public testing::Test {
 protected:
  RuleControlTest() {
    for (const auto& [priority, table] : {std::pair{0U, 255U}, {32766U, 254U}, {32767U, 253U}})
      tell(usual(priority, table));
    control_.tick(false);
  }
  void tell(const PolicyRule& rule, bool removed = false) { bed_->events.rule(rule, removed); }
  Said said() {
    control_.tick(false);
    return std::exchange(bed_->said, {});
  }

  std::unique_ptr<ControlBed> bed_ = ControlBed::started(kRuleBase);
  RuleControl control_{bed_->routing, bed_->plane};
};

TEST_F(RuleControlTest, LinuxsUsualRulesAreNone) {
  EXPECT_EQ(said(), Said{"no rules"});
  EXPECT_FALSE(control_.any());
  EXPECT_TRUE(control_.lines().empty());
  EXPECT_TRUE(said().empty()) << "nothing has changed";
}

TEST_F(RuleControlTest, OthersGoToTheWorkersAndAreSaid) {
  said();
  PolicyRule rule = usual(200, 100);
  rule.from = IpPrefix::parse("10.0.0.100/32");
  tell(rule);
  EXPECT_EQ(said(), Said{"rules"});
  ASSERT_TRUE(bed_->plane.rules);
  EXPECT_TRUE(bed_->plane.rules->ipv4);
  EXPECT_FALSE(bed_->plane.rules->ipv6) << "the other family has none";
  EXPECT_TRUE(control_.lines().empty()) << "the fast path has the table";
  rule.fwmask = rule.fwmark = 1;
  tell(rule);
  said();
  EXPECT_EQ(control_.lines(),
            Said{"policy rules: Linux forwards, slower, what one of them holds for (200: from "
                 "10.0.0.100 fwmark 0x1/0x1 lookup 100); see hecto show rules and drops"});
  tell(rule, true);
  rule.fwmask = rule.fwmark = 0;
  tell(rule, true);
  EXPECT_EQ(said(), Said{"no rules"});
  EXPECT_TRUE(control_.lines().empty());
}

TEST_F(RuleControlTest, WhatWorkersDoThemselvesIsNoWarning) {
  PolicyRule rule;
  rule.priority = 5;
  rule.action = RuleAction::kBlackhole;
  tell(rule);
  said();
  EXPECT_TRUE(control_.any());
  EXPECT_TRUE(control_.lines().empty());
  bed_->plane.ipsec = true;
  EXPECT_EQ(
      control_.lines(),
      Said{"policy rules: the outer packets of tunnels do not ask them: they go by main, or by "
           "their VRF's table"});
}

TEST_F(RuleControlTest, AnInterfaceThatComesIsFoundByItsName) {
  PolicyRule rule;
  rule.priority = 5;
  rule.action = RuleAction::kBlackhole;
  rule.iif = "lan0";
  tell(rule);
  EXPECT_EQ(said().back(), "rules");
  EXPECT_TRUE(said().empty());
  InterfaceId lan = kNoInterface;
  for (const auto& [id, state] : bed_->routing.interfaces().all())
    if (state.name == "lan0") lan = id;
  ASSERT_NE(lan, kNoInterface);
  ASSERT_TRUE(bed_->routing.remove_interface(lan));
  EXPECT_EQ(said(), Said{"rules"});
  EXPECT_EQ(bed_->plane.rules->ipv4->size(), 3u) << "it holds for nobody now";
}

}  // namespace
}  // namespace hecto::router::test
