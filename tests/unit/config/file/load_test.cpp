#include "config/file/load.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "config/file/words.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

IpPrefix interface_address(const char* text) {
  return *IpPrefix::parse_interface(text);
}

TEST(Load, FillsInDefaults) {
  Config c = good(kPort);
  ASSERT_EQ(c.ports.size(), 1u);
  EXPECT_EQ(c.file, "t.yaml");
  EXPECT_EQ(c.ports[0].name, "wan0");
  EXPECT_EQ(c.ports[0].kind, DeviceKind::kKernel);
  EXPECT_EQ(c.ports[0].mtu, 1500);
  EXPECT_FALSE(c.ports[0].rx_queues);
  EXPECT_TRUE(c.workers.empty());
  EXPECT_TRUE(c.linux_side.enabled);
  EXPECT_EQ(c.linux_side.name_space, "hecto");
  EXPECT_EQ(c.api_socket, "/run/hecto/hecto.sock");
  EXPECT_FALSE(c.memory_bytes);
}

TEST(Load, ReadsVlansWithinVlans) {
  Config c = good(R"(
ports:
  wan0:
    device: eth1
    vlans:
      200: {vlans: {10: {addresses: [10.2.0.1/24]}}}
      100: {protocol: 802.1ad, mtu: 1400, vlans: {20: {mtu: 1300}, 10: {addresses: [10.1.0.1/24]}, 30: }}
)");
  const std::vector<VlanConfig>& vlans = c.ports[0].vlans;
  std::vector<std::string> words;
  for (const VlanConfig& vlan : vlans)
    words.push_back(interface_name("wan0", vlan) + " " + to_string(vlan.tags()) + " " +
                    std::to_string(vlan.mtu.value_or(0)));
  EXPECT_EQ(words, (std::vector<std::string>{
                       "wan0.100 802.1ad 100 1400", "wan0.200 200 0",
                       "wan0.100.10 802.1ad 100.10 1400", "wan0.100.20 802.1ad 100.20 1300",
                       "wan0.100.30 802.1ad 100.30 1400", "wan0.200.10 200.10 0"}));
  EXPECT_EQ(vlans[2].addresses, std::vector{interface_address("10.1.0.1/24")});
}

TEST(Load, ReadsEveryKey) {
  Config c = good(R"(
workers: {0: [2-4, 7], 1: [18]}
control_core: 1
idle: poll
idle_sleep_us: 100
burst: 32
ports:
  wan0:
    device: "0000:AF:00.1"
    mtu: 9000
    addresses: [192.0.2.1/31, "2001:db8::1/127"]
    queues: 4
    rx_descriptors: 2048
    tx_descriptors: 512
    mac: "02:00:5E:00:00:01"
    promiscuous: true
    urpf: strict
    mss_clamp: auto
    counters: on
    spread: always
    vlans:
      200:
      100: {addresses: [10.1.0.1/16], mtu: 1400, urpf: loose, mss_clamp: auto}
  lan0: {device: "net_memif0,role=server"}
linux: {namespace: blue, mirror: [routes]}
routes:
  - {to: 0.0.0.0/0, via: 192.0.2.0, metric: 20}
  - {to: 203.0.113.0/24, via: [{gateway: 192.0.2.0, weight: 2}, {gateway: 10.1.0.9, interface: wan0.100}]}
  - {to: "2001:db8:1::/48", type: unreachable}
route_files: [/var/tables/full.mrt]
neighbors: [{address: 10.1.2.3, mac: "02:00:00:00:00:09"}]
punt: {arp: 10kpps, local: 1Mpps, glean: 500, too_big: 7pps}
spare_mbufs: 1000
tables: {ipv4_engine: compact, memory: 16MiB, groups: 1024}
memory: 2GiB
api: {socket: /tmp/hecto.sock, read_group: watchers, admin_group: wheel}
log: {level: debug}
watchdog: {stuck_worker: restart}
)");
  EXPECT_EQ(c.workers, (std::map<int, std::vector<unsigned>>{{0, {2, 3, 4, 7}}, {1, {18}}}));
  EXPECT_EQ(c.control_core, 1u);
  EXPECT_EQ(c.idle, IdleMode::kPoll);
  EXPECT_EQ(c.idle_sleep_us, 100u);
  EXPECT_EQ(c.burst, 32);
  ASSERT_EQ(c.ports.size(), 2u);
  const PortConfig& wan = c.ports[0];
  EXPECT_EQ(wan.device, "0000:af:00.1");
  EXPECT_EQ(wan.kind, DeviceKind::kPci);
  EXPECT_EQ(wan.mtu, 9000);
  EXPECT_EQ(wan.addresses,
            (std::vector{interface_address("192.0.2.1/31"), interface_address("2001:db8::1/127")}));
  EXPECT_EQ(wan.rx_queues, 4);
  EXPECT_EQ(wan.rx_descriptors, 2048);
  EXPECT_EQ(wan.tx_descriptors, 512);
  EXPECT_EQ(wan.mac, (MacAddress{2, 0, 0x5e, 0, 0, 1}));
  EXPECT_TRUE(wan.promiscuous);
  EXPECT_EQ(wan.urpf, UrpfMode::kStrict);
  EXPECT_EQ(wan.mss_clamp, MssClamp::kAuto);
  EXPECT_TRUE(wan.counters);
  EXPECT_EQ(wan.spread, SpreadMode::kAlways);
  ASSERT_EQ(wan.vlans.size(), 2u);
  EXPECT_EQ(wan.vlans[0].id, 100);
  EXPECT_EQ(wan.vlans[0].mtu, 1400);
  EXPECT_EQ(wan.vlans[0].urpf, UrpfMode::kLoose);
  EXPECT_EQ(wan.vlans[0].mss_clamp, MssClamp::kAuto);
  EXPECT_EQ(c.ports[1].mss_clamp, MssClamp::kOff);
  EXPECT_EQ(wan.vlans[1].id, 200);
  EXPECT_EQ(c.ports[1].kind, DeviceKind::kVdev);
  EXPECT_EQ(c.linux_side.name_space, "blue");
  EXPECT_FALSE(c.linux_side.mirror_addresses);
  EXPECT_TRUE(c.linux_side.mirror_routes);
  ASSERT_EQ(c.routes.size(), 3u);
  EXPECT_EQ(c.routes[0].metric, 20u);
  ASSERT_EQ(c.routes[1].via.size(), 2u);
  EXPECT_EQ(c.routes[1].via[0].weight, 2);
  EXPECT_EQ(c.routes[1].via[1].interface, "wan0.100");
  EXPECT_EQ(c.routes[2].type, RouteType::kUnreachable);
  EXPECT_EQ(c.route_files, std::vector<std::string>{"/var/tables/full.mrt"});
  ASSERT_EQ(c.neighbors.size(), 1u);
  EXPECT_EQ(c.neighbors[0].interface, "wan0.100");
  EXPECT_EQ(c.punt_pps, (std::map<std::string, uint32_t>{
                            {"arp", 10000}, {"glean", 500}, {"local", 1000000}, {"too_big", 7}}));
  EXPECT_EQ(c.spare_mbufs, 1000u);
  EXPECT_EQ(c.tables, (TablesConfig{Ipv4Engine::kCompact, 16u << 20, 1024}));
  EXPECT_EQ(c.memory_bytes, 2ull << 30);
  EXPECT_EQ(c.api_socket, "/tmp/hecto.sock");
  EXPECT_EQ(c.api_read_group, "watchers");
  EXPECT_EQ(c.api_operate_group, std::nullopt);
  EXPECT_EQ(c.api_admin_group, "wheel");
  EXPECT_EQ(c.log_level, "debug");
  EXPECT_EQ(c.stuck_worker, StuckWorker::kRestart);
}

TEST(Load, TakesRouteFilesFromTheFilesFolder) {
  auto c = parse(std::string(kPort) + "route_files: [full.mrt, ../v6.txt]\n", "/etc/hecto/h.yaml");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->route_files, (std::vector<std::string>{"/etc/hecto/full.mrt", "/etc/v6.txt"}));
}

TEST(Load, WritesShortPciAddressesInFull) {
  EXPECT_EQ(good("ports: {a: {device: \"17:00.0\"}}").ports[0].device, "0000:17:00.0");
  EXPECT_EQ(good("ports: {a: {device: 17:00.0}}").ports[0].kind, DeviceKind::kPci);
}

TEST(Load, TellsAllProblemsTogetherInTheFilesOrder) {
  Problems problems =
      bad("burst: 1000\n"
          "ports:\n"
          "  lan0: {device: eth1, mtu: 90000}\n"
          "colour: blue\n"
          "idle: never\n");
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0], "t.yaml:1: burst: 1000 is out of range; use 4 to 256");
  EXPECT_EQ(problems[1], "t.yaml:3: ports.lan0.mtu: 90000 is out of range; use 576 to 9000");
  EXPECT_TRUE(problems[2].starts_with("t.yaml:4: colour: unknown key; use workers, "));
  EXPECT_EQ(problems[3],
            "t.yaml:5: idle: never is not known; use sleep, poll, interrupt or adaptive");
}

TEST(Load, TakesAnIdleModeForAllOrByCore) {
  EXPECT_EQ(good(std::string(kPort) + "idle: interrupt").idle_of(7), IdleMode::kInterrupt);
  const Config c = good(std::string(kPort) + "idle: {2-4: poll, 6: adaptive, others: interrupt}");
  for (const unsigned core : {2u, 3u, 4u}) EXPECT_EQ(c.idle_of(core), IdleMode::kPoll);
  EXPECT_EQ(c.idle_of(6), IdleMode::kAdaptive);
  EXPECT_EQ(c.idle_of(5), IdleMode::kInterrupt);
  EXPECT_EQ(good(std::string(kPort) + "idle: {2: poll}").idle_of(5), IdleMode::kSleep);
  EXPECT_EQ(idle_text(c), "{2-4: poll, 6: adaptive, others: interrupt}");
}

TEST(Load, RefusesIdleModesOfCoresThatAreNone) {
  const std::string port(kPort);
  EXPECT_EQ(only(port + "idle: {2: spin}"),
            "t.yaml:2: idle.2: spin is not known; use sleep, poll, interrupt or adaptive");
  EXPECT_EQ(only(port + "idle: {cpu2: poll}"),
            "t.yaml:2: idle.cpu2: not a core; use 0 to 4095, a range as 2-9, or others");
  EXPECT_EQ(only(port + "idle: {4-2: poll}"),
            "t.yaml:2: idle.4-2: not a core; use 0 to 4095, a range as 2-9, or others");
  EXPECT_EQ(only(port + "idle: {2-3: poll, 3: sleep}"),
            "t.yaml:2: idle.3: core 3 is named twice; name it once");
  EXPECT_EQ(only(port + "workers: {0: [2-3]}\nidle: {3-4: poll}"),
            "t.yaml:3: idle.3-4: core 4 is not among the workers");
}

TEST(Load, SuggestsTheNearestKey) {
  EXPECT_EQ(only("ports: {a: {device: eth1, adresses: []}}"),
            "t.yaml:1: ports.a.adresses: unknown key; did you mean addresses?");
  EXPECT_EQ(only(std::string(kPort) + "worker: auto"),
            "t.yaml:2: worker: unknown key; did you mean workers?");
  EXPECT_EQ(only(std::string(kPort) + "punt: {apr: 1}"),
            "t.yaml:2: punt.apr: no such reason; did you mean arp?");
}

TEST(Load, RefusesKeysOfLaterVersions) {
  EXPECT_NE(only(std::string(kPort) + "nat64: []").find("unknown key"), std::string::npos);
}

TEST(Load, TakesARateForEveryClassAndPeersThatAreKnown) {
  for (size_t i = 0; i < kPuntClassCount; ++i) {
    const auto name = info(static_cast<PuntClass>(i)).name;
    const auto config = parse(fmt::format("{}punt: {{classes: {{{}: 5kpps}}}}", kPort, name), "t");
    ASSERT_TRUE(config.has_value()) << name;
    EXPECT_EQ(config->punt_class_pps, (std::map<std::string, uint32_t>{{std::string(name), 5000}}));
  }
  const auto config = parse(std::string(kPort) + "punt: {peers: [192.0.2.1, 'fe80::1']}", "t");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->punt_peers.size(), 2u);
}

TEST(Load, TakesTheFlowTable) {
  const auto off = parse(kPort, "t");
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->flows.on());
  const auto config = parse(
      "ports: {a: {device: e, vlans: {7: {}}}, b: {device: f}}\n"
      "flows: {interfaces: [a, a.7], entries: 5000, miss: b}\n",
      "t");
  ASSERT_TRUE(config) << config.error()[0];
  EXPECT_EQ(config->flows, (FlowsConfig{{"a", "a.7"}, 5000, "b"}));
}

TEST(Load, TakesARateForEveryReasonToPuntAndNoOther) {
  for (size_t i = 0; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    const auto config = parse(fmt::format("{}punt: {{{}: 5}}", kPort, reason.name), "t");
    EXPECT_EQ(config.has_value(), reason.punt) << reason.name;
    if (config) {
      EXPECT_EQ(config->punt_pps, (std::map<std::string, uint32_t>{{std::string(reason.name), 5}}));
    }
  }
  EXPECT_EQ(only(std::string(kPort) + "punt: {xxxxxx: 1}"),
            "t.yaml:2: punt.xxxxxx: no such reason; use arp, local, multicast, broadcast, "
            "link_local, options, ttl_expired, too_big, glean, no_route, unreachable, prohibit, "
            "policy_rule, redirect, other_protocol, bridge_learn, bridge_flood");
}

TEST(Load, AcceptsSecondaryAddressesAndLinkLocalOnEveryPort) {
  good(
      "ports:\n"
      "  a: {device: e, addresses: [10.0.0.1/8, 10.0.0.2/8, \"fe80::1/64\"]}\n"
      "  b: {device: f, addresses: [11.0.0.1/8, \"fe80::1/64\"]}\n");
}

TEST(Load, WantsEveryGatewayOnAnInterface) {
  std::string route = std::string(kPort) + "routes: [{to: 10.0.0.0/8, via: 203.0.113.1}]\n";
  EXPECT_EQ(
      only(route),
      "t.yaml:2: routes[0].via: 203.0.113.1 is on no interface's network; name its interface, "
      "or add an address");
  good(std::string(kPort) +
       "linux: off\n"
       "routes: [{to: 10.0.0.0/8, via: {gateway: 203.0.113.1, interface: wan0}}]\n");
}

TEST(Load, TellsOfAFileThatIsNotThere) {
  auto config = load("/nonexistent/hecto.yaml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error()[0],
            "/nonexistent/hecto.yaml: cannot be opened: No such file or directory");
  EXPECT_EQ(load("/").error()[0], "/: a folder; name a file");
}

// A router that runs may have addresses of Linux; one that starts has the file's alone.
TEST(Load, AGatewayOfLinuxsNetworksIsForARouterThatRuns) {
  const std::string yaml = std::string(kPort) + "routes: [{to: 10.0.0.0/8, via: 172.16.0.1}]\n";
  EXPECT_FALSE(parse(yaml, "t.yaml"));
  LoadLimits running;
  running.running = true;
  EXPECT_TRUE(parse(yaml, "t.yaml", running));
  EXPECT_FALSE(parse(yaml + "linux: {mirror: [routes]}\n", "t.yaml", running));
}

TEST(Load, RefusesMoreInterfacesThanThereCanBe) {
  const auto vlans = [](unsigned count) {
    std::string yaml = "ports:\n  a: {device: eth1, vlans: {1: {}";
    for (unsigned id = 2; id <= count; ++id) yaml += fmt::format(", {}: {{}}", id);
    return yaml + "}}\n";
  };
  EXPECT_TRUE(parse(vlans(1022), "t.yaml"));
  EXPECT_EQ(only(vlans(1023)),
            "t.yaml:2: ports: 1024 interfaces, ports and VLANs together; use at most 1023");
}

TEST(Load, TheDigestIsOfTheTextThatWasRead) {
  const std::string file = testing::TempDir() + "hecto-digest.yaml";
  std::ofstream(file) << kPort;
  const auto config = load(file);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->digest.value, digest_of(file)->value);
  std::ofstream(file) << kPort << "burst: 32\n";
  EXPECT_NE(config->digest.value, digest_of(file)->value);
  std::filesystem::remove(file);
  EXPECT_FALSE(digest_of(file));
}

}  // namespace
}  // namespace hecto::config
