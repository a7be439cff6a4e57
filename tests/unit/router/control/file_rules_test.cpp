// VRFs and policy rules of the file, in static mode: what becomes of them at a start and by reloads.
#include "router/control/file_rules.hpp"

#include "router/rib/rule_table.hpp"
#include "router/rib/rule_text.hpp"
#include "tests/unit/router/control/reload_files.hpp"

namespace hecto::router::test {
namespace {

const std::string kTwo =
    "linux: off\nworkers: {0: [1, 2]}\n"
    "vrfs: {red: {table: 10}, blue: {table: 20}}\n";
const std::string kRedPorts =
    "ports:\n"
    "  r0: {device: e0, vrf: red, addresses: [10.0.0.1/24]}\n"
    "  r1: {device: e1, vrf: red, addresses: [10.0.1.1/24, \"fd00:1::1/64\"]}\n";
const std::string kBluePorts =
    "  b0: {device: e2, vrf: blue, addresses: [10.0.0.1/24]}\n"
    "  b1: {device: e3, vlans: {7: {vrf: blue, addresses: [10.0.1.1/24]}}}\n";
const std::string kOutside = "  m0: {device: e4, addresses: [192.0.2.1/24]}\n";
const std::string kRoutesOfTwo =
    "neighbors:\n"
    "  - {address: 10.0.1.9, interface: r1, mac: \"02:00:00:00:01:09\"}\n"
    "  - {address: 10.0.1.9, interface: b1.7, mac: \"02:00:00:00:02:09\"}\n"
    "routes:\n"
    "  - {to: 0.0.0.0/0, vrf: red, via: 10.0.1.9}\n"
    "  - {to: 0.0.0.0/0, vrf: blue, via: 10.0.1.9}\n"
    "  - {to: 203.0.113.0/24, table: 30, via: 192.0.2.9}\n";
const std::string kCustomers = kTwo + kRedPorts + kBluePorts + kOutside + kRoutesOfTwo;

std::vector<std::string> in_words(const std::vector<PolicyRule>& rules, Family family) {
  std::vector<std::string> lines;
  for (const PolicyRule& rule : rules)
    if (rule.family == family)
      lines.push_back(fmt::format("{}: {}", rule.priority, to_string(rule)));
  return lines;
}

// Where packets that a table is asked for go: an interface, or a reason.
std::string way_in(ControlBed& bed, uint32_t table, const std::string& address) {
  bed.routing.commit();
  const Explanation e = bed.routing.explain(ip(address), table);
  if (!e.group) return "no_route";
  const lookup::NextHopRecord& record = e.group->record;
  if (record.kind != lookup::RecordKind::kForward)
    return std::string(info(static_cast<Reason>(record.reason)).name);
  return e.group->members.front().next_hop.interface_name;
}

TEST(FileRules, AreLinuxsWithThoseOfTheFileBetween) {
  const config::Config config = read(
      kTwo + kRedPorts + kOutside +
      "rules:\n"
      "  - {priority: 300, from: 10.0.0.0/8, not: true, dscp: 46, iif: red, ipproto: udp, sport: "
      "53, dport: 1000-2000, vrf: blue}\n"
      "  - {priority: 200, to: \"::/0\", goto: 32766}\n"
      "  - {priority: 40000, action: prohibit}\n");
  const auto rules = rules_of_file(config, true);
  EXPECT_EQ(in_words(rules, Family::kIpv4),
            (Said{"300: not from 10.0.0.0/8 dscp 46 iif red ipproto 17 sport 53 dport 1000-2000 "
                  "lookup 20",
                  "1000: from all lookup [l3mdev-table]",
                  "2000: from all lookup [l3mdev-table] unreachable",
                  "32765: from all lookup local", "32766: from all lookup main",
                  "32767: from all lookup default", "40000: from all prohibit"}));
  EXPECT_EQ(
      in_words(rules, Family::kIpv6),
      (Said{"200: from all goto 32766", "1000: from all lookup [l3mdev-table]",
            "2000: from all lookup [l3mdev-table] unreachable", "32765: from all lookup local",
            "32766: from all lookup main", "40000: from all prohibit"}));
}

TEST(FileRules, WithoutAnyThereAreNone) {
  const config::Config config = read("linux: off\nports: {m0: {device: e4}}\n");
  EXPECT_TRUE(rules_of_file(config, false).empty());
  const auto bed = std::make_unique<ControlBed>("linux: off\nports: {m0: {device: e4}}\n");
  ASSERT_TRUE(bed->start());
  EXPECT_EQ(bed->count("no rules"), 0u);
  EXPECT_FALSE(bed->rules.any());
}

TEST(FileRules, OneFamilysLeaveTheOtherAlone) {
  const auto bed = ControlBed::started(
      "linux: off\nports: {m0: {device: e4}}\n"
      "rules: [{priority: 5, from: 10.0.0.0/8, table: 7}]\n");
  ASSERT_TRUE(bed->plane.rules);
  EXPECT_TRUE(bed->plane.rules->ipv4);
  EXPECT_FALSE(bed->plane.rules->ipv6);
  EXPECT_TRUE(bed->rules.lines().empty()) << "there is no Linux that would forward anything";
}

TEST(FileRules, VrfsHaveTheSameAddressesApart) {
  ControlBed bed(kCustomers);
  ASSERT_TRUE(bed.start());
  EXPECT_LT(bed.at("rules"), bed.at("publish")) << "or their packets would be main's";
  EXPECT_EQ(way_in(bed, 10, "8.8.8.8"), "r1");
  EXPECT_EQ(way_in(bed, 20, "8.8.8.8"), "b1.7");
  EXPECT_EQ(way_in(bed, 10, "10.0.1.9"), "r1") << "the neighbor's own route";
  EXPECT_EQ(way_in(bed, 20, "10.0.1.9"), "b1.7");
  EXPECT_EQ(way_in(bed, 10, "10.0.0.1"), "local");
  EXPECT_EQ(way_in(bed, 10, "10.0.0.5"), "glean");
  EXPECT_EQ(way_in(bed, 10, "fd00:1::1"), "local");
  EXPECT_EQ(way_in(bed, 20, "fd00:1::1"), "no_route");
  EXPECT_EQ(way_in(bed, 10, "192.0.2.5"), "r1") << "main's networks are its own";
  EXPECT_EQ(bed.way("10.0.0.1"), "no_route");
  EXPECT_EQ(bed.way("192.0.2.5"), "glean");
  EXPECT_EQ(way_in(bed, 30, "203.0.113.5"), "glean");
  EXPECT_EQ(bed.routing.interfaces().vrf_of(bed.interface("b1.7")), (Vrf{"blue", 20}));
}

TEST(FileRules, APortComesIntoAVrfByAReload) {
  const auto bed = ControlBed::started(kTwo + kRedPorts + kOutside);
  const auto lines = reload(bed->parts(), read(kCustomers));
  ASSERT_TRUE(lines) << lines.error()[0];
  EXPECT_LT(bed->at("add port b0"), bed->at("rules"));
  EXPECT_LT(bed->at("rules"), bed->at("publish"));
  EXPECT_EQ(way_in(*bed, 20, "8.8.8.8"), "b1.7");
  EXPECT_EQ(way_in(*bed, 10, "8.8.8.8"), "r1");
}

TEST(FileRules, APortLeavesItsVrfByAReload) {
  const auto bed = ControlBed::started(kCustomers);
  std::string out = kTwo + kBluePorts + kOutside + kRoutesOfTwo;
  out = out.replace(out.find("  b0"), 0,
                    "ports:\n  r0: {device: e0, addresses: [10.0.0.1/24]}\n"
                    "  r1: {device: e1, vrf: red, addresses: [10.0.1.1/24]}\n");
  const auto lines = reload(bed->parts(), read(out));
  ASSERT_TRUE(lines) << lines.error()[0];
  EXPECT_EQ(*lines, (Lines{"~ port r0: vrf red -> none", "~ port r1: - address fd00:1::1/64"}));
  EXPECT_EQ(way_in(*bed, 10, "10.0.0.1"), "r1") << "by the VRF's default route";
  EXPECT_EQ(bed->way("10.0.0.1"), "local");
  EXPECT_EQ(way_in(*bed, 20, "10.0.0.1"), "local");
  EXPECT_EQ(bed->count("rules"), 1u);
}

TEST(FileRules, AVrfGetsAnotherTableByAReload) {
  const auto bed = ControlBed::started(kCustomers);
  std::string other = kCustomers;
  other.replace(other.find("table: 10"), 9, "table: 11");
  const auto lines = reload(bed->parts(), read(other));
  ASSERT_TRUE(lines) << lines.error()[0];
  EXPECT_EQ(way_in(*bed, 11, "8.8.8.8"), "r1");
  EXPECT_EQ(way_in(*bed, 11, "10.0.0.1"), "local");
  EXPECT_EQ(way_in(*bed, 10, "8.8.8.8"), "no_route");
  EXPECT_EQ(way_in(*bed, 10, "10.0.0.1"), "no_route");
}

TEST(FileRules, TheLastVrfTakesItsRulesWithIt) {
  const auto bed = ControlBed::started(kTwo + kRedPorts + kOutside);
  const auto lines =
      reload(bed->parts(), read("linux: off\nworkers: {0: [1, 2]}\nports:\n" + kOutside));
  ASSERT_TRUE(lines) << lines.error()[0];
  EXPECT_EQ(bed->said.back(), "publish");
  EXPECT_LT(bed->at("remove port r1"), bed->at("no rules"))
      << "while there are interfaces in VRFs the rule of VRFs stays";
  EXPECT_TRUE(bed->routing.rules().rules().empty());
}

TEST(FileRules, ARefusedReloadPutsRulesAndVrfsBack) {
  std::string wanted = kTwo + kRedPorts + kOutside + "rules: [{priority: 5, action: blackhole}]\n" +
                       "routes: [{to: 0.0.0.0/0, vrf: red, via: 10.0.1.9}]\n";
  wanted.replace(wanted.find("r0: {device: e0, vrf: red"), 25, "r0: {device: e0, vrf: blue");
  for (size_t failing = 0;; ++failing) {
    const auto bed = ControlBed::started(kTwo + kRedPorts + kOutside);
    const std::vector<PolicyRule> rules = bed->routing.rules().rules();
    size_t step = 0;
    bool failed = false;
    const auto done = reload(bed->parts(), read(wanted), [&](const std::string&) -> Result<void> {
      if (step++ != failing) return {};
      failed = true;
      return fail("forced");
    });
    if (!failed) {
      ASSERT_TRUE(done) << done.error()[0];
      EXPECT_NE(bed->routing.rules().rules(), rules);
      EXPECT_EQ(way_in(*bed, 20, "10.0.0.1"), "local");
      EXPECT_GE(failing, 4u);
      return;
    }
    ASSERT_FALSE(done);
    EXPECT_EQ(bed->routing.rules().rules(), rules) << failing;
    EXPECT_EQ(way_in(*bed, 10, "10.0.0.1"), "local") << failing;
    EXPECT_EQ(way_in(*bed, 20, "10.0.0.1"), "no_route") << failing;
  }
}

TEST(FileRules, ATableWithoutRoomIsRefused) {
  const auto bed = ControlBed::started(kTwo + kRedPorts + kOutside);  // seven beside main
  std::string wanted = kTwo + kRedPorts + kOutside;
  wanted.replace(wanted.find("blue: {table: 20}"), 17, "blue: {table: 20}, v: {table: 100}");
  wanted += "  p0: {device: e9, vrf: v}\nroutes:\n";
  for (int table = 1; table < 8; ++table)
    wanted += fmt::format("  - {{to: 0.0.0.0/0, type: blackhole, table: {}}}\n", 300 + table);
  const auto refused = reload(bed->parts(), read(wanted));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error()[0].find("there is no room for table"), std::string::npos)
      << refused.error()[0];
  EXPECT_EQ(way_in(*bed, 10, "10.0.0.1"), "local");
}

// With a Linux side routes go into its tables; VRFs there are its own.
TEST(FileRules, RoutesOfTablesAreWrittenIntoLinux) {
  const auto bed = ControlBed::started(
      "ports: {m0: {device: e4, addresses: [192.0.2.1/24]}}\n"
      "routes: [{to: 203.0.113.0/24, table: 30, via: 192.0.2.9}]\n",
      true);
  EXPECT_EQ(way_in(*bed, 30, "203.0.113.5"), "glean");
  EXPECT_EQ(bed->way("203.0.113.5"), "no_route");
  EXPECT_FALSE(bed->rules.any());
}

}  // namespace
}  // namespace hecto::router::test
