#include "router/control/reload.hpp"

#include <filesystem>
#include <fstream>

#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kHead = "workers: {0: [1, 2]}\n";
constexpr const char* kWan =
    "  wan0: {device: eth1, addresses: [192.0.2.1/24], vlans: {7: {addresses: [10.7.0.1/24]}}}\n";
constexpr const char* kLan = "  lan0: {device: eth2, addresses: [10.1.0.1/24]}\n";
constexpr const char* kRoute = "routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]\n";

std::string file(const std::string& ports, const std::string& rest = "") {
  return kHead + ("ports:\n" + ports) + rest;
}
const std::string kBase = file(kWan, kRoute);

using Lines = std::vector<std::string>;

tl::expected<Lines, Lines> reload(const Parts& parts, const config::Config& wanted,
                                  const ReloadStep& before_step = {}) {
  ReadRouteFiles files = read_route_files(route_files_of_reload(parts, wanted));
  return router::reload(parts, wanted, files, before_step);
}

std::string queue_list(const config::Placement& placement) {
  std::string text;
  for (const config::WorkerPlacement& worker : placement.workers)
    for (const config::QueuePlacement& queue : worker.queues)
      text += fmt::format("{}:{}.{} ", worker.cpu, queue.port, queue.queue);
  return text;
}

TEST(Reload, TheSameFileChangesNothing) {
  const auto bed = ControlBed::started(kBase);
  const auto done = reload(bed->parts(), read(kBase));
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->empty());
  EXPECT_EQ(bed->count("publish"), 1u);
}

TEST(Reload, AddsAPortBesideTheOneThatRuns) {
  const auto bed = ControlBed::started(kBase, true);
  const auto done = reload(bed->parts(), read(file(std::string(kWan) + kLan, kRoute)));
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, Lines{"+ port lan0"});
  EXPECT_EQ(bed->way("10.1.0.1"), "no_route");  // Linux announces it, once it has the address
  EXPECT_LT(bed->at("add port lan0"), bed->at("address 13 10.1.0.1/24"));
  EXPECT_EQ(bed->said.back(), "publish");
  EXPECT_NE(queue_list(bed->running.placement).find("lan0.0"), std::string::npos);
  EXPECT_EQ(bed->count("add port wan0"), 0u);
}

TEST(Reload, ARefusedPortTakesBackTheOneBeforeIt) {
  const auto bed = ControlBed::started(kBase, true);
  const std::string before = queue_list(bed->running.placement);
  bed->plane.refused = {"lan1"};
  const auto done = reload(
      bed->parts(), read(file(std::string(kWan) + kLan + "  lan1: {device: eth3}\n", kRoute)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"port lan1: the driver refused; all is as it was before"});
  EXPECT_FALSE(bed->plane.port("lan0"));
  EXPECT_EQ(bed->interfaces.table().find("lan0"), nullptr);
  EXPECT_FALSE(bed->linux_side.delivered.contains("lan0"));
  EXPECT_LT(bed->at("add port lan1"), bed->at("remove port lan0"));
  EXPECT_EQ(queue_list(bed->running.placement), before);
  EXPECT_EQ(bed->running.config.ports.size(), 1u);
  EXPECT_EQ(bed->way("203.0.113.5"), "glean");
}

TEST(Reload, APortWhoseTwinIsRefusedGoesAgain) {
  const auto bed = ControlBed::started(kBase, true);
  bed->linux_side.refused = {"lan0"};
  const auto done = reload(bed->parts(), read(file(std::string(kWan) + kLan, kRoute)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"no TAP for lan0; all is as it was before"});
  EXPECT_EQ(bed->count("remove port lan0"), 1u);
  EXPECT_FALSE(bed->plane.port("lan0"));
}

TEST(Reload, AWrongRouteIsFoundBeforeAnythingIsTouched) {
  const auto bed = ControlBed::started(kBase);
  config::Config wanted = read(file(std::string(kWan) + kLan, kRoute));
  wanted.ports[0].mtu = 1400;
  wanted.routes.push_back({net("198.51.100.0/24"), RouteType::kUnicast, {{ip("172.16.0.1"), ""}}});
  const auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"route 198.51.100.0/24: gateway 172.16.0.1: no interface has an "
                                "address in its subnet"});
  EXPECT_TRUE(bed->said.empty());
  EXPECT_EQ(bed->plane.running.at("wan0").mtu, 1500);
  EXPECT_EQ(bed->running.config.routes.size(), 1u);
}

TEST(Reload, TellsAllProblemsAtOnce) {
  const auto bed = ControlBed::started(kBase);
  config::Config wanted = read(kBase);
  wanted.routes.push_back(
      {net("198.51.100.0/24"), RouteType::kUnicast, {{ip("192.0.2.7"), "lan9"}}});
  wanted.neighbors.push_back({ip("192.0.2.7"), "lan8", {}});
  wanted.route_files.push_back("/nowhere/table.txt");
  const auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  ASSERT_EQ(done.error().size(), 3u);
  EXPECT_EQ(done.error()[0], "neighbor 192.0.2.7: there is no interface lan8");
  EXPECT_EQ(done.error()[1],
            "route 198.51.100.0/24: gateway 192.0.2.7: there is no interface lan9");
  EXPECT_NE(done.error()[2].find("/nowhere/table.txt"), std::string::npos);
  EXPECT_EQ(bed->count("publish"), 0u);
}

TEST(Reload, ARefusedMtuChangesNothing) {
  const auto bed = ControlBed::started(kBase);
  bed->plane.most_mtu = 2000;
  config::Config wanted = read(kBase);
  wanted.ports[0].mtu = 9000;
  const auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"port wan0: MTU 9000 is too large; all is as it was before"});
  EXPECT_EQ(bed->interface("wan0").mtu, 1500);
  EXPECT_EQ(bed->running.config.ports[0].mtu, 1500);
}

TEST(Reload, AnMtuReachesVlansAndTwins) {
  const auto bed = ControlBed::started(kBase, true);
  config::Config wanted = read(kBase);
  wanted.ports[0].mtu = 9000;
  ASSERT_TRUE(reload(bed->parts(), wanted));
  EXPECT_EQ(bed->interface("wan0").mtu, 9000);
  EXPECT_EQ(bed->interface("wan0.7").mtu, 9000);
  EXPECT_EQ(bed->count("twin mtu wan0 9000"), 1u);
  EXPECT_EQ(bed->count("twin mtu wan0.7 9000"), 1u);
}

TEST(Reload, AnMtuThatLinuxSetIsNoMatterOfIt) {
  const auto bed = ControlBed::started(kBase, true);
  bed->link(11, true, 1400);
  ASSERT_EQ(bed->plane.running.at("wan0").mtu, 1400);
  bed->said.clear();
  config::Config wanted = read(kBase);
  wanted.ports[0].counters = true;
  ASSERT_TRUE(reload(bed->parts(), wanted));
  EXPECT_EQ(bed->plane.running.at("wan0").mtu, 1400);
  EXPECT_EQ(bed->count("mtu wan0 1500"), 0u);
}

TEST(Reload, RoutesGoBeforeTheirPortsAndComeAfterThem) {
  const auto bed = ControlBed::started(kBase, true);
  const auto done =
      reload(bed->parts(), read(file(kLan, "routes: [{to: 198.51.100.0/24, via: 10.1.0.9}]\n")));
  ASSERT_TRUE(done);
  const Said order = {"add port lan0", "no route 203.0.113.0/24", "route 198.51.100.0/24",
                      "no twin wan0",  "remove port wan0",        "configure",
                      "publish"};
  size_t last = 0;
  for (const std::string& line : order) {
    const size_t position = bed->at(line);
    ASSERT_LT(position, bed->said.size()) << line;
    EXPECT_GE(position, last) << line;
    last = position;
  }
  EXPECT_EQ(bed->count("publish"), 1u);
  EXPECT_EQ(bed->way("198.51.100.7"), "glean");
  EXPECT_EQ(bed->interfaces.table().find("wan0.7"), nullptr);
  EXPECT_EQ(queue_list(bed->running.placement).find("wan0"), std::string::npos);
}

TEST(Reload, AddressesAndVlansOfAPortComeAndGo) {
  const auto bed = ControlBed::started(kBase, true);
  const auto done = reload(
      bed->parts(),
      read(file("  wan0: {device: eth1, addresses: [192.0.2.1/24, 198.18.0.1/24], vlans: {8: "
                "{addresses: [10.8.0.1/24], mtu: 1400}}}\n",
                kRoute)));
  ASSERT_TRUE(done);
  EXPECT_EQ(bed->interfaces.table().find("wan0.7"), nullptr);
  EXPECT_EQ(bed->interface("wan0.8").mtu, 1400);
  EXPECT_EQ(bed->count("no twin wan0.7"), 1u);
  EXPECT_EQ(bed->count("address 11 198.18.0.1/24"), 1u);
  EXPECT_EQ(bed->count("no address 11 192.0.2.1/24"), 0u);
  ASSERT_TRUE(reload(bed->parts(), read(kBase)));
  EXPECT_EQ(bed->count("no address 11 198.18.0.1/24"), 1u);
}

TEST(Reload, TakesRouteFilesInAndOut) {
  const std::string path = testing::TempDir() + "hecto-reload-routes.txt";
  std::ofstream(path) << "198.51.100.0/24 via 192.0.2.9\n";
  const auto bed = ControlBed::started(kBase);
  config::Config wanted = read(kBase);
  wanted.route_files = {path};
  const auto done = reload(bed->parts(), wanted);
  ASSERT_TRUE(done) << done.error()[0];
  while (bed->routes.loading()) bed->routes.continue_loads();
  EXPECT_EQ(bed->way("198.51.100.7"), "glean");
  ASSERT_TRUE(reload(bed->parts(), read(kBase)));
  while (bed->routes.loading()) bed->routes.continue_loads();
  EXPECT_EQ(bed->way("198.51.100.7"), "no_route");
  std::filesystem::remove(path);
}

TEST(Reload, ABadRouteFileIsFoundBeforeAnythingIsTouched) {
  const std::string path = testing::TempDir() + "hecto-reload-bad.txt";
  std::ofstream(path) << "198.51.100.0/24 via 192.0.2.9\n198.51.101.0/24 via 192.0.2.9 dev lan9\n";
  const auto bed = ControlBed::started(kBase, true);
  config::Config wanted = read(file(std::string(kWan) + kLan, kRoute));
  wanted.route_files = {path};
  const auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{path + ":2: dev: there is no interface \"lan9\""});
  EXPECT_TRUE(bed->said.empty());
  std::filesystem::remove(path);
}

TEST(Reload, ARouteFileMayNameAPortThatComesWithIt) {
  const std::string path = testing::TempDir() + "hecto-reload-dev.txt";
  std::ofstream(path) << "198.51.100.0/24 via 10.1.0.9 dev lan0\n198.51.101.0/24 via 192.0.2.9\n";
  const auto bed = ControlBed::started(kBase, true);
  config::Config wanted = read(
      file(std::string(kWan) + kLan,
           std::string(kRoute) +
               "neighbors: [{address: 10.1.0.9, interface: lan0, mac: \"02:00:00:00:00:0a\"}]\n"));
  wanted.route_files = {path};
  const auto done = reload(bed->parts(), wanted);
  ASSERT_TRUE(done) << done.error()[0];
  while (bed->routes.loading()) bed->routes.continue_loads();
  EXPECT_EQ(bed->way("198.51.100.7"), "lan0");
  EXPECT_EQ(bed->way("198.51.101.7"), "glean");
  std::filesystem::remove(path);
}

TEST(Reload, AnInterfaceOfARouteFileThatWentMeanwhileTakesAllBack) {
  const std::string path = testing::TempDir() + "hecto-reload-went.txt";
  std::ofstream(path) << "198.51.100.0/24 via 10.1.0.9 dev lan0\n";
  const auto bed = ControlBed::started(kBase, true);
  config::Config wanted = read(kBase);
  wanted.route_files = {path};
  ReadRouteFiles files = read_route_files({{path}, {"wan0", "lan0"}});
  const auto done = router::reload(bed->parts(), wanted, files);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{path + ": there is no interface lan0; all is as it was before"});
  EXPECT_FALSE(bed->routes.loading());
  EXPECT_TRUE(bed->running.config.route_files.empty());
  std::filesystem::remove(path);
}

TEST(Reload, WhatNeedsARestartIsRefused) {
  const auto bed = ControlBed::started(kBase);
  const auto done = reload(bed->parts(), read("workers: {0: [1]}\nports:\n" + std::string(kWan)));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error()[0].find("workers"), std::string::npos);
  EXPECT_TRUE(bed->said.empty());
}

// All that a reload may change, in words.
std::string state_of(const ControlBed& bed) {
  std::string text = queue_list(bed.running.placement);
  for (const auto& [name, port] : bed.plane.running)
    text += fmt::format("\nport {} mtu {} vlans {}", name, port.mtu, port.config.vlans.size());
  for (const auto& [id, interface] : bed.interfaces.table().all()) {
    text += fmt::format("\ninterface {} of {} vlan {} mtu {} twin {} urpf {}", interface.name,
                        interface.port_name, interface.vlan, interface.mtu, interface.has_twin,
                        static_cast<int>(interface.urpf));
    for (const IpPrefix& address : interface.addresses) text += " " + address.to_string();
  }
  for (const auto& [name, twin] : bed.linux_side.delivered) text += "\ndelivered " + name;
  for (const RouteView& route : bed.routing.routes(std::nullopt, 100).routes)
    text += "\nroute " + route.prefix.to_string() + fmt::format(" {}", route.metric);
  for (const NeighborView& neighbor : bed.routing.neighbors())
    text += "\nneighbor " + neighbor.address.to_string();
  for (const SaView& sa : bed.ipsec.sas()) text += fmt::format("\nsa {:#x}", sa.id.spi);
  for (const PolicyView& view : bed.ipsec.policies())
    text += fmt::format("\npolicy {} {}", view.policy.selector.destination.to_string(),
                        view.policy.priority);
  text += fmt::format("\n{} routes and {} ports of the file", bed.running.config.routes.size(),
                      bed.running.config.ports.size());
  return text;
}

const std::string kIpsecBefore = R"(
neighbors: [{address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}]
ipsec:
  sas: [{source: 192.0.2.1, destination: 192.0.2.9, spi: 0x1000, cipher: aes-128-gcm,
         key: "0x000102030405060708090a0b0c0d0e0f10111213"}]
  policies: [{direction: out, source: 0.0.0.0/0, destination: 10.20.0.0/16, action: discard}]
)";
const std::string kIpsecAfter = R"(
neighbors: [{address: 192.0.2.8, interface: wan0, mac: "02:00:00:00:00:08"}]
ipsec:
  sas: [{source: 192.0.2.1, destination: 192.0.2.9, spi: 0x2000, cipher: aes-128-gcm,
         key: "0x000102030405060708090a0b0c0d0e0f10111214"}]
  policies: [{direction: out, source: 0.0.0.0/0, destination: 10.30.0.0/16, action: discard}]
)";

// A reload of everything at once, stopped before each of its steps in turn.
TEST(Reload, AFailureAtAnyStepLeavesAllAsItWas) {
  const std::string path = testing::TempDir() + "hecto-reload-steps.txt";
  std::ofstream(path) << "198.51.100.0/24 via 192.0.2.9\n";
  const std::string old_port = "  old0: {device: eth9, addresses: [10.66.0.1/24]}\n";
  const std::string base = file(std::string(kWan) + old_port, kRoute + kIpsecBefore);
  config::Config wanted = read(file(
      "  wan0: {device: eth1, mtu: 1400, urpf: strict, addresses: [192.0.2.1/24, 198.18.0.1/24], "
      "vlans: {8: {addresses: [10.8.0.1/24]}}}\n" +
          std::string(kLan),
      "routes: [{to: 203.0.113.0/24, via: 10.8.0.9}, {to: 203.0.114.0/24, via: 10.1.0.9}]\n" +
          kIpsecAfter));
  wanted.route_files = {path};
  Lines steps;
  for (size_t failing = 0;; ++failing) {
    const auto bed = ControlBed::started(base, true);
    const std::string before = state_of(*bed), way = bed->way("203.0.113.5");
    size_t step = 0;
    std::string failed;
    const auto done = reload(bed->parts(), wanted, [&](const std::string& name) -> Result<void> {
      if (step++ != failing) return {};
      failed = name;
      return fail("forced at " + name);
    });
    if (failed.empty()) {
      ASSERT_TRUE(done) << done.error()[0];
      EXPECT_NE(state_of(*bed), before);
      EXPECT_EQ(bed->way("203.0.114.1"), "glean");
      break;
    }
    steps.push_back(failed);
    ASSERT_FALSE(done) << failed;
    EXPECT_EQ(done.error(), Lines{"forced at " + failed + "; all is as it was before"});
    EXPECT_EQ(state_of(*bed), before) << "after a failure at " << failed;
    EXPECT_EQ(bed->way("203.0.113.5"), way) << failed;
    // And the next try is none the worse.
    ASSERT_TRUE(reload(bed->parts(), wanted)) << failed;
  }
  EXPECT_EQ(steps, (Lines{"port lan0", "routes taken away", "port wan0", "neighbor 192.0.2.8",
                          "route 203.0.113.0/24", "route 203.0.114.0/24", "route file " + path,
                          "Linux", "ipsec"}));
  std::filesystem::remove(path);
}

TEST(Reload, AVlanWhoseTwinIsRefusedTakesAllBack) {
  const auto bed = ControlBed::started(kBase, true);
  const std::string before = state_of(*bed);
  bed->linux_side.refused = {"wan0.8"};
  config::Config wanted = read(kBase);
  wanted.ports[0].mtu = 1400;
  wanted.ports[0].vlans = {wanted.ports[0].vlans[0], wanted.ports[0].vlans[0]};
  wanted.ports[0].vlans[1].id = 8;
  wanted.ports[0].vlans[1].addresses = {};
  const auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"no TAP for wan0.8; all is as it was before"});
  EXPECT_EQ(state_of(*bed), before);
}

TEST(Reload, AnAddressThatLinuxRefusesIsAnErrorOfTheAnswer) {
  const auto bed = ControlBed::started(kBase, true);
  const std::string before = state_of(*bed);
  bed->linux_side.refused_addresses = {"198.18.0.1/24"};
  config::Config wanted = read(kBase);
  wanted.ports[0].addresses.push_back(*IpPrefix::parse_interface("198.18.0.1/24"));
  const auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error()[0].find("198.18.0.1/24"), std::string::npos);
  EXPECT_EQ(state_of(*bed), before);
  EXPECT_TRUE(bed->notes.lines().empty());
}

TEST(Reload, NamesAllDevicesThatAreNotThere) {
  const auto bed = ControlBed::started(kBase, true);
  bed->plane.absent = {"lan0"};
  bed->plane.missing = {"lan1"};
  config::Config wanted = read(file(std::string(kWan) + kLan + "  lan1: {device: eth3}\n", kRoute));
  auto done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"port lan0: it is not there"});
  EXPECT_TRUE(bed->said.empty());
  bed->plane.absent.clear();
  done = reload(bed->parts(), wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"port lan1: there is no device"});
  EXPECT_EQ(bed->said, (Said{"probe lan0", "probe lan1", "forget lan0", "forget lan1"}));
}

TEST(Reload, SasComeAndGo) {
  const auto bed = ControlBed::started(kBase);
  config::Config wanted = read(kBase + R"(
ipsec:
  sas: [{source: 192.0.2.1, destination: 192.0.2.9, spi: 0x1000, cipher: aes-128-gcm,
         key: "0x000102030405060708090a0b0c0d0e0f10111213"}]
)");
  ASSERT_TRUE(reload(bed->parts(), wanted));
  EXPECT_EQ(bed->ipsec.statistics().sas, 1u);
  ASSERT_TRUE(reload(bed->parts(), read(kBase)));
  EXPECT_EQ(bed->ipsec.statistics().sas, 0u);
}

}  // namespace
}  // namespace hecto::router::test
