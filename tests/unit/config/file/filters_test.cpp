// Filters of the file: read, refused, printed, compared.
#include "config/file/filters.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/file/diff.hpp"
#include "config/file/filter_words.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

using lookup::Family;
using Lines = std::vector<std::string>;

// A file with what filters lean on, and in it the rules given.
constexpr const char* kHead =
    "ports:\n"
    "  wan0: {device: eth1, addresses: [192.0.2.1/24], vlans: {7: {}}}\n"
    "  lan0: {device: eth2, addresses: [198.51.100.1/24]}\n"
    "sets: {bogons: [10.0.0.0/8, \"fc00::/7\"], v4: [192.0.2.0/24], v6: [\"2001:db8::/32\"], none: "
    "[]}\n"
    "policers: {pings: {rate: 1Mbps, burst: 64kB}}\n";
const std::string kStatic = std::string("linux: off\nvrfs: {red: {table: 10}}\n") + kHead;

std::string with_rules(const std::string& rules) {
  return kHead + ("filters: {edge: {in: [wan0], rules: [" + rules + "]}}\n");
}
FilterRuleConfig rule_of(const std::string& yaml) {
  const Config config = good(with_rules(yaml));
  if (config.filters.filters.size() != 1 || config.filters.filters[0].rules.size() != 1) return {};
  return config.filters.filters[0].rules[0];
}
// What is said of the rule's key, without the line and the path to the rule.
std::string refusal(const std::string& yaml) {
  const std::string line = only(with_rules(yaml));
  constexpr std::string_view kPath = "t.yaml:6: filters.edge.rules[0]";
  return line.starts_with(kPath) ? line.substr(kPath.size()) : line;
}

TEST(Filters, AreWhatTheManualShows) {
  const Config config = good(
      "ports: {wan0: {device: eth1}}\n"
      "sets:     {bogons: [10.0.0.0/8, \"fc00::/7\"]}\n"
      "policers: {pings: {rate: 1Mbps, burst: 64kB}}\n"
      "filters:\n"
      "  edge:\n"
      "    in: [wan0]\n"
      "    otherwise: drop\n"
      "    rules:\n"
      "      - {name: spoofed, from: bogons, action: drop}\n"
      "      - {protocol: icmp, police: pings}\n"
      "      - {protocol: tcp, dport: [22, 179], from: 192.0.2.0/24}\n"
      "      - {protocol: tcp, tcp_flags: {ack: true, syn: false}}\n"
      "      - {fragments: later}\n");
  ASSERT_EQ(config.filters.filters.size(), 1u);
  const FilterConfig& edge = config.filters.filters[0];
  EXPECT_EQ(edge.in, Lines{"wan0"});
  EXPECT_EQ(edge.otherwise, FilterVerdict::kDrop);
  ASSERT_EQ(edge.rules.size(), 5u);
  EXPECT_EQ(edge.rules[0].from.set, "bogons");
  EXPECT_EQ(edge.rules[0].verdict, FilterVerdict::kDrop);
  EXPECT_EQ(edge.rules[1].protocol, 1);
  EXPECT_EQ(edge.rules[1].police, "pings");
  EXPECT_EQ(edge.rules[2].destinations, (std::vector<PortSpan>{{22, 22}, {179, 179}}));
  EXPECT_EQ(edge.rules[3].tcp_mask, 0x12);
  EXPECT_EQ(edge.rules[3].tcp_set, 0x10);
  EXPECT_EQ(edge.rules[4].fragments, FragmentMatch::kLater);
  EXPECT_EQ(name_of(edge, 0), "spoofed");
  EXPECT_EQ(name_of(edge, 4), "5");
  const PolicerConfig& pings = config.filters.policers[0];
  EXPECT_EQ(pings.rate_bps, 1'000'000u);
  EXPECT_EQ(pings.burst_bytes, 64'000u);
  EXPECT_EQ(pings.meter(), Meter::kSingleRate);
}

TEST(Filters, ReadBackAsTheyArePrinted) {
  const Config config = good(
      kStatic +
      "  \n"
      "filters:\n"
      "  edge:\n"
      "    {in: [wan0, wan0.7], vrfs: [red], otherwise: reject, rules: "
      "[\n"
      "    {name: all-of-it, family: ipv4, from: v4, to: 10.1.0.0/16, protocol: udp, sport: [1, "
      "5-9],\n"
      "     dport: 0-65535, fragments: none, dscp: af11, length: 100-200, iif: wan0.7, vlan: [7, "
      "100-200], mark: 7,\n"
      "     police: pings, set_mark: 0, set_dscp: 0, vrf: red, log: true, sample: 100, mirror: "
      "lan0},\n"
      "    {protocol: tcp, tcp_flags: {cwr: false, fin: true}, table: 77},\n"
      "    {protocol: icmp, icmp_type: unreachable},\n"
      "    {family: ipv4, protocol: icmp, icmp_type: unreachable, icmp_code: 1-4},\n"
      "    {family: ipv6, protocol: icmp, icmp_type: 200-255},\n"
      "    {protocol: icmpv6, icmp_type: 1, icmp_code: 0},\n"
      "    {protocol: icmp, icmp_type: packet-too-big},\n"
      "    {protocol: icmp, icmp_type: timestamp-request},\n"
      "    {dscp: 63, table: main}, {from: any, to: any, protocol: any}]}\n"
      "  nowhere: {}\n"
      "  behind: {out: [lan0], local: true, rules: [{protocol: tcp, vlan: 7}]}\n");
  const std::string yaml = to_yaml(config);
  const Config again = good(yaml);
  EXPECT_EQ(again, config) << yaml;
  for (const char* line :
       {"  v4: [192.0.2.0/24]\n", "  pings: {rate: 1Mbps, burst: 64000}\n",
        "    in: [wan0, wan0.7]\n", "    rules:\n    - {name: all-of-it, family: ipv4, from: v4, ",
        "sport: [1, 5-9], dport: 0-65535, fragments: none, dscp: af11, length: 100-200, ",
        "set_mark: 0, set_dscp: cs0, vrf: red, log: true, sample: 100, mirror: lan0}\n",
        "tcp_flags: {fin: true, cwr: false}, table: 77}\n",
        "    - {protocol: icmp, icmp_type: unreachable}\n",
        "    - {family: ipv6, protocol: icmp, icmp_type: packet-too-big}\n",
        "    - {family: ipv4, protocol: icmp, icmp_type: timestamp-request}\n",
        "    - {protocol: icmp6, icmp_type: unreachable, icmp_code: 0}\n",
        "    - {dscp: 63, table: main}\n    - {}\n", "  nowhere:\n",
        "iif: wan0.7, vlan: [7, 100-200], mark: 7, ", "{protocol: tcp, vlan: 7}\n"})
    EXPECT_NE(yaml.find(line), std::string::npos) << line << yaml;
}

TEST(Filters, TypesOfIcmpAreThoseOfTheFamily) {
  const auto type = [](const std::string& rest) {
    const FilterRuleConfig rule = rule_of("{protocol: icmp, " + rest + "}");
    return std::tuple(rule.icmp_type ? rule.icmp_type->first : 999, rule.icmp_both, rule.family);
  };
  EXPECT_EQ(type("icmp_type: echo-request"), std::tuple(8u, true, RuleFamily::kAuto));
  EXPECT_EQ(type("family: ipv6, icmp_type: echo-request"),
            std::tuple(128u, false, RuleFamily::kIpv6));
  EXPECT_EQ(type("to: 10.0.0.0/8, icmp_type: redirect"), std::tuple(5u, false, RuleFamily::kAuto));
  EXPECT_EQ(type("to: \"fc00::/7\", icmp_type: redirect"),
            std::tuple(137u, false, RuleFamily::kAuto));
  EXPECT_EQ(type("icmp_type: neighbor-solicit"), std::tuple(135u, false, RuleFamily::kIpv6));
  EXPECT_EQ(type("family: ipv4, icmp_type: 8"), std::tuple(8u, false, RuleFamily::kIpv4));
  EXPECT_EQ(type("from: v4, icmp_type: echo-request"), std::tuple(8u, true, RuleFamily::kAuto))
      << "the set may have others tomorrow";
  EXPECT_EQ(icmp6_type_of(8), 128);
  EXPECT_EQ(icmp6_type_of(13), std::nullopt);
}

TEST(Filters, AreOfTheFamiliesThatTheyAskFor) {
  const auto families = [](const std::string& yaml) {
    const FilterRuleConfig rule = rule_of(yaml);
    return std::pair(rule.holds_for(Family::kIpv4), rule.holds_for(Family::kIpv6));
  };
  EXPECT_EQ(families("{}"), std::pair(true, true));
  EXPECT_EQ(families("{protocol: 1}"), std::pair(true, true));
  EXPECT_EQ(families("{protocol: 58}"), std::pair(false, true));
  EXPECT_EQ(families("{to: 10.0.0.0/8}"), std::pair(true, false));
  EXPECT_EQ(families("{family: ipv6}"), std::pair(false, true));
}

struct Refused {
  const char* rule;
  const char* problem;  // behind the path of the rule
};
class FiltersRefuse : public testing::TestWithParam<Refused> {};
TEST_P(FiltersRefuse, WithKeySeenAndRight) {
  EXPECT_EQ(refusal(GetParam().rule), GetParam().problem) << GetParam().rule;
}

INSTANTIATE_TEST_SUITE_P(
    Ends, FiltersRefuse,
    testing::Values(
        Refused{"{from: bogon}", ".from: bogon is no set of this file; did you mean bogons?"},
        Refused{"{to: whatever}", ".to: whatever is no set of this file; use bogons, none, v4, v6"},
        Refused{"{from: 10.0.0.1/8}",
                ".from: 10.0.0.1/8 has bits behind its length; use "
                "10.0.0.0/8"},
        Refused{"{from: 300.0.0.0/8}",
                ".from: 300.0.0.0/8 is not a prefix; use one as 10.1.0.0/16 or 2001:db8::/32"},
        Refused{"{from: [10.0.0.0/8]}",
                ".from: a list where a text is needed; use a prefix, as 10.1.0.0/16"},
        Refused{"{from: 10.0.0.0/8, to: \"2001:db8::/32\"}",
                ".to: \"2001:db8::/32\" is IPv6, and by from the rule is IPv4's; use one family"},
        Refused{"{family: ipv6, from: 10.0.0.0/8}",
                ".from: 10.0.0.0/8 is IPv4, and by family the rule is IPv6's; use one family"},
        Refused{"{family: ipv6, from: v4}",
                ".from: v4 is IPv4, and by family the rule is IPv6's; use one family"},
        Refused{"{from: v4, to: v6}",
                ".to: v6 is IPv6, and by from the rule is IPv4's; use one family"},
        Refused{"{from: v4, protocol: icmpv6}",
                ".from: v4 is IPv4, and by protocol the rule is IPv6's; use one family"},
        Refused{"{to: 10.0.0.0/8, protocol: 58}",
                ".protocol: 58 is IPv6, and by to the rule is IPv4's; use one family"}));

INSTANTIATE_TEST_SUITE_P(
    Ports, FiltersRefuse,
    testing::Values(
        Refused{"{dport: 22}",
                ".dport: ports need the protocol; add protocol: tcp, udp, sctp, dccp or udplite"},
        Refused{"{protocol: gre, sport: 22}",
                ".sport: ports are of protocol tcp, udp, sctp, dccp or udplite; use one of these"},
        Refused{"{protocol: tpc, dport: 22}",
                ".protocol: tpc is no protocol; use tcp, udp, icmp, icmpv6, sctp, gre, esp or "
                "another's number, 1 to 255"},
        Refused{"{protocol: 0}",
                ".protocol: 0 is no protocol; use tcp, udp, icmp, icmpv6, sctp, gre, esp or "
                "another's number, 1 to 255"},
        Refused{"{protocol: 256}",
                ".protocol: 256 is no protocol; use tcp, udp, icmp, icmpv6, sctp, gre, esp or "
                "another's number, 1 to 255"},
        Refused{"{protocol: tcp, dport: ssh}",
                ".dport: ssh is no port; use 0 to 65535, or a range as 1000-2000"},
        Refused{"{protocol: tcp, dport: 65536}",
                ".dport: 65536 is no port; use 0 to 65535, or a range as 1000-2000"},
        Refused{"{protocol: tcp, dport: -1}",
                ".dport: -1 is no port; use 0 to 65535, or a range as 1000-2000"},
        Refused{"{protocol: tcp, dport: 9-3}", ".dport: 9-3 ends before it begins; use 3-9"},
        Refused{"{protocol: tcp, dport: [22, 20-25]}",
                ".dport[1]: 20-25 has ports that this list has already; name each once"},
        Refused{"{protocol: tcp, dport: []}", ".dport: no port; name at least one"},
        Refused{"{protocol: udp, tcp_flags: {syn: true}}",
                ".tcp_flags: flags are of protocol tcp; use that one"},
        Refused{"{tcp_flags: {syn: true}}", ".tcp_flags: needs the protocol; add protocol: tcp"},
        Refused{"{protocol: tcp, tcp_flags: {sin: true}}",
                ".tcp_flags.sin: unknown key; did you mean fin?"},
        Refused{"{protocol: tcp, tcp_flags: {}}",
                ".tcp_flags: no flag; name at least one, as {syn: true, ack: false}"},
        Refused{"{protocol: tcp, tcp_flags: syn}",
                ".tcp_flags: syn where a map is needed; use flags, as {syn: true, ack: false}"}));

INSTANTIATE_TEST_SUITE_P(
    Icmp, FiltersRefuse,
    testing::Values(
        Refused{"{icmp_type: echo-request}",
                ".icmp_type: needs the protocol; add protocol: icmp or icmpv6"},
        Refused{"{protocol: tcp, icmp_type: echo-request}",
                ".icmp_type: needs the protocol; add protocol: icmp or icmpv6"},
        Refused{"{protocol: icmp, icmp_type: 8}",
                ".icmp_type: 8 is another type in each family; add family: ipv4 or ipv6, or use a "
                "word, as echo-request"},
        Refused{"{protocol: icmp, icmp_type: echo}",
                ".icmp_type: echo is no type of ICMP; use echo-request, echo-reply, unreachable, "
                "time-exceeded, parameter-problem, redirect, packet-too-big, "
                "neighbor-solicitation or another, or 0 to 255"},
        Refused{"{family: ipv4, protocol: icmp, icmp_type: packet-too-big}",
                ".icmp_type: packet-too-big is IPv6, and by family the rule is IPv4's; use one "
                "family"},
        Refused{"{family: ipv4, protocol: icmp, icmp_type: 256}",
                ".icmp_type: 256 is no type of ICMP; use 0 to 255, or a range as 3-5"},
        Refused{"{protocol: icmp, icmp_code: 3}",
                ".icmp_code: needs the type; add icmp_type, as icmp_type: unreachable"},
        Refused{"{protocol: icmp, icmp_type: unreachable, icmp_code: 4}",
                ".icmp_code: 4 is another code in each family; add family: ipv4 or ipv6"},
        Refused{"{family: ipv4, protocol: icmp, icmp_type: 3-5, icmp_code: 4}",
                ".icmp_code: is of one type, and there are several; use one icmp_type"},
        Refused{"{from: v4, protocol: icmp, icmp_type: packet-too-big}",
                ".from: v4 is IPv4, and by icmp_type the rule is IPv6's; use one family"}));

INSTANTIATE_TEST_SUITE_P(
    Others, FiltersRefuse,
    testing::Values(
        Refused{"{dscp: 64}", ".dscp: 64 is no DSCP; use 0 to 63, or ef, af11 to af43, cs0 to cs7"},
        Refused{"{dscp: af14}",
                ".dscp: af14 is no DSCP; use 0 to 63, or ef, af11 to af43, cs0 to cs7"},
        Refused{"{length: 65536}",
                ".length: 65536 is no length; use 0 to 65535, or a range as 1000-2000"},
        Refused{"{fragments: all}",
                ".fragments: all is not known; use any, none, first, later or fragment"},
        Refused{"{action: deny}", ".action: deny is not known; use accept, drop or reject"},
        Refused{"{police: ping}", ".police: ping is no policer of this file; did you mean pings?"},
        Refused{"{mirror: lan1}", ".mirror: lan1 is no port of this file; did you mean lan0?"},
        Refused{"{mirror: wan0.7}", ".mirror: wan0.7 is no port of this file; did you mean wan0?"},
        Refused{"{sample: 0}", ".sample: 0 is out of range; use 1 to 16777216"},
        Refused{"{mark: 4294967296}", ".mark: 4294967296 is out of range; use 0 to 4294967295"},
        Refused{"{action: drop, set_mark: 1}",
                ".set_mark: does nothing with action: drop; take one of both out"},
        Refused{"{action: reject, police: pings}",
                ".police: does nothing with action: reject; take one of both out"},
        Refused{"{vlan: 4095}", ".vlan: 4095 is no VLAN; use 1 to 4094, or a range as 1000-2000"},
        Refused{"{vlan: [7, 7]}",
                ".vlan[1]: 7 has VLANs that this list has already; name each once"},
        Refused{"{table: 5, vrf: red}", ".vrf: stands beside table; use one of them"},
        Refused{"{table: 255}",
                ".table: 255 is the local table, which has no routes of the file; use main or "
                "another"},
        Refused{"{iif: \"wan 0\"}",
                ".iif: \"wan 0\" is no interface's name; use at most 15 "
                "letters, digits and - _ ."},
        Refused{"{name: 7}",
                ".name: 7 is not a rule's name; use at most 63 letters, digits, - and "
                "_, a letter first"},
        Refused{"{name: any}",
                ".name: any is not a rule's name; use at most 63 letters, digits, - "
                "and _, a letter first"},
        Refused{"{form: bogons}", ".form: unknown key; did you mean from?"},
        Refused{"drop",
                ": drop where a map is needed; use a map, as {from: 10.0.0.0/8, action: "
                "drop}"}));

TEST(Filters, OfASetWithoutPrefixesAreOfAnyFamily) {
  rule_of("{family: ipv6, from: none, to: v6}");
}

TEST(Filters, HaveNamesOnceEach) {
  EXPECT_EQ(only(with_rules("{name: a},\n {name: b}, {name: a}")),
            "t.yaml:7: filters.edge.rules[2]: the name a is that of the rule on line 6 already; "
            "use another");
  EXPECT_EQ(only(std::string(kHead) + "filters: {1st: {}}"),
            "t.yaml:6: filters.1st: not a filter's name; use at most 63 letters, digits, - and _, "
            "a letter first");
  EXPECT_EQ(only(std::string(kHead) + "filters: {a: {}, a: {}}"),
            "t.yaml:6: filters.a: here again, first on line 6; keep one");
  good(std::string(kHead) + "filters: {" + std::string(63, 'a') + ": {}}");
  EXPECT_NE(only(std::string(kHead) + "filters: {" + std::string(64, 'a') + ": {}}")
                .find("not a filter's name"),
            std::string::npos);
}

TEST(Filters, AreOneAtEachPlace) {
  const std::string head = kHead;
  EXPECT_EQ(only(head + "filters: {a: {in: [wan0]}, b: {in: [lan0, wan0]}}"),
            "t.yaml:6: filters.b.in[1]: filter a has wan0 among its in already, and each packet "
            "meets one there; put the rules of both into one");
  EXPECT_EQ(only(head + "filters: {a: {in: [wan0, wan0]}}"),
            "t.yaml:6: filters.a.in[1]: wan0 is named twice; name it once");
  EXPECT_EQ(only(head + "filters: {a: {local: true}, b: {local: true}}"),
            "t.yaml:6: filters.b.local: filter a is the one of local already, and each packet "
            "meets one there; put the rules of both into one");
  EXPECT_EQ(only(head + "filters: {a: {vrfs: [red]}, b: {vrfs: [red]}}"),
            "t.yaml:6: filters.b.vrfs[0]: filter a has red among its vrfs already, and each packet "
            "meets one there; put the rules of both into one");
  good(head + "filters: {a: {in: [wan0], out: [wan0]}, b: {in: [lan0], local: false}}");
}

TEST(Filters, NameInterfacesThatLinuxMayMakeAndWithoutItThoseOfTheFile) {
  good(std::string(kHead) +
       "filters: {a: {in: [wan0.77, br0], vrfs: [blue], rules: [{iif: ppp0, "
       "vrf: blue}]}}");
  EXPECT_EQ(only(kStatic + "filters: {a: {in: [wan0.8]}}"),
            "t.yaml:8: filters.a.in[0]: wan0.8 is no interface of this file; did you mean wan0.7?");
  EXPECT_EQ(only(kStatic + "filters: {a: {vrfs: [rde]}}"),
            "t.yaml:8: filters.a.vrfs[0]: rde is no VRF of this file; did you mean red?");
  EXPECT_EQ(only(kStatic + "filters: {a: {rules: [{iif: ppp0}]}}"),
            "t.yaml:8: filters.a.rules[0].iif: ppp0 is no interface of this file; use lan0, wan0, "
            "wan0.7");
  const Config config = good(kStatic + "filters: {a: {rules: [{vrf: red}]}}");
  EXPECT_EQ(config.filters.filters[0].rules[0].table, 10u);
}

TEST(Filters, AreBounded) {
  std::string many = "filters: {";
  for (size_t i = 0; i <= kMostFilters; ++i) many += fmt::format("f{}: {{}}, ", i);
  EXPECT_EQ(only(kHead + many + "}"), "t.yaml:6: filters: 256 of them; use at most 254");
  std::string ports;
  for (size_t i = 0; i <= kMostPortSpans; ++i) ports += fmt::format("{},", i);
  EXPECT_EQ(refusal("{protocol: tcp, dport: [" + ports + "]}"),
            ".dport: 129 of them; use at most 128");
  ports =
      "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,"
      "62,64";
  EXPECT_EQ(refusal("{protocol: tcp, sport: [" + ports + "], dport: [" + ports + "]}"),
            ".dport: 1089 pairs with sport; use at most 1024");
}

TEST(Filters, ThatAreAllWrongAreRefusedQuickly) {
  std::string rules;
  for (int i = 0; i < 50000; ++i) rules += "{from: nonsense, police: nothing, iif: \"*\"},";
  const Problems problems = bad(with_rules(rules));
  EXPECT_EQ(problems.size(), kMaxProblems + 1);
  EXPECT_EQ(problems.back(), "t.yaml: and 149900 more problems");
}

Difference reloaded(const std::string& running, const std::string& wanted) {
  auto difference = diff(good(running), good(wanted));
  if (difference) return *difference;
  ADD_FAILURE() << difference.error()[0];
  return {};
}

TEST(Filters, DiffTellsWhatAReloadDoes) {
  const auto d = reloaded(
      with_rules("{name: a, from: bogons}, {protocol: tcp}, {protocol: udp}"),
      "ports:\n"
      "  wan0: {device: eth1, addresses: [192.0.2.1/24], vlans: {7: {}}}\n"
      "  lan0: {device: eth2, addresses: [198.51.100.1/24]}\n"
      "sets: {bogons: [10.0.0.0/7], v4: [192.0.2.0/24], none: [], more: [10.0.0.0/8, 11.0.0.0/8]}\n"
      "policers: {pings: {rate: 2Mbps, burst: 64kB}, acks: {rate: 1Gbps, burst: 1MB}}\n"
      "filters: {edge: {in: [wan0], otherwise: drop, rules: [{name: a, from: bogons}, {protocol: "
      "gre}, {protocol: udp}]}, new: {local: true, rules: [{}]}}\n");
  EXPECT_TRUE(d.filters_changed);
  EXPECT_EQ(
      d.lines,
      (Lines{"- set v6", "~ set bogons: - 10.0.0.0/8, - fc00::/7, + 10.0.0.0/7",
             "+ set more: 2 prefixes",
             "~ policer pings: {rate: 1Mbps, burst: 64000} -> {rate: 2Mbps, burst: 64000}",
             "+ policer acks: {rate: 1Gbps, burst: 1000000}",
             "~ filter edge: {in: [wan0], otherwise: accept} -> {in: [wan0], otherwise: drop}",
             "- filter edge rule {protocol: tcp}", "+ filter edge rule {protocol: gre}",
             "+ filter new: 1 rule, {local: true, otherwise: accept}"}));
}

TEST(Filters, DiffTellsAnotherOrderAndCountsManyRules) {
  EXPECT_EQ(reloaded(with_rules("{protocol: tcp}, {protocol: udp}"),
                     with_rules("{protocol: udp}, {protocol: tcp}"))
                .lines,
            Lines{"~ filter edge: order of rules"});
  EXPECT_EQ(reloaded(std::string(kHead) + "filters: {a: {}, b: {}}",
                     std::string(kHead) + "filters: {b: {}, a: {}}")
                .lines,
            Lines{"~ filters: order of filters, sets or policers"});
  std::string rules;
  for (int i = 0; i < 30; ++i) rules += fmt::format("{{mark: {}}},", i);
  const auto d = reloaded(with_rules("{protocol: tcp}"), with_rules(rules));
  ASSERT_EQ(d.lines.size(), 21u);
  EXPECT_EQ(d.lines.back(), "~ filter edge: and 11 rules more");
  EXPECT_FALSE(reloaded(with_rules(rules), with_rules(rules)).filters_changed);
}

}  // namespace
}  // namespace hecto::config
