// A gateway under Linux's policy rules, some of its ports in VRFs.
#pragma once

#include "router/rib/rule_table.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {

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
    RuleSurroundings surroundings;
    surroundings.interface = [](const std::string& name) {
      return name == "p1" ? InterfaceId(1) : kNoInterface;
    };
    surroundings.table = [this](uint32_t table) { return left_.routing().fib_table(table); };
    surroundings.vrf_members = vrf_members_;
    surroundings.marks = marks_;
    auto tables = std::make_shared<RuleTables>();
    tables->ipv4 = RuleTable<uint32_t>::compile(list, surroundings).value();
    for (PolicyRule& rule : list) rule.family = Family::kIpv6;
    tables->ipv6 = RuleTable<lookup::Ipv6Address>::compile(list, surroundings).value();
    left_.snapshot().rules = tables;
  }
  // By port 0 to its host, or of a type without next hops.
  void route(uint32_t table, const char* to, RouteType type = RouteType::kUnicast) {
    Route made;
    made.prefix = *IpPrefix::parse(to);
    made.origin = RouteOrigin::kFile;
    made.table = table;
    made.type = type;
    const bool six = made.prefix.address.family == Family::kIpv6;
    NextHop hop;
    hop.gateway = IpAddress::parse(six ? "fd00:1::1" : "10.1.0.1");
    hop.interface = 0;
    if (type == RouteType::kUnicast) made.next_hops = {hop};
    ASSERT_TRUE(left_.routing().add(made));
    left_.routing().commit();
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
    return taken(1);
  }
  unsigned taken(PortId port) {
    const auto out = left_.sent(port);
    for (rte_mbuf* each : out) rte_pktmbuf_free(each);
    return static_cast<unsigned>(out.size());
  }
  static PolicyRule of_members(uint32_t priority = 100) {
    PolicyRule made;
    made.priority = priority;
    made.l3mdev = true;
    return made;
  }
  std::vector<RuleSurroundings::VrfMember> vrf_members_;
  bool marks_ = false;  // are those of filters
};

}  // namespace hecto::router::test
