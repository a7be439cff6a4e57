// What is legal in filters and does nothing.
#include "config/file/filter_check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

using Lines = std::vector<std::string>;

Lines notes(const std::string& rest) {
  return check_filters(good(std::string(kPort) + rest));
}
// Of one filter that is applied and accepts all else.
Lines of_rules(const std::string& rules, const std::string& where = "in: [wan0]") {
  return notes("filters: {f: {" + where + ", rules: [" + rules + "]}}");
}

TEST(FilterCheck, IsSilentWhereAllIsWell) {
  EXPECT_EQ(check_filters(good(kPort)), Lines{});
  EXPECT_EQ(of_rules("{from: 10.0.0.0/8, action: drop}, {protocol: tcp, dport: 22}"), Lines{});
  const auto example = load(HECTO_SOURCE_ROOT "/config/examples/edge-filter.yaml");
  ASSERT_TRUE(example);
  EXPECT_EQ(check_filters(*example), Lines{});
}

TEST(FilterCheck, NamesWhatNothingUses) {
  EXPECT_EQ(
      notes("sets: {s: [10.0.0.0/8], e: [], u: [10.0.0.0/8]}\n"
            "policers: {p: {rate: 1Mbps, burst: 64kB}}\n"
            "filters: {f: {rules: [{from: e}, {to: u, action: drop}]}, g: {local: true}}"),
      (Lines{"sets.s: no rule names it", "sets.e: no prefixes, so rules that name it never hold",
             "policers.p: no rule names it",
             "filters.f: applied nowhere, so it judges nothing; add in, out, vrfs or local",
             "filters.g: no rules, and all else is accepted, so it does nothing"}));
}

TEST(FilterCheck, NamesRulesThatNeverHold) {
  EXPECT_EQ(
      of_rules("{name: all-tcp, protocol: tcp}, {name: ssh, protocol: tcp, dport: 22}"),
      Lines{"filters.f: rule 2 (ssh) never holds: rule 1 (all-tcp) holds for all that it asks "
            "for"});
  EXPECT_EQ(of_rules("{family: ipv4, protocol: tcp}, {family: ipv6, protocol: tcp}, {protocol: "
                     "tcp, dport: 22}"),
            Lines{"filters.f: rule 3 never holds: rule 1 and rule 2 hold together for all that it "
                  "asks for"});
  EXPECT_EQ(of_rules("{protocol: tcp, dport: 22, fragments: later}"),
            Lines{"filters.f: rule 1 never holds: fragments behind the first have no ports, flags "
                  "or ICMP type, and it asks for both"});
  EXPECT_EQ(of_rules("{length: 0-19}, {family: ipv6, length: 39}, {family: ipv6, length: 40}"),
            (Lines{"filters.f: rule 1 never holds: no IP packet is shorter than 20 bytes",
                   "filters.f: rule 2 never holds: no IPv6 packet is shorter than 40 bytes"}));
  EXPECT_EQ(
      of_rules("{iif: wan0, mark: 1}, {iif: lan0, mark: 2}"),
      (Lines{"filters.f: rule 2, iif: lan0 is no interface of this file (did you mean wan0?); "
             "until Linux makes it nothing comes of that",
             "filters.f: rule 2 never holds: it asks for iif lan0, and the filter is about "
             "what comes in by wan0"}));
  EXPECT_EQ(of_rules("{iif: wan0}", "out: [wan0]"), Lines{});
}

TEST(FilterCheck, NamesInterfacesThatAreNotInTheFile) {
  EXPECT_EQ(of_rules("{protocol: tcp}", "in: [wam0, br-lan]"),
            (Lines{"filters.f: in: wam0 is no interface of this file (did you mean wan0?); until "
                   "Linux makes it nothing comes of that",
                   "filters.f: in: br-lan is no interface of this file; until Linux makes it "
                   "nothing comes of that"}));
}

TEST(FilterCheck, NamesInterfacesOfPolicersThatAreNotInTheFile) {
  const auto lines = check_filters(
      good(std::string(kPort) + "policers: {p: {rate: 1Mbps, burst: 64kB, in: [wan0, wan1]}}"));
  EXPECT_EQ(lines, Lines{"policers.p: in: wan1 is no interface of this file (did you mean wan0?); "
                         "until Linux makes it nothing comes of that"});
}

TEST(FilterCheck, HasNothingToSayOfTablesThatAreDone) {
  EXPECT_EQ(of_rules("{protocol: tcp, table: 5}"), Lines{});
}

TEST(FilterCheck, NamesSamplesThatNobodyGetsAndMirrorsToTheSender) {
  EXPECT_EQ(
      of_rules("{protocol: tcp, sample: 100}, {protocol: udp, mirror: wan0, log: true}"),
      (Lines{"filters.f: rule 1: sample: sflow has no collectors, so nothing is sampled",
             "filters.f: rule 2: mirror: copies go back to wan0, where the packets come in"}));
  EXPECT_EQ(notes("sflow: {collectors: [192.0.2.5]}\n"
                  "filters: {f: {out: [wan0], rules: [{sample: 100, mirror: wan0}]}}"),
            Lines{});
}

TEST(FilterCheck, TellsOfFragmentsThatAreDropped) {
  const std::string drop = "in: [wan0], otherwise: drop";
  EXPECT_EQ(of_rules("{from: 10.0.0.0/8}, {name: web, protocol: tcp, dport: 443}", drop),
            Lines{"filters.f: rule 2 (web) accepts tcp by its ports, flags or type, and fragments "
                  "behind the first, which have none, are dropped by otherwise: drop; add "
                  "{fragments: later} to the rules, or fragments: none where that is meant"})
      << "what 10.0.0.0/8 may send is IPv4's alone";
  EXPECT_EQ(of_rules("{protocol: tcp, dport: 443}, {fragments: later}", drop), Lines{});
  EXPECT_EQ(of_rules("{protocol: tcp, dport: 443, fragments: none}", drop), Lines{});
  EXPECT_EQ(of_rules("{protocol: tcp, dport: 443}"), Lines{});
  EXPECT_EQ(of_rules("{protocol: icmpv6, icmp_type: 128}, {protocol: icmp}", drop), Lines{});
  EXPECT_EQ(of_rules("{protocol: tcp, dport: 22}, {protocol: udp, fragments: later}", drop).size(),
            1u);
}

TEST(FilterCheck, CountsWhatIsTooMuchToTell) {
  std::string rules = "{protocol: tcp},";
  for (int i = 0; i < 30; ++i) rules += fmt::format("{{protocol: tcp, dport: {}}},", i);
  const Lines lines = of_rules(rules);
  ASSERT_EQ(lines.size(), kMostFilterNotes + 1);
  EXPECT_EQ(lines.back(), "filters.f: and 10 more rules never hold, because of earlier ones");
}

}  // namespace
}  // namespace hecto::config
