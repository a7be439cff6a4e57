// A reload that fails midway, and what it puts back.
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/unit/router/control/reload_files.hpp"

namespace hecto::router::test {
namespace {

// All that a reload may change, in words.
std::string state_of(const ControlBed& bed) {
  std::string text = queue_list(bed.running.placement);
  for (const auto& [name, port] : bed.plane.running)
    text += fmt::format("\nport {} mtu {} vlans {}", name, port.mtu, port.config.vlans.size());
  for (const auto& [id, interface] : bed.interfaces.table().all()) {
    text += fmt::format("\ninterface {} of {} vlan {} mtu {} twin {} urpf {}", interface.name,
                        interface.port_name, to_string(interface.tags), interface.mtu,
                        interface.has_twin, static_cast<int>(interface.urpf));
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

// A first VLAN makes an AF_XDP port one of AF_PACKET.
config::Config with_first_vlan(ControlBed& bed) {
  config::Config wanted = bed.running.config;
  wanted.ports[0].vlans = {{}};
  wanted.ports[0].vlans[0].id = 8;
  wanted.routes.clear();
  return wanted;
}
const std::string kXdp = file("  wan0: {device: eth1, addresses: [192.0.2.1/24]}\n", kRoute);
ReloadStep failing_at_linux(const std::function<void()>& first) {
  return [first](const std::string& step) -> Result<void> {
    if (step != "Linux") return {};
    first();
    return fail("forced");
  };
}

TEST(Reload, APortThatWasOpenedAnewIsOpenedAsItWas) {
  ControlBed bed(kXdp, true);
  bed.plane.xdp = true;
  ASSERT_TRUE(bed.start());
  const auto done =
      reload(bed.parts(), with_first_vlan(bed),
             failing_at_linux([&] { EXPECT_EQ(bed.plane.port("wan0")->driver, "net_af_packet"); }));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), Lines{"forced; all is as it was before"});
  EXPECT_EQ(bed.plane.port("wan0")->driver, "net_af_xdp");
  EXPECT_EQ(bed.way("203.0.113.5"), "glean");
}

TEST(Reload, WhatCannotBePutBackStandsInTheAnswer) {
  ControlBed bed(kXdp, true);
  bed.plane.xdp = true;
  ASSERT_TRUE(bed.start());
  const auto lost = reload(bed.parts(), with_first_vlan(bed),
                           failing_at_linux([&] { bed.plane.refused = {"wan0"}; }));
  ASSERT_FALSE(lost);
  ASSERT_EQ(lost.error().size(), 3u) << fmt::format("{}", fmt::join(lost.error(), "\n"));
  EXPECT_EQ(lost.error()[0], "forced");
  EXPECT_EQ(lost.error()[1], "not put back: port wan0: the driver refused");
  EXPECT_TRUE(lost.error()[2].starts_with("not put back: route 203.0.113.0/24: "))
      << lost.error()[2];
  EXPECT_TRUE(bed.noted("not all could be put back: port wan0"));
}

TEST(Reload, APortThatIsSomethingElseNowStandsInTheAnswer) {
  ControlBed bed(kXdp, true);
  bed.plane.xdp = true;
  ASSERT_TRUE(bed.start());
  const auto other =
      reload(bed.parts(), with_first_vlan(bed), failing_at_linux([&] { bed.plane.xdp = false; }));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(),
            (Lines{"forced", "not put back: port wan0: it was net_af_xdp and is net_fake now"}));
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

}  // namespace
}  // namespace hecto::router::test
