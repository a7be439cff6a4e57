#include "router/control/bridge_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kThreePorts = R"(
workers: {0: [1]}
tables: {bridge_stations: 64, bridge_stations_per_port: 40}
ports:
  wan0: {device: eth1}
  lan0: {device: eth2, vlans: {9: {addresses: [10.7.0.1/24]}}}
  lan1: {device: eth3}
)";
constexpr int kLan = 40;

// wan0 has ifindex 11, lan0 12, lan0.9 13, lan1 14 in Linux.
class BridgeControlTest : public testing::Test {
 protected:
  void say(LinuxLink link, bool removed = false) {
    link.up = link.carrier = true;
    link.mtu = 1500;
    bed->events.link(link, removed);
  }
  void make_bridge(bool filters = false) {
    LinuxLink link;
    link.ifindex = kLan;
    link.name = "lan";
    link.kind = "bridge";
    link.mac = {2, 0, 0, 0, 0, 0xee};
    link.bridge = LinuxBridge{filters, false, 300};
    say(link);
  }
  void join(const std::string& name, int master = kLan, LinuxBridgePort settings = {}) {
    LinuxLink link;
    link.ifindex = bed->interface(name).ifindex;
    link.name = name;
    link.mac = bed->interface(name).mac;
    link.master = master;
    if (master != 0) link.bridge_port = settings;
    say(link);
  }
  void learn(uint8_t number, const std::string& port, bool removed = false, bool local = false) {
    bed->events.fdb_entry(
        {kLan, bed->interface(port).ifindex, 0, {2, 0, 0, 0, 1, number}, local, local}, removed);
  }
  uint16_t place(uint8_t number) {
    control.tick();
    uint64_t word = 0;
    const MacAddress mac{2, 0, 0, 0, 1, number};
    std::memcpy(&word, mac.data(), mac.size());
    return bed->plane.bridges->stations->find(lookup::MacTable::key(bridge_domain(0, 0), word));
  }
  const BridgePortView* view(const std::string& port) {
    control.tick();
    return bed->plane.bridges ? bed->plane.bridges->ports[bed->interface(port).port].get()
                              : nullptr;
  }

  std::unique_ptr<ControlBed> bed = ControlBed::started(kThreePorts, true);
  BridgeControl control{bed->routing, bed->interfaces, bed->plane, bed->linux_side,
                        bed->running.config};
};

TEST_F(BridgeControlTest, PortsSwitchAndTheBridgeIsAnInterface) {
  control.tick();
  EXPECT_EQ(bed->plane.bridges, nullptr);
  make_bridge();
  join("wan0"), join("lan0");
  ASSERT_NE(view("wan0"), nullptr);
  EXPECT_EQ(view("lan1"), nullptr);
  EXPECT_TRUE(view("lan0")->beside[9]) << "its VLAN of the file stays its own";
  EXPECT_TRUE(view("lan0")->routed[0]);
  const Interface& lan = bed->interface("lan");
  EXPECT_EQ(lan.bridge, kLan);
  EXPECT_EQ(lan.port, kNoPort);
  EXPECT_EQ(lan.attached, (std::vector<Attachment>{{bed->interface("wan0").port, 0},
                                                   {bed->interface("lan0").port, 0}}));
  EXPECT_TRUE(bed->interface("wan0").bridged);
  EXPECT_FALSE(bed->interface("lan1").bridged);
  EXPECT_EQ(bed->count("promiscuous wan0 true"), 1u);
  EXPECT_TRUE(control.lines().empty());

  join("wan0", 0);
  EXPECT_EQ(view("wan0"), nullptr);
  EXPECT_FALSE(bed->interface("wan0").bridged);
  EXPECT_EQ(bed->count("promiscuous wan0 false"), 1u);
  join("lan0", 0);
  control.tick();
  EXPECT_EQ(bed->plane.bridges, nullptr);
  EXPECT_EQ(bed->interfaces.table().find("lan"), nullptr);
}

TEST_F(BridgeControlTest, StationsFollowLinuxsForwardingDatabase) {
  make_bridge();
  join("wan0"), join("lan0");
  learn(1, "wan0");
  learn(2, "lan0", false, true);
  EXPECT_EQ(place(1), bed->interface("wan0").port);
  EXPECT_EQ(place(2), kBridgeOwn);
  EXPECT_EQ(place(3), lookup::MacTable::kNone);
  learn(1, "lan0");
  EXPECT_EQ(place(1), bed->interface("lan0").port);
  learn(1, "lan0", true);
  EXPECT_EQ(place(1), lookup::MacTable::kNone);
  learn(3, "lan1");
  EXPECT_EQ(place(3), lookup::MacTable::kNone) << "no port of it is there";
  join("lan1");
  EXPECT_EQ(place(3), bed->interface("lan1").port) << "now it is";
  learn(3, "lan1", true);
  join("lan1", 0);
  EXPECT_EQ(place(3), lookup::MacTable::kNone);
}

TEST_F(BridgeControlTest, ABridgeThatGoesLeavesNoStation) {
  make_bridge();
  join("wan0"), join("lan0");
  learn(1, "wan0");
  const auto stations = (control.tick(), bed->plane.bridges->stations);
  ASSERT_EQ(stations->size(), 1u);
  LinuxLink link;
  link.ifindex = kLan;
  say(link, true);
  join("wan0", 0), join("lan0", 0);
  control.tick();
  EXPECT_EQ(stations->size(), 0u);
  control.tick_second();
}

TEST_F(BridgeControlTest, StationsThatWereHeardAreToldToLinux) {
  make_bridge();
  join("wan0");
  learn(1, "wan0"), learn(2, "wan0");
  control.tick();
  const std::string first = "heard 11 0 02:00:00:00:01:01", second = "heard 11 0 02:00:00:00:01:02";
  control.tick_second();
  EXPECT_EQ(bed->count(first) + bed->count(second), 2u) << "it has just been learned";
  bed->said.clear();
  const uint64_t key = lookup::MacTable::key(bridge_domain(0, 0), 0x020100000002);
  auto& stations = *bed->plane.bridges->stations;
  (void)stations.find_and_mark(key, stations.fetch(key));
  control.tick_second();
  EXPECT_EQ(bed->count(first), 0u);
  EXPECT_EQ(bed->count(second), 1u);
}

TEST_F(BridgeControlTest, AFullPortLearnsNoMoreUntilSomeHaveGone) {
  make_bridge();
  join("wan0"), join("lan0");
  for (uint8_t i = 1; i <= 39; ++i) learn(i, "wan0");
  EXPECT_FALSE(view("wan0")->full);
  learn(40, "wan0");
  EXPECT_TRUE(view("wan0")->full);
  EXPECT_FALSE(view("lan0")->full);
  EXPECT_EQ(control.status()[0].ports[0].full, true);
  learn(40, "wan0", true);
  EXPECT_TRUE(view("wan0")->full) << "it does not flap with each that comes and goes";
  learn(39, "wan0", true), learn(38, "wan0", true);
  EXPECT_FALSE(view("wan0")->full);
}

// All in one reading of netlink: between the entries' news and the bridge's nothing is asked of it.
TEST_F(BridgeControlTest, AFullBridgeMayGoAtOnce) {
  for (const bool full_before : {true, false}) {
    make_bridge();
    join("wan0"), join("lan0");
    control.tick();
    for (uint8_t i = 1; i <= 40; ++i) learn(i, "wan0");
    if (full_before) {
      EXPECT_TRUE(view("wan0")->full);
      for (uint8_t i = 1; i <= 40; ++i) learn(i, "wan0", true);
    }
    join("wan0", 0), join("lan0", 0);
    LinuxLink link;
    link.ifindex = kLan;
    say(link, true);
    control.tick_second();
    control.tick();
    EXPECT_EQ(bed->plane.bridges, nullptr);
    EXPECT_TRUE(control.status().empty());
  }
}

TEST_F(BridgeControlTest, VlansGoToInterfacesAndPorts) {
  make_bridge(true);
  LinuxLink vlan;
  vlan.ifindex = 41;
  vlan.name = "lan.7";
  vlan.kind = "vlan";
  vlan.parent = kLan;
  vlan.vlan = 7;
  vlan.mac = {2, 0, 0, 0, 0, 0xee};
  say(vlan);
  join("wan0"), join("lan0");
  const auto in = [&](int ifindex, uint16_t id, bool untagged) {
    bed->events.bridge_vlans({ifindex, id, id, untagged, untagged}, false);
  };
  in(kLan, 1, true), in(kLan, 7, false), in(11, 1, true), in(11, 7, false), in(12, 7, true);
  control.tick();
  const PortId wan = bed->interface("wan0").port, lan = bed->interface("lan0").port;
  EXPECT_EQ(bed->interface("lan").attached, (std::vector<Attachment>{{wan, 1}, {wan, 0}}));
  EXPECT_EQ(bed->interface("lan.7").attached,
            (std::vector<Attachment>{{wan, 7}, {lan, 7}, {lan, 0}}));
  EXPECT_EQ(bed->interface("lan.7").bridge, kLan);
  EXPECT_EQ(view("lan0")->pvid, 7);
  EXPECT_TRUE(view("wan0")->allowed[7] && !view("wan0")->untagged[7]);
}

TEST_F(BridgeControlTest, WhatIsNotCarriedIsSaidAndLinuxs) {
  make_bridge();
  join("wan0", kLan, {true, true, false, false, true});
  control.tick();
  EXPECT_EQ(bed->plane.bridges, nullptr);
  ASSERT_EQ(control.lines().size(), 1u);
  EXPECT_NE(control.lines()[0].find("bridge lan: its packets are Linux's"), std::string::npos);
  EXPECT_FALSE(control.status()[0].trouble.empty());
  join("wan0");
  control.tick();
  EXPECT_TRUE(control.lines().empty());
  EXPECT_NE(bed->plane.bridges, nullptr);
}

TEST_F(BridgeControlTest, WithoutMemoryForStationsABridgeIsLinuxs) {
  bed->plane.no_station_table = true;
  make_bridge();
  join("wan0");
  learn(1, "wan0");
  control.tick();
  control.tick_second();
  EXPECT_EQ(bed->plane.bridges, nullptr);
  EXPECT_FALSE(bed->interface("wan0").bridged);
  ASSERT_EQ(control.lines().size(), 1u);
  EXPECT_NE(control.lines()[0].find("no memory for its stations"), std::string::npos);
}

TEST_F(BridgeControlTest, MoreBridgesThanThereAreDomainsAreSaid) {
  for (int i = 0; i < 3; ++i) {
    LinuxLink link;
    link.ifindex = kLan + i;
    link.name = "br" + std::to_string(i);
    link.kind = "bridge";
    link.bridge = LinuxBridge{};
    say(link);
  }
  join("wan0", kLan), join("lan0", kLan + 1), join("lan1", kLan + 2);
  EXPECT_EQ(view("wan0")->bridge, 0);
  EXPECT_EQ(view("lan0")->bridge, 1);
  EXPECT_EQ(view("lan1")->bridge, 2);
  join("lan0", 0);
  EXPECT_EQ(view("lan1")->bridge, 2) << "it keeps its number";
  EXPECT_EQ(view("lan0"), nullptr);
}

TEST_F(BridgeControlTest, APortStaysPromiscuousWhenItIsChangedOrOpenedAnew) {
  make_bridge();
  join("wan0");
  control.tick();
  bed->said.clear();
  config::PortConfig wanted = bed->plane.running.at("wan0").config;
  wanted.promiscuous = true;
  ASSERT_TRUE(bed->interfaces.change_port(wanted));
  wanted.promiscuous = false;
  ASSERT_TRUE(bed->interfaces.change_port(wanted));
  EXPECT_EQ(bed->count("promiscuous wan0 false"), 0u);
  bed->plane.running.at("wan0").present = false;
  bed->plane.running.at("wan0").device_back = true;
  bed->interfaces.watch();
  EXPECT_EQ(bed->count("promiscuous wan0 true"), 1u);
}

TEST_F(BridgeControlTest, APortWithoutALinkDoesNotForward) {
  make_bridge();
  join("wan0"), join("lan0");
  EXPECT_TRUE(view("lan0")->forwards);
  bed->plane.running.at("lan0").link.up = false;
  bed->interfaces.poll_links();
  EXPECT_FALSE(view("lan0")->forwards);
  EXPECT_TRUE(view("wan0")->forwards);
  EXPECT_TRUE(bed->plane.interfaces.contains(bed->interface("lan").id));
}

}  // namespace
}  // namespace hecto::router::test
