// Policy rules in the pipeline: what they refuse, what they leave, and what uRPF asks of them.
#include "router/dataplane/stages/policy_routing.hpp"

#include <gtest/gtest.h>

#include "router/dataplane/explain_packet.hpp"
#include "router/rib/rule_table.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

class PolicyRoutingTest : public TwoGateways {
 protected:
  void SetUp() override {
    for (PortId port = 0; port < 2; ++port) left_.snapshot().interfaces[port].up = true;
  }
  // Beside Linux's own.
  void rules(std::vector<PolicyRule> list) {
    PolicyRule main;
    main.priority = 32766;
    main.table = 254;
    list.push_back(main);
    const auto no_name = [](const std::string& name) {
      return name == "p1" ? InterfaceId(1) : kNoInterface;
    };
    auto tables = std::make_shared<RuleTables>();
    tables->ipv4 = RuleTable<uint32_t>::compile(list, no_name).value();
    for (PolicyRule& rule : list) rule.family = Family::kIpv6;
    tables->ipv6 = RuleTable<lookup::Ipv6Address>::compile(list, no_name).value();
    left_.snapshot().rules = tables;
  }
  static PolicyRule rule(RuleAction action, uint32_t table = 0) {
    PolicyRule made;
    made.priority = 100;
    made.action = action;
    made.table = table;
    return made;
  }
  unsigned sent(const FrameOptions& frame, bool six = false) {
    left_.run({packet(six ? ipv6_frame(frame) : ipv4_frame(frame))}, 0);
    const auto out = left_.sent(1);
    for (rte_mbuf* each : out) rte_pktmbuf_free(each);
    return static_cast<unsigned>(out.size());
  }
};

TEST_F(PolicyRoutingTest, LinuxGetsWhatAnotherTableRoutes) {
  PolicyRule other = rule(RuleAction::kTable, 100);
  other.from = IpPrefix::parse("10.1.0.1/32");
  rules({other});
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kPolicyRule});
  EXPECT_EQ(sent(from_host("10.1.0.2", "10.2.0.1")), 1u);
  EXPECT_TRUE(left_.refused().empty());
}

TEST_F(PolicyRoutingTest, RulesOfBothFamiliesDrop) {
  rules({rule(RuleAction::kBlackhole)});
  for (const bool six : {false, true}) {
    EXPECT_EQ(sent(six ? from_left6() : from_left(), six), 0u);
    EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kBlackhole}) << six;
  }
}

TEST_F(PolicyRoutingTest, WhatIsForTheRouterStaysSo) {
  rules({rule(RuleAction::kBlackhole)});
  sent(from_host("10.1.0.1", "192.0.2.1"));
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kLocal});
}

TEST_F(PolicyRoutingTest, PortsOfFragmentsAreNotGuessed) {
  PolicyRule port = rule(RuleAction::kProhibit);
  port.ip_protocol = 17;
  port.destination_ports = {9, 9};
  rules({port});
  FrameOptions frame = from_left();
  const auto with_port = [](Frame bytes, uint8_t number) {
    bytes[kEthernetBytes + kIpv4Bytes + 2] = 0;
    bytes[kEthernetBytes + kIpv4Bytes + 3] = number;
    return bytes;
  };
  left_.run({packet(with_port(ipv4_frame(frame), 9))}, 0);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kProhibit});
  left_.run({packet(with_port(ipv4_frame(frame), 10))}, 0);
  EXPECT_TRUE(left_.refused().empty());
  for (rte_mbuf* each : left_.sent(1)) rte_pktmbuf_free(each);
}

TEST_F(PolicyRoutingTest, TheWayBackIsAskedOfThem) {
  left_.snapshot().interfaces[0].rp_filter = UrpfMode::kStrict;
  left_.snapshot().features |= kFeatureUrpf;
  left_.snapshot().ports[0].features |= kFeatureUrpf;
  PolicyRule back = rule(RuleAction::kTable, 100);  // of answers alone
  back.to = IpPrefix::parse("10.1.0.1/32");
  rules({back});
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kPolicyRule});
  EXPECT_EQ(sent(from_host("10.1.0.2", "10.2.0.1")), 1u);
  back.action = RuleAction::kBlackhole;
  rules({back});
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kUrpf});
}

// Linux may send it by a device that only Linux has.
TEST_F(PolicyRoutingTest, WhatAPolicyProtectsDoesNotGoToLinuxInClear) {
  left_.tunnel();
  PolicyRule other = rule(RuleAction::kTable, 100);
  other.from = IpPrefix::parse("10.1.0.0/16");
  rules({other});
  EXPECT_EQ(sent(from_left()), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kPolicyUnjudged});
  rules({rule(RuleAction::kNop)});
  EXPECT_EQ(sent(from_left()), 1u) << "as ESP";
  FrameOptions expired = from_left();
  expired.ttl = 1;
  sent(expired);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kTtlExpired}) << "Linux answers";
}

TEST_F(PolicyRoutingTest, TheExplanationKnowsThem) {
  left_.snapshot().linux_side = true;
  PolicyRule other = rule(RuleAction::kTable, 100);
  other.from = IpPrefix::parse("10.1.0.1/32");
  rules({other});
  const auto reason = [this](const char* from) {
    PacketQuestion question;
    question.destination = *IpAddress::parse("10.2.0.1");
    question.source = IpAddress::parse(from);
    question.interface = InterfaceId(0);
    return explain_packet(question, left_.snapshot(), left_.tables(), std::nullopt).reason;
  };
  EXPECT_EQ(reason("10.1.0.1"), Reason::kPolicyRule);
  EXPECT_EQ(reason("10.1.0.2"), Reason::kNone);
}

}  // namespace
}  // namespace hecto::router::test
