#include "router/control/reload.hpp"

#include <filesystem>
#include <fstream>

#include "tests/unit/router/control/reload_files.hpp"

namespace hecto::router::test {
namespace {

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
