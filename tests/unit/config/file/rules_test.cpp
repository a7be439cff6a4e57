// VRFs and policy rules of the file: read, refused, printed, compared.
#include "config/file/rules.hpp"

#include <gtest/gtest.h>

#include "config/file/diff.hpp"
#include "config/file/keys.hpp"
#include "config/file/load.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

// Two customers with the same addresses.
constexpr const char* kCustomers = R"(linux: off
vrfs: {red: {table: 10}, blue: {table: 20}}
ports:
  r0: {device: e0, vrf: red, addresses: [10.0.0.1/24]}
  r1: {device: e1, vrf: red, addresses: [10.0.1.1/24], vlans: {7: {addresses: [192.0.2.1/24]}}}
  b0: {device: e2, vrf: blue, addresses: [10.0.0.1/24]}
  b1: {device: e3, vlans: {7: {vrf: blue, addresses: [10.0.1.1/24]}}}
)";
constexpr const char* kOff =
    "linux: off\nports: {wan0: {device: eth1, addresses: [192.0.2.1/24]}}\n";
constexpr const char* kRed =
    "linux: off\nports: {wan0: {device: eth1, vrf: red, addresses: [192.0.2.1/24]}}\n"
    "vrfs: {red: {table: 10}}\n";

Config customers(const std::string& rest) {
  return good(kCustomers + rest);
}

TEST(Vrfs, AreOfPortsVlansAndRoutes) {
  const Config config = customers(
      "routes: [{to: 0.0.0.0/0, vrf: red, via: 10.0.1.9}, {to: 0.0.0.0/0, vrf: blue, via: "
      "10.0.1.9},"
      " {to: 0.0.0.0/0, via: 192.0.2.9}, {to: 0.0.0.0/0, table: 30, via: 192.0.2.9},"
      " {to: 198.51.100.0/24, table: 20, via: 10.0.0.9}]");
  ASSERT_EQ(config.vrfs, (std::vector<VrfConfig>{{"red", 10}, {"blue", 20}}));
  EXPECT_EQ(config.ports[0].vrf, "red");
  EXPECT_EQ(config.ports[0].vrf_table, 10u);
  EXPECT_EQ(config.ports[1].vlans[0].vrf_table, 0u) << "a VLAN does not follow its port";
  EXPECT_EQ(config.ports[3].vrf_table, 0u);
  EXPECT_EQ(config.ports[3].vlans[0].vrf, "blue");
  std::vector<uint32_t> tables;
  for (const RouteConfig& route : config.routes) tables.push_back(route.table);
  EXPECT_EQ(tables, (std::vector<uint32_t>{10, 20, 254, 30, 20}));
}

TEST(Vrfs, HaveNeighborsOfTheSameAddress) {
  const Config config = customers(
      "neighbors: [{address: 10.0.0.9, interface: r0, mac: \"02:00:00:00:00:01\"},"
      " {address: 10.0.0.9, interface: b0, mac: \"02:00:00:00:00:02\"},"
      " {address: 192.0.2.9, mac: \"02:00:00:00:00:03\"}]");
  ASSERT_EQ(config.neighbors.size(), 3u);
  EXPECT_EQ(config.neighbors[2].interface, "r1.7");
  EXPECT_EQ(only(std::string(kCustomers) +
                 "neighbors: [{address: 10.0.0.9, mac: \"02:00:00:00:00:01\"}]"),
            "t.yaml:8: neighbors[0].address: 10.0.0.9 is on the networks of r0 and b0, in VRFs of "
            "their own; name its interface");
}

TEST(Vrfs, TheirGatewaysAreTheirOwn) {
  EXPECT_EQ(
      only(std::string(kCustomers) + "routes: [{to: 0.0.0.0/0, via: 10.0.1.9}]"),
      "t.yaml:8: routes[0].via: 10.0.1.9 is on no interface's network; name its interface, or "
      "add an address");
  EXPECT_EQ(
      only(std::string(kCustomers) + "routes: [{to: 0.0.0.0/0, vrf: red, via: 192.0.2.9}]"),
      "t.yaml:8: routes[0].via: 192.0.2.9 is on no interface's network; name its interface, or "
      "add an address");
  EXPECT_EQ(only(std::string(kCustomers) + "routes: [{to: 0.0.0.0/0, vrf: red, via: 10.0.0.1}]"),
            "t.yaml:8: routes[0].via: 10.0.0.1 is this router's own address; use the neighbor's");
  // By name a route may lead out of its VRF.
  customers("routes: [{to: 0.0.0.0/0, vrf: red, via: {gateway: 192.0.2.9, interface: r1.7}}]");
}

TEST(Rules, AskForAllThatTheyCan) {
  const Config config = customers(
      "rules:\n"
      "  - {priority: 100, from: 10.0.0.0/8, to: 203.0.113.0/24, iif: r1.7, not: true, dscp: 46,\n"
      "     ipproto: udp, sport: 53, dport: 1000-2000, table: 1001}\n"
      "  - {priority: 100, family: ipv6, iif: red, vrf: blue}\n"
      "  - {priority: 200, from: \"2001:db8::/32\", goto: 32766}\n"
      "  - {priority: 300, ipproto: 89, action: prohibit}\n");
  ASSERT_EQ(config.rules.size(), 4u);
  const RuleConfig& all = config.rules[0];
  EXPECT_EQ(all.from, IpPrefix::parse("10.0.0.0/8"));
  EXPECT_EQ(all.iif, "r1.7");
  EXPECT_TRUE(all.invert);
  EXPECT_EQ(all.dscp, 46);
  EXPECT_EQ(all.ip_protocol, 17);
  EXPECT_EQ(all.sources, (PortSpan{53, 53}));
  EXPECT_EQ(all.destinations, (PortSpan{1000, 2000}));
  EXPECT_EQ(all.table, 1001u);
  EXPECT_TRUE(all.holds_for(Family::kIpv4));
  EXPECT_FALSE(all.holds_for(Family::kIpv6));
  EXPECT_EQ(config.rules[1].table, 20u);
  EXPECT_FALSE(config.rules[1].holds_for(Family::kIpv4));
  EXPECT_EQ(config.rules[2].target, 32766u);
  EXPECT_TRUE(config.rules[2].holds_for(Family::kIpv6));
  EXPECT_EQ(config.rules[3].action, RuleRefusal::kProhibit);
  EXPECT_TRUE(config.rules[3].holds_for(Family::kIpv4) && config.rules[3].holds_for(Family::kIpv6));
}

TEST(Rules, ReadBackAsTheyArePrinted) {
  const Config config = customers(
      "routes: [{to: 0.0.0.0/0, vrf: red, via: 10.0.1.9}, {to: 0.0.0.0/0, table: 30, type: "
      "blackhole}]\n"
      "rules:\n"
      "  - {priority: 100, from: 10.0.0.0/8, to: 203.0.113.0/24, iif: r1.7, not: true, dscp: 0,\n"
      "     ipproto: udp, sport: 53, dport: 1000-2000, table: 1001}\n"
      "  - {priority: 200, family: ipv4, dport: 1-65535, goto: 300}\n"
      "  - {priority: 300, to: \"::/0\", table: main}\n"
      "  - {priority: 300, family: ipv4, iif: red, vrf: blue}\n"
      "  - {priority: 400, action: blackhole}\n");
  const std::string yaml = to_yaml(config);
  EXPECT_EQ(good(yaml), config) << yaml;
  for (const char* line :
       {"  red: {table: 10}\n", "    vrf: red\n", "7: {vrf: blue, ",
        "  - {to: 0.0.0.0/0, via: 10.0.1.9, vrf: red}\n",
        "  - {priority: 100, from: 10.0.0.0/8, to: 203.0.113.0/24, iif: r1.7, not: true, dscp: 0, "
        "ipproto: udp, sport: 53, dport: 1000-2000, table: 1001}\n",
        "  - {priority: 300, to: \"::/0\", table: main}\n",
        "  - {priority: 300, family: ipv4, iif: red, vrf: blue}\n"})
    EXPECT_NE(yaml.find(line), std::string::npos) << line << yaml;
}

struct RefusedRule {
  const char* head;
  const char* yaml;
  const char* problem;  // behind the line
};

class RulesRefuse : public testing::TestWithParam<RefusedRule> {};

TEST_P(RulesRefuse, WithKeySeenAndRight) {
  const std::string problem = only(std::string(GetParam().head) + GetParam().yaml);
  EXPECT_EQ(problem.substr(problem.find(' ') + 1), GetParam().problem);
}

constexpr const char* kLinuxsOwn =
    "VRFs and rules are Linux's while there is a Linux side (ip link add red type vrf table 10, ip "
    "link set lan0 master red, ip rule add ..., in its namespace), and hectod follows; take them "
    "out, "
    "or write linux: off";
const std::string kVrfsAreLinuxs = std::string("vrfs: ") + kLinuxsOwn;
const std::string kRulesAreLinuxs = std::string("rules: ") + kLinuxsOwn;
const std::string kVrfIsLinuxs = std::string("ports.a.vrf: ") + kLinuxsOwn;

INSTANTIATE_TEST_SUITE_P(
    Linux, RulesRefuse,
    testing::Values(
        RefusedRule{
            kPort,
            "vrfs: {red: {table: 10}}\nroutes: [{to: 0.0.0.0/0, vrf: red, type: blackhole}]\n"
            "rules: [{priority: 1, vrf: red}]",
            kVrfsAreLinuxs.c_str()},
        RefusedRule{kPort, "rules: [{priority: 1, table: 5}]", kRulesAreLinuxs.c_str()},
        RefusedRule{"", "ports: {a: {device: e, vrf: red}}", kVrfIsLinuxs.c_str()}));

INSTANTIATE_TEST_SUITE_P(
    Vrfs, RulesRefuse,
    testing::Values(
        RefusedRule{kOff, "vrfs: {red: {table: 10}, blue: {table: 10}}",
                    "vrfs.blue.table: 10 is the table of VRF red already; use another"},
        RefusedRule{
            kOff, "vrfs: {red: {table: 254}}",
            "vrfs.red.table: 254 is the default, main or local table, of all that is in no VRF; "
            "use another"},
        RefusedRule{kOff, "vrfs: {red: {table: 0}}",
                    "vrfs.red.table: 0 is out of range; use 1 to 4294967295"},
        RefusedRule{kOff, "vrfs: {red: {table: 4294967296}}",
                    "vrfs.red.table: 4294967296 is out of range; use 1 to 4294967295"},
        RefusedRule{kOff, "vrfs: {red: {}}", "vrfs.red: has no table; add a number, as table: 10"},
        RefusedRule{kOff, "vrfs: {red: {tabel: 10, table: 10}}",
                    "vrfs.red.tabel: unknown key; did you mean table?"},
        RefusedRule{
            kOff, "vrfs: {main: {table: 10}}",
            "vrfs.main: not a VRF's name; use at most 15 letters, digits, - and _, a letter "
            "first"},
        RefusedRule{"linux: off\nvrfs: {wan0: {table: 10}}\n", "ports: {wan0: {device: eth1}}",
                    "ports.wan0: a name that a VRF of this file has; use another"},
        RefusedRule{"linux: off\nvrfs: {red: {table: 10}, blue: {table: 20}}\n",
                    "ports: {wan0: {device: eth1, vrf: rde}}",
                    "ports.wan0.vrf: rde is no VRF of this file; did you mean red?"},
        RefusedRule{"linux: off\nvrfs: {red: {table: 10}, blue: {table: 20}}\n",
                    "ports: {wan0: {device: eth1, vlans: {7: {vrf: green}}}}",
                    "ports.wan0.vlans.7.vrf: green is no VRF of this file; use red, blue"},
        RefusedRule{
            "linux: off\n", "ports: {wan0: {device: eth1, vrf: red}}",
            "ports.wan0.vrf: red is no VRF, as the file has none; add it, as vrfs: {red: {table: "
            "10}}"},
        RefusedRule{kRed, "routes: [{to: 0.0.0.0/0, vrf: red, table: 10, type: blackhole}]",
                    "routes[0].vrf: stands beside table; use one of them"},
        RefusedRule{kRed, "routes: [{to: 0.0.0.0/0, table: red, type: blackhole}]",
                    "routes[0].table: red is a VRF's name; use vrf: red"},
        RefusedRule{
            kRed, "routes: [{to: 0.0.0.0/0, table: 255, type: blackhole}]",
            "routes[0].table: 255 is the local table, which has no routes of the file; use main "
            "or another"},
        RefusedRule{
            kRed,
            "routes: [{to: 0.0.0.0/0, table: 10, type: blackhole}, {to: 0.0.0.0/0, vrf: red, "
            "type: prohibit}]",
            "routes[1].to: 0.0.0.0/0 has a route of this metric already; list the gateways under "
            "one via"},
        RefusedRule{kRed, "routes: [{to: 0.0.0.0/0, vrf: red, via: 192.0.2.1}]",
                    "routes[0].via: 192.0.2.1 is this router's own address; use the neighbor's"}));

INSTANTIATE_TEST_SUITE_P(
    Rules, RulesRefuse,
    testing::Values(
        RefusedRule{kOff, "rules: [{table: 5}]",
                    "rules[0]: has no priority; add its place in the order, as priority: 100"},
        RefusedRule{kOff, "rules: [{priority: 0, table: 5}]",
                    "rules[0].priority: 0 is out of range; use 1 to 4294967295"},
        RefusedRule{
            kOff, "rules: [{priority: 32766, table: 5}]",
            "rules[0].priority: 32766 is that of a rule which is there by itself; use another "
            "than 32766 and 32767"},
        RefusedRule{
            kRed, "rules: [{priority: 2000, table: 5}]",
            "rules[0].priority: 2000 is that of a rule which is there by itself; use another "
            "than 1000, 2000, 32765, 32766 and 32767"},
        RefusedRule{kOff,
                    "rules: [{priority: 7, from: 10.0.0.0/8, table: 5}, {priority: 7, table: 6}]",
                    "rules[1].priority: 7 is that of the IPv4 rule on line 3 already; use another"},
        RefusedRule{kOff, "rules: [{priority: 7}]",
                    "rules[0]: does nothing; add table, vrf, goto or action, as table: 100"},
        RefusedRule{
            kOff, "rules: [{priority: 7, table: 5, action: blackhole}]",
            "rules[0].action: a second thing to do with a packet; use one of table, vrf, goto and "
            "action"},
        RefusedRule{
            kOff, "rules: [{priority: 7, goto: 7}]",
            "rules[0].goto: 7 goes back, to where packets would come round again; use a priority "
            "above 7"},
        RefusedRule{
            kOff,
            "rules: [{priority: 7, goto: 9}, {priority: 8, goto: 7}, {priority: 9, table: 5}]",
            "rules[1].goto: 7 goes back, to where packets would come round again; use a priority "
            "above 8"},
        RefusedRule{kOff,
                    "rules: [{priority: 7, goto: 9}, {priority: 9, from: 10.0.0.0/8, table: 5}, "
                    "{priority: 11, table: 5}]",
                    "rules[0].goto: 9 is the priority of no IPv6 rule; use 11"},
        RefusedRule{
            kOff, "rules: [{priority: 7, iif: wan1, table: 5}]",
            "rules[0].iif: wan1 is neither an interface nor a VRF of this file; did you mean "
            "wan0?"},
        RefusedRule{kRed, "rules: [{priority: 7, iif: wan0, table: 5}]",
                    "rules[0].iif: wan0 is in VRF red, and IPv6 packets come in by a VRF, as in "
                    "Linux; use iif: red, or family: ipv4"},
        RefusedRule{kRed, "rules: [{priority: 7, iif: wan0, to: \"2001:db8::/32\", table: 5}]",
                    "rules[0].iif: wan0 is in VRF red, and IPv6 packets come in by a VRF, as in "
                    "Linux; use iif: red"},
        RefusedRule{kOff, "rules: [{priority: 7, from: 10.0.0.1/8, table: 5}]",
                    "rules[0].from: 10.0.0.1/8 has bits behind its length; use 10.0.0.0/8"},
        RefusedRule{
            kOff, "rules: [{priority: 7, from: 10.0.0.0/8, to: \"2001:db8::/32\", table: 5}]",
            "rules[0].to: \"2001:db8::/32\" is not of the family of from; use two prefixes of "
            "one family"},
        RefusedRule{kOff, "rules: [{priority: 7, from: 10.0.0.0/8, family: ipv6, table: 5}]",
                    "rules[0].family: ipv6 is not that of 10.0.0.0/8; leave it out"},
        RefusedRule{kOff, "rules: [{priority: 7, dscp: 64, table: 5}]",
                    "rules[0].dscp: 64 is out of range; use 0 to 63"},
        RefusedRule{
            kOff, "rules: [{priority: 7, ipproto: tpc, table: 5}]",
            "rules[0].ipproto: tpc is no protocol; use tcp, udp, sctp, icmp, icmp6 or another's "
            "number, 1 to 255"},
        RefusedRule{kOff, "rules: [{priority: 7, dport: 70000, table: 5}]",
                    "rules[0].dport: 70000 is not a port; use 1 to 65535, or a range as 1000-2000"},
        RefusedRule{kOff, "rules: [{priority: 7, sport: 9-8, table: 5}]",
                    "rules[0].sport: 9-8 ends before it begins; use 8-9"},
        RefusedRule{
            kOff, "rules: [{priority: 7, not: true, table: 5}]",
            "rules[0].not: holds for no packet, as nothing is excepted; add from, to or another "
            "of them"},
        RefusedRule{kOff, "rules: [{priority: 7, action: throw}]",
                    "rules[0].action: throw is not known; use blackhole, unreachable or prohibit"},
        RefusedRule{
            kOff, "rules: [{priority: 7, vrf: red}]",
            "rules[0].vrf: red is no VRF, as the file has none; add it, as vrfs: {red: {table: "
            "10}}"},
        RefusedRule{
            "linux: off\nports: {wan0: {device: eth1, urpf: strict}}\n",
            "rules: [{priority: 7, iif: wan0, table: 5}]",
            "rules[0].iif: wan0 chooses by an interface, and port wan0 has urpf, which does not "
            "know by which its way back would come; use one of the two"}));

TEST(Rules, TheirTablesAreBounded) {
  std::string yaml = std::string(kOff) + "routes:\n";
  for (unsigned table = 1000; table < 1000 + kMostTables + 1; ++table)
    yaml += "  - {to: 0.0.0.0/0, type: blackhole, table: " + std::to_string(table) + "}\n";
  EXPECT_EQ(only(yaml),
            "t.yaml: routes: 4096 tables beside main, of VRFs, rules and routes; use at most 4095");
}

Difference difference(const std::string& before, const std::string& after) {
  auto found = diff(good(before), good(after));
  EXPECT_TRUE(found) << (found ? "" : found.error()[0]);
  return found ? *found : Difference{};
}

TEST(Rules, AreComparedWithVrfsAndRoutes) {
  const std::string base = kRed;
  const std::string route = "routes: [{to: 0.0.0.0/0, vrf: red, via: 192.0.2.9}]\n";
  EXPECT_TRUE(difference(base + route, base + route).empty());

  std::string other = base;
  other.replace(other.find("table: 10"), 9, "table: 11");
  const Difference moved = difference(base + route, other + route);
  EXPECT_EQ(moved.lines,
            (std::vector<std::string>{"- vrf red: {table: 10}", "+ vrf red: {table: 11}",
                                      "- route {to: 0.0.0.0/0, via: 192.0.2.9, vrf: red}",
                                      "+ route {to: 0.0.0.0/0, via: 192.0.2.9, vrf: red}"}));
  EXPECT_TRUE(moved.rules_changed);
  ASSERT_EQ(moved.ports_changed.size(), 1u) << "its routes are in another table";
  EXPECT_EQ(moved.ports_changed[0].vrf_table, 11u);

  std::string out = base;
  out.replace(out.find("vrf: red, "), 10, "");
  EXPECT_EQ(difference(base, out).lines, std::vector<std::string>{"~ port wan0: vrf red -> none"});

  const Difference ruled = difference(base, base + "rules: [{priority: 5, iif: red, table: 7}]");
  EXPECT_EQ(ruled.lines, std::vector<std::string>{"+ rule {priority: 5, iif: red, table: 7}"});
  EXPECT_TRUE(ruled.rules_changed);
  EXPECT_FALSE(difference(base, base).rules_changed);
}

}  // namespace
}  // namespace hecto::config
