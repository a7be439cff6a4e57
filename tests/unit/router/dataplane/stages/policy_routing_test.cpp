// Policy rules in the pipeline: what they refuse, what they leave, and what uRPF asks of them.
#include "router/dataplane/stages/policy_routing.hpp"

#include <gtest/gtest.h>

#include "router/dataplane/explain_packet.hpp"
#include "tests/unit/router/dataplane/stages/policy_routing_bed.hpp"

namespace hecto::router::test {
namespace {

TEST_F(PolicyRoutingTest, ASourceGoesByItsTableWhereThatHasARoute) {
  PolicyRule other = rule(RuleAction::kTable, 100);
  other.from = IpPrefix::parse("10.1.0.0/31");
  rules({other});
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 1u) << "an empty table says nothing";
  route(100, "10.2.0.0/24");
  const auto send = [&](const char* from, const char* to) {
    return packet(ipv4_frame(from_host(from, to)));
  };
  left_.run({send("10.1.0.1", "10.2.0.1"), send("10.1.0.2", "10.2.0.1"),
             send("10.1.0.1", "10.2.0.9"), send("10.1.0.1", "10.2.0.9")},
            0);
  EXPECT_EQ(taken(0), 3u);
  EXPECT_EQ(taken(1), 1u) << "another's stays with main";
  route(100, "10.2.0.0/24", RouteType::kBlackhole);
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 0u);
  EXPECT_EQ(left_.dropped(Reason::kBlackhole), 0u) << "the sink has it";
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kBlackhole});
}

TEST_F(PolicyRoutingTest, LinuxGetsWhatAnUnknownTableRoutes) {
  PolicyRule other = rule(RuleAction::kTable, 0);  // no table has this number
  other.from = IpPrefix::parse("10.1.0.1/32");
  rules({other});
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kPolicyRule});
  EXPECT_EQ(sent(from_host("10.1.0.2", "10.2.0.1")), 1u);
  EXPECT_TRUE(left_.refused().empty());
}

// In both families: the VRF's table, and what lies behind it for what that has no route for.
TEST_F(PolicyRoutingTest, AVrfsPacketsGoByItsTable) {
  vrf_members_ = {{InterfaceId(0), "red", 100}};
  rules({of_members()});
  EXPECT_EQ(left_.snapshot().rules->ipv4->first(InterfaceId(0)).table, 1);
  for (const bool six : {false, true}) {
    const FrameOptions frame = six ? from_left6() : from_left();
    EXPECT_EQ(sent(frame, six), 1u) << "main is asked, as Linux does";
    route(100, six ? "fd00:2::/64" : "10.2.0.0/24");
    EXPECT_EQ(sent(frame, six), 0u);
    EXPECT_EQ(taken(0), 1u);
  }
  // A chunk of which one packet has no route there.
  const auto send = [&](const char* to) { return packet(ipv4_frame(from_host("10.1.0.1", to))); };
  route(254, "10.9.0.0/16", RouteType::kProhibit);
  left_.run({send("10.2.0.1"), send("10.9.0.1"), send("10.2.0.2"), send("10.77.0.1")}, 0);
  EXPECT_EQ(taken(0), 2u);
  EXPECT_EQ(left_.refused(), (std::vector<Reason>{Reason::kProhibit, Reason::kNoRoute}));
  PolicyRule end = rule(RuleAction::kUnreachable);
  end.priority = 200;
  rules({of_members(), end});
  left_.run({send("10.9.0.1")}, 0);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kUnreachable}) << "nothing leaks to main";
}

TEST_F(PolicyRoutingTest, AVrfsOwnAddressesAreItsOwn) {
  vrf_members_ = {{InterfaceId(0), "red", 100}};
  rules({of_members()});
  route(100, "10.2.0.1/32", RouteType::kLocal);
  sent(from_left());
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kLocal});
}

TEST_F(PolicyRoutingTest, TheWayBackIsAskedOfTheVrfsTable) {
  left_.snapshot().interfaces[0].rp_filter = UrpfMode::kStrict;
  left_.snapshot().features |= kFeatureUrpf;
  left_.snapshot().ports[0].features |= kFeatureUrpf;
  vrf_members_ = {{InterfaceId(0), "red", 100}};
  PolicyRule end = rule(RuleAction::kUnreachable);
  end.priority = 200;
  rules({of_members(), end});
  route(100, "10.2.0.0/24");
  EXPECT_EQ(sent(from_left()), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kUrpf}) << "red has no way back";
  route(100, "10.1.0.0/24");
  sent(from_left());
  EXPECT_TRUE(left_.refused().empty());
  EXPECT_EQ(taken(0), 1u);
}

// Behind local comes a table that would lead them back.
TEST_F(PolicyRoutingTest, OwnAddressesAreNoSourcesWhateverTheRules) {
  left_.snapshot().interfaces[0].rp_filter = UrpfMode::kStrict;
  left_.snapshot().features |= kFeatureUrpf;
  left_.snapshot().ports[0].features |= kFeatureUrpf;
  PolicyRule local;
  local.table = 255;
  rules({local, rule(RuleAction::kTable, 100)});
  route(100, "0.0.0.0/0");
  EXPECT_EQ(sent(from_host("192.0.2.1", "10.2.0.1")), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kUrpf});
  sent(from_host("10.1.0.7", "10.2.0.1"));
  EXPECT_TRUE(left_.refused().empty());
  EXPECT_EQ(taken(0), 1u);
}

// A default route by a management NIC, say, must not keep a VRF's packets from their table.
TEST_F(PolicyRoutingTest, WhatOnlyLinuxHasInMainLeavesOtherTablesTheirPackets) {
  Route management;
  management.prefix = *IpPrefix::parse("10.2.0.0/16");
  NextHop hop;
  hop.ifindex = 77;
  management.next_hops = {hop};
  left_.routing().route(management, false, false);
  Route more = management;
  more.prefix = *IpPrefix::parse("10.2.0.0/28");
  left_.routing().route(more, false, false);
  PolicyRule other = rule(RuleAction::kTable, 100);
  other.from = IpPrefix::parse("10.1.0.1/32");
  rules({other});
  route(100, "10.2.0.0/24");
  EXPECT_EQ(sent(from_host("10.1.0.1", "10.2.0.1")), 0u);
  EXPECT_EQ(taken(0), 1u);
  EXPECT_TRUE(left_.refused().empty());
  sent(from_host("10.1.0.2", "10.2.0.1"));
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kLocal}) << "of others main's holds";
}

TEST_F(PolicyRoutingTest, WhatComesInByAPortOfABridgeIsLinuxs) {
  left_.snapshot().interfaces[0].linux_only = true;
  left_.snapshot().features |= kFeatureUrpf;
  left_.snapshot().ports[0].features |= kFeatureUrpf;
  EXPECT_EQ(sent(from_left()), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kLocal});
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
  PolicyRule back = rule(RuleAction::kTable, 0);  // of answers alone; no table has this number
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
  PolicyRule other = rule(RuleAction::kTable, 0);
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
  PolicyRule other = rule(RuleAction::kTable, 0);
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
