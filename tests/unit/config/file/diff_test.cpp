#include "config/file/diff.hpp"

#include <gtest/gtest.h>

#include "config/file/keys.hpp"
#include "tests/beds/boxes.hpp"

namespace hecto::config {
namespace {

constexpr const char* kRunning = R"(
workers: {0: [2-5]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24], vlans: {7: {addresses: [10.7.0.1/24]}}}
  lan0: {device: eth2}
routes: [{to: 10.0.0.0/8, via: 192.0.2.9}]
)";

Difference applied(const std::string& before, const std::string& after) {
  auto difference = diff(read(before), read(after));
  EXPECT_TRUE(difference) << (difference ? "" : difference.error()[0]);
  return difference ? *difference : Difference{};
}

using Lines = std::vector<std::string>;

TEST(Diff, IsEmptyForTheSameFile) {
  EXPECT_TRUE(applied(kRunning, kRunning).empty());
}

TEST(Diff, FindsAddedAndRemovedPorts) {
  auto d = applied(kRunning, replaced(kRunning, "lan0: {device: eth2}", "lan1: {device: eth3}"));
  EXPECT_EQ(d.ports_removed, Lines{"lan0"});
  ASSERT_EQ(d.ports_added.size(), 1u);
  EXPECT_EQ(d.ports_added[0].device, "eth3");
  EXPECT_EQ(d.lines, (Lines{"- port lan0", "+ port lan1"}));
}

TEST(Diff, RefusesOtherMembersOfABondThatRuns) {
  const std::string before = "ports: {a: {bond: {members: [e, f]}}}";
  const auto other = diff(read(before), read("ports: {a: {bond: {members: [e, g]}}}"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(),
            Lines{"ports.a.bond: {mode: lacp, members: [e, f], hash: layer3+4, lacp_rate: slow, "
                  "min_links: 1} runs, {mode: lacp, members: [e, g], hash: layer3+4, lacp_rate: "
                  "slow, min_links: 1} is wanted, and this cannot change while running; restart "
                  "hectod, or reload once without a and then with it"});
  for (const char* keys : {"mode: balance-xor", "mode: active-backup, primary: f", "hash: layer2",
                           "lacp_rate: fast", "min_links: 2"}) {
    const auto changed = diff(
        read(before), read(std::string("ports: {a: {bond: {members: [e, f], ") + keys + "}}}"));
    ASSERT_FALSE(changed) << keys;
    EXPECT_EQ(changed.error().size(), 1u) << keys;
  }
  const auto taken = diff(read(before), read("ports: {b: {device: f}}"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(
      taken.error(),
      Lines{"ports.b.device: f is held by port a, and a port cannot be renamed while running; "
            "reload once without it"});
  EXPECT_TRUE(applied(before, before).empty());
}

TEST(Diff, TellsWhatChangesOnAPort) {
  auto d =
      applied(kRunning, replaced(kRunning, "lan0: {device: eth2}",
                                 "lan0: {device: eth2, mtu: 9000, counters: true, urpf: loose, "
                                 "promiscuous: true, addresses: [198.51.100.1/24]}"));
  ASSERT_EQ(d.ports_changed.size(), 1u);
  EXPECT_EQ(d.ports_changed[0].mtu, 9000);
  EXPECT_EQ(d.lines, Lines{"~ port lan0: mtu 1500 -> 9000, promiscuous false -> true, urpf off -> "
                           "loose, counters false -> true, + address 198.51.100.1/24"});
}

TEST(Diff, TellsWhatChangesOnVlans) {
  auto d = applied(kRunning, replaced(kRunning, "7: {addresses: [10.7.0.1/24]}",
                                      "7: {addresses: [10.7.0.2/24], mtu: 1400}, 8: {}"));
  EXPECT_EQ(d.lines, (Lines{"~ vlan wan0.7: mtu the port's -> 1400, - address 10.7.0.1/24, + "
                            "address 10.7.0.2/24",
                            "+ vlan wan0.8"}));
  d = applied(kRunning, replaced(kRunning, ", vlans: {7: {addresses: [10.7.0.1/24]}}", ""));
  EXPECT_EQ(d.lines, Lines{"- vlan wan0.7"});
  EXPECT_EQ(d.ports_changed.size(), 1u);
}

TEST(Diff, TellsWhatChangesOnVlansWithinVlans) {
  const std::string before =
      "ports: {a: {device: e, vlans: {7: {vlans: {8: {mtu: 1400}, 9: {}}}}}}";
  EXPECT_EQ(
      applied(before, "ports: {a: {device: e, vlans: {7: {vlans: {8: {urpf: loose}, 10: {}}}}}}")
          .lines,
      (Lines{"~ vlan a.7.8: mtu 1400 -> that of the VLAN it is in, urpf off -> loose",
             "+ vlan a.7.10", "- vlan a.7.9"}));
  const auto other = applied(before, replaced(before, "vlans: {8", "protocol: 802.1ad, vlans: {8"));
  EXPECT_EQ(other.lines, Lines{"~ vlan a.7: protocol 802.1q -> 802.1ad"});
  EXPECT_EQ(other.ports_changed.size(), 1u);
}

TEST(Diff, ReplacesAChangedRoute) {
  auto d = applied(kRunning, replaced(kRunning, "via: 192.0.2.9", "via: 192.0.2.8"));
  ASSERT_EQ(d.routes_removed.size(), 1u);
  ASSERT_EQ(d.routes_added.size(), 1u);
  EXPECT_EQ(d.routes_added[0].via[0].gateway, *IpAddress::parse("192.0.2.8"));
  EXPECT_EQ(d.lines, (Lines{"- route {to: 10.0.0.0/8, via: 192.0.2.9}",
                            "+ route {to: 10.0.0.0/8, via: 192.0.2.8}"}));
}

TEST(Diff, IgnoresTheOrderOfRoutes) {
  std::string a = "{to: 10.0.0.0/8, via: 192.0.2.9}", b = "{to: 11.0.0.0/8, via: 192.0.2.9}";
  EXPECT_TRUE(
      applied(replaced(kRunning, a, a + ", " + b), replaced(kRunning, a, b + ", " + a)).empty());
}

TEST(Diff, FindsNeighborsRouteFilesAndSettings) {
  auto d = applied(kRunning, std::string(kRunning) +
                                 "neighbors: [{address: 192.0.2.9, mac: \"02:00:00:00:00:09\"}]\n"
                                 "route_files: [/a]\npunt: {arp: 5, classes: {ttl: 7}, peers: "
                                 "[10.0.0.1]}\nidle: poll\nburst: 32\n"
                                 "log: {level: debug}\nwatchdog: {stuck_worker: restart}\n");
  EXPECT_EQ(d.neighbors_added.size(), 1u);
  EXPECT_EQ(d.route_files_added, Lines{"/a"});
  EXPECT_TRUE(d.punt_changed);
  EXPECT_TRUE(d.idle_changed);
  EXPECT_TRUE(d.burst_changed);
  EXPECT_TRUE(d.log_level_changed);
  EXPECT_EQ(
      d.lines,
      (Lines{"+ neighbor {address: 192.0.2.9, interface: wan0, mac: \"02:00:00:00:00:09\"}",
             "+ route_file /a", "~ punt arp: default -> 5pps", "~ punt class ttl: default -> 7pps",
             "~ punt peers: 0 -> 1", "~ idle: sleep -> poll", "~ burst: 64 -> 32",
             "~ log.level: info -> debug", "~ watchdog.stuck_worker: report -> restart"}));
}

TEST(Diff, FindsTheFlowTable) {
  const auto d = applied(
      kRunning, std::string(kRunning) + "flows: {interfaces: [wan0], entries: 5, miss: drop}\n");
  EXPECT_EQ(d.lines,
            Lines{"~ flows: interfaces [] -> [wan0], entries 1048576 -> 5, miss route -> drop"});
  EXPECT_TRUE(applied(kRunning, std::string(kRunning) + "flows: {miss: route}\n").empty());
}

TEST(Diff, FindsTheIdleModeOfOneCore) {
  const auto d = applied(kRunning, std::string(kRunning) + "idle: {2: poll}\n");
  EXPECT_TRUE(d.idle_changed);
  EXPECT_EQ(d.lines, Lines{"~ idle: sleep -> {2: poll, others: sleep}"});
}

struct RestartCase {
  const char* key;  // as the manual has it
  std::string wanted;
  const char* line;
};

// One change for each key that needs a restart.
std::vector<RestartCase> restart_cases() {
  const std::string base = kRunning;
  const std::string port = "lan0: {device: eth2}";
  auto global = [&](const std::string& line) { return base + line; };
  auto on_port = [&](const char* keys) {
    return replaced(base, port, std::string("lan0: {") + keys + "}");
  };
#define PORT_REMEDY "; restart hectod, or reload once without lan0 and then with it"
#define WANTED " is wanted, and this cannot change while running"
  return {
      {"workers", replaced(base, "{0: [2-5]}", "auto"),
       "workers: {0: [2-5]} runs, auto" WANTED "; restart hectod"},
      {"control_core", global("control_core: 1"),
       "control_core: auto runs, 1" WANTED "; restart hectod"},
      {"linux", global("linux: off"),
       "linux: {namespace: hecto, mirror: [addresses, routes, neighbors, ipsec]} runs, off" WANTED
       "; restart hectod"},
      {"linux.namespace", global("linux: {namespace: blue}"),
       "linux.namespace: hecto runs, blue" WANTED "; restart hectod"},
      {"linux.mirror", global("linux: {mirror: [routes]}"),
       "linux: {namespace: hecto, mirror: [addresses, routes, neighbors, ipsec]} runs, {namespace: "
       "hecto, "
       "mirror: [routes]}" WANTED "; restart hectod"},
      {"spare_mbufs", global("spare_mbufs: 9"), "spare_mbufs: 0 runs, 9" WANTED "; restart hectod"},
      {"tables", global("tables: {groups: 32}"),
       "tables.groups: 16384 runs, 32" WANTED "; restart hectod"},
      {"tables.groups", global("tables: {groups: 32}"),
       "tables.groups: 16384 runs, 32" WANTED "; restart hectod"},
      {"tables.bridge_stations", global("tables: {bridge_stations: 64}"),
       "tables.bridge_stations: 65536 runs, 64" WANTED "; restart hectod"},
      {"tables.bridge_stations_per_port", global("tables: {bridge_stations_per_port: 16}"),
       "tables.bridge_stations_per_port: 16384 runs, 16" WANTED "; restart hectod"},
      {"tables.consistent_ecmp", global("tables: {consistent_ecmp: true}"),
       "tables.consistent_ecmp: false runs, true" WANTED "; restart hectod"},
      {"tables.ipv4_engine", global("tables: {ipv4_engine: compact}"),
       "tables.ipv4_engine: auto runs, compact" WANTED "; restart hectod"},
      {"tables.memory", global("tables: {memory: 64MiB}"),
       "tables.memory: auto runs, 67108864" WANTED "; restart hectod"},
      {"offload", global("offload: none"),
       "offload.device: auto runs, none" WANTED "; restart hectod"},
      {"offload.device", global("offload: {device: [\"cuda:0\", \"cuda:1\"]}"),
       "offload.device: auto runs, [cuda:0, cuda:1]" WANTED "; restart hectod"},
      {"offload.lookup", global("offload: {lookup: never}"),
       "offload.lookup: auto runs, never" WANTED "; restart hectod"},
      {"offload.ipsec", global("offload: {ipsec: always}"),
       "offload.ipsec: auto runs, always" WANTED "; restart hectod"},
      {"offload.shader", global("offload: {shader: true}"),
       "offload.shader: false runs, true" WANTED "; restart hectod"},
      {"offload.latency_bound_us", global("offload: {latency_bound_us: 9}"),
       "offload.latency_bound_us: 50 runs, 9" WANTED "; restart hectod"},
      {"offload.deadline_us", global("offload: {deadline_us: 99}"),
       "offload.deadline_us: 2000 runs, 99" WANTED "; restart hectod"},
      {"offload.batch", global("offload: {batch: 512}"),
       "offload.batch: 1024 runs, 512" WANTED "; restart hectod"},
      {"ipsec.crypto", global("ipsec: {crypto: openssl}"),
       "ipsec.crypto: auto runs, openssl" WANTED "; restart hectod"},
      {"ipsec.nic", global("ipsec: {nic: never}"),
       "ipsec.nic: auto runs, never" WANTED "; restart hectod"},
      {"ipsec.max_sas", global("ipsec: {max_sas: 5}"),
       "ipsec.max_sas: 16384 runs, 5" WANTED "; restart hectod"},
      {"ipsec.export_keys", global("ipsec: {export_keys: true}"),
       "ipsec.export_keys: false runs, true" WANTED "; restart hectod"},
      {"ipsec.max_policies", global("ipsec: {max_policies: 5}"),
       "ipsec.max_policies: 16384 runs, 5" WANTED "; restart hectod"},
      {"memory", global("memory: 1GiB"), "memory: auto runs, 1073741824" WANTED "; restart hectod"},
      {"api", global("api: {socket: /x}"),
       "api.socket: /run/hecto/hecto.sock runs, /x" WANTED "; restart hectod"},
      {"api.socket", global("api: {socket: /x}"),
       "api.socket: /run/hecto/hecto.sock runs, /x" WANTED "; restart hectod"},
      {"api.http", global("api: {http: 127.0.0.1:8080}"),
       "api.http: none runs, \"127.0.0.1:8080\"" WANTED "; restart hectod"},
      {"api.read_group", global("api: {read_group: x}"),
       "api.read_group: none runs, x" WANTED "; restart hectod"},
      {"api.operate_group", global("api: {operate_group: x}"),
       "api.operate_group: none runs, x" WANTED "; restart hectod"},
      {"api.admin_group", global("api: {admin_group: x}"),
       "api.admin_group: none runs, x" WANTED "; restart hectod"},
      {"ports.*.device", on_port("device: eth9"),
       "ports.lan0.device: eth2 runs, eth9" WANTED PORT_REMEDY},
      {"ports.*.queues", on_port("device: eth2, queues: 2"),
       "ports.lan0.queues: auto runs, 2" WANTED PORT_REMEDY},
      {"ports.*.spread", on_port("device: eth2, spread: always"),
       "ports.lan0.spread: never runs, always" WANTED PORT_REMEDY},
      {"ports.*.rx_descriptors", on_port("device: eth2, rx_descriptors: 512"),
       "ports.lan0.rx_descriptors: 1024 runs, 512" WANTED PORT_REMEDY},
      {"ports.*.tx_descriptors", on_port("device: eth2, tx_descriptors: 512"),
       "ports.lan0.tx_descriptors: 1024 runs, 512" WANTED PORT_REMEDY},
      {"ports.*.mac", on_port("device: eth2, mac: \"02:00:00:00:00:01\""),
       "ports.lan0.mac: the device's runs, 02:00:00:00:00:01" WANTED PORT_REMEDY},
      {"ports.*.spread", on_port("device: eth2, spread: auto"),
       "ports.lan0.spread: never runs, auto" WANTED PORT_REMEDY},
  };
}

TEST(Diff, RefusesWhatNeedsARestart) {
  for (const RestartCase& c : restart_cases()) {
    auto d = diff(read(kRunning), read(c.wanted));
    ASSERT_FALSE(d) << c.key;
    EXPECT_EQ(d.error(), Lines{c.line});
  }
}

TEST(Diff, HasARefusalForEveryRestartKey) {
  auto cases = restart_cases();
  for (const KeyText& key : all_keys()) {
    if (key.path.starts_with("ports.*.bond")) continue;  // RefusesOtherMembersOfABondThatRuns
    bool covered = std::any_of(cases.begin(), cases.end(),
                               [&](const RestartCase& c) { return c.key == key.path; });
    EXPECT_EQ(covered, key.change == Change::kRestart)
        << key.path << ": add it to restart_cases(), or take it out, as config/file/keys.cpp says";
  }
}

TEST(Diff, RefusesARenamedPort) {
  auto d = diff(read(kRunning), read(replaced(kRunning, "lan0:", "lan9:")));
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error(), Lines{"ports.lan9.device: eth2 is held by port lan0, and a port cannot be "
                             "renamed while running; reload once without it"});
}

TEST(Diff, TellsAllRefusalsTogether) {
  auto d = diff(read(kRunning), read(std::string(kRunning) + "memory: 1GiB\ncontrol_core: 1\n"));
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().size(), 2u);
}

}  // namespace
}  // namespace hecto::config
