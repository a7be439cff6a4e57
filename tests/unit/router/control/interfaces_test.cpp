#include "router/control/interface_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kWithVlan = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24], counters: true,
         vlans: {7: {addresses: [10.7.0.1/24], mtu: 1400}}}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]
neighbors: [{address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}]
)";

// A VLAN device that somebody made on a twin.
LinuxLink vlan_device(int ifindex, const std::string& name, int parent, uint16_t vlan) {
  LinuxLink link;
  link.ifindex = ifindex;
  link.name = name;
  link.mtu = 1500;
  link.up = link.carrier = true;
  link.parent = parent;
  link.vlan = vlan;
  return link;
}

TEST(InterfaceTable, GivesTheLowestFreeIdAgain) {
  InterfaceTable table;
  for (InterfaceId id = 0; id < 3; ++id) {
    Interface interface;
    interface.id = table.free_id();
    EXPECT_EQ(interface.id, id);
    table.insert(interface);
  }
  table.erase(1);
  EXPECT_EQ(table.free_id(), 1);
  for (InterfaceId id = 0; id <= kMaxInterfaceId; ++id) {
    Interface interface;
    interface.id = id;
    table.insert(interface);
  }
  EXPECT_EQ(table.free_id(), kNoInterface);
}

TEST(Interfaces, AVlanSendsNoMoreThanItsPort) {
  const auto bed = ControlBed::started(kWithVlan);
  EXPECT_EQ(bed->interface("wan0").mtu, 1500);
  EXPECT_EQ(bed->interface("wan0.7").mtu, 1400);
  EXPECT_EQ(bed->interface("wan0.7").port, bed->interface("wan0").port);
}

TEST(Interfaces, APortDownTakesItsInterfacesAndTwins) {
  const auto bed = ControlBed::started(kWithVlan, true);
  ASSERT_EQ(bed->way("203.0.113.5"), "wan0");
  bed->plane.running.at("wan0").link.up = false;
  bed->interfaces.poll_links();
  EXPECT_EQ(bed->way("203.0.113.5"), "interface_down");
  EXPECT_FALSE(bed->plane.interfaces.at(bed->interface("wan0").id).up);
  EXPECT_FALSE(bed->plane.interfaces.at(bed->interface("wan0.7").id).up);
  EXPECT_TRUE(bed->plane.interfaces.at(bed->interface("lan0").id).up);
  EXPECT_EQ(bed->linux_side.carrier.at("wan0.7"), false);
  bed->plane.running.at("wan0").link.up = true;
  bed->interfaces.poll_links();
  EXPECT_EQ(bed->way("203.0.113.5"), "wan0");
  EXPECT_EQ(bed->linux_side.carrier.at("wan0.7"), true);
}

TEST(Interfaces, ADeviceThatIsGoneIsToldOnce) {
  const auto bed = ControlBed::started(kWithVlan);
  bed->plane.running.at("wan0").present = false;
  bed->interfaces.watch();
  EXPECT_TRUE(bed->noted("port wan0: eth1 is gone"));
  EXPECT_EQ(bed->notes.lines().size(), 1u);
  bed->interfaces.poll_links();
  EXPECT_EQ(bed->way("203.0.113.5"), "interface_down");
}

TEST(Interfaces, ATwinThatIsGoneIsToldAndMadeAgain) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->interfaces.watch();
  EXPECT_TRUE(bed->notes.lines().empty());
  bed->linux_side.gone = {"lan0"};
  bed->interfaces.watch();
  EXPECT_TRUE(bed->noted("interface lan0: its TAP was deleted"));
  EXPECT_EQ(bed->count("twin lan0"), 1u);
  EXPECT_EQ(bed->count("twin wan0"), 0u);
}

TEST(Interfaces, AVlanDeviceOfLinuxComesAndGoes) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->events.link(vlan_device(50, "blue9", 11, 9), false);
  const Interface& made = bed->interface("blue9");
  EXPECT_TRUE(made.made_by_linux);
  EXPECT_EQ(made.port_name, "wan0");
  EXPECT_EQ(bed->linux_side.delivered.at("blue9"), "wan0");
  EXPECT_EQ(bed->linux_side.delivered.at("wan0.7"), "wan0.7");
  EXPECT_EQ(bed->count("twin blue9"), 0u);
  bed->events.link(vlan_device(50, "blue9", 11, 9), true);
  EXPECT_EQ(bed->interfaces.table().find("blue9"), nullptr);
  EXPECT_FALSE(bed->linux_side.delivered.contains("blue9"));
}

// What VRRP has: keepalived's use_vmac, and FRR's.
TEST(Interfaces, AMacvlanOfLinuxIsAnInterfaceOnItsParentsWire) {
  const auto bed = ControlBed::started(kWithVlan, true);
  LinuxLink link = vlan_device(50, "vrrp.51", 11, 0);
  link.kind = "macvlan";
  link.mac = {0, 0, 0x5e, 0, 1, 51};
  bed->events.link(link, false);
  const Interface& made = bed->interface("vrrp.51");
  EXPECT_TRUE(made.made_by_linux);
  EXPECT_EQ(made.port_name, "wan0");
  EXPECT_EQ(made.parent, bed->interface("wan0").id);
  EXPECT_EQ(made.mac, link.mac);
  EXPECT_EQ(made.urpf, bed->interface("wan0").urpf);
  EXPECT_EQ(bed->linux_side.delivered.at("vrrp.51"), "wan0");
  EXPECT_EQ(bed->interfaces.table().find(made.port, VlanTags{})->name, "wan0");
  link.mac[5] = 52;
  bed->events.link(link, false);
  EXPECT_EQ(bed->interface("vrrp.51").mac, link.mac);
  // On a VLAN of the file, whose twin takes its packets; and gone with it.
  LinuxLink on_vlan = vlan_device(51, "vrrp.7", bed->interface("wan0.7").ifindex, 0);
  on_vlan.mac = {0, 0, 0x5e, 0, 1, 7};
  bed->events.link(on_vlan, false);
  EXPECT_EQ(bed->interface("vrrp.7").tags.vlan, 7);
  EXPECT_EQ(bed->linux_side.delivered.at("vrrp.7"), "wan0.7");
  bed->events.link(link, true);
  EXPECT_EQ(bed->interfaces.table().find("vrrp.51"), nullptr);
  EXPECT_FALSE(bed->linux_side.delivered.contains("vrrp.51"));
}

TEST(Interfaces, WhatTheFastPathHasNoInterfaceForIsSaidOnce) {
  const auto bed = ControlBed::started(kWithVlan, true);
  LinuxLink link = vlan_device(50, "pass0", 11, 0);
  link.left_out = "a macvlan of mode passthru";
  bed->events.link(link, false);
  bed->events.link(link, false);
  EXPECT_EQ(bed->interfaces.table().find("pass0"), nullptr);
  EXPECT_TRUE(bed->noted("Linux's pass0 is a macvlan of mode passthru, on wan0: left alone"));
  EXPECT_EQ(bed->notes.lines().size(), 1u);
}

TEST(Interfaces, AVlanThatTheFileHasIsLeftAlone) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->events.link(vlan_device(50, "blue7", 11, 7), false);
  EXPECT_EQ(bed->interfaces.table().find("blue7"), nullptr);
  EXPECT_TRUE(bed->noted("Linux's blue7: VLAN 7 of wan0 is wan0.7 already; left alone"));
}

TEST(Interfaces, AVlanOnAVlanHasTwoTags) {
  const auto bed = ControlBed::started(kWithVlan, true);
  LinuxLink service = vlan_device(50, "s100", 11, 100);
  service.service_tag = true;
  bed->events.link(service, false);
  EXPECT_EQ(bed->interface("s100").tags, (VlanTags{100, 0, true}));
  bed->events.link(vlan_device(51, "s100.10", 50, 10), false);
  EXPECT_EQ(bed->interface("s100.10").tags, (VlanTags{10, 100, true}));
  EXPECT_EQ(bed->interface("s100.10").port_name, "wan0");
  EXPECT_EQ(bed->linux_side.delivered.at("s100.10"), "wan0");
  // Of 802.1Q both; and the same numbers the other way round are others.
  bed->events.link(vlan_device(52, "q10", 11, 10), false);
  bed->events.link(vlan_device(53, "q10.100", 52, 100), false);
  EXPECT_EQ(bed->interface("q10.100").tags, (VlanTags{100, 10, false}));
  // On a VLAN of the file, whose twin takes its packets.
  bed->events.link(vlan_device(54, "wan0.7.9", bed->interface("wan0.7").ifindex, 9), false);
  EXPECT_EQ(bed->interface("wan0.7.9").tags, (VlanTags{9, 7, false}));
  EXPECT_EQ(bed->linux_side.delivered.at("wan0.7.9"), "wan0.7");
  EXPECT_TRUE(bed->notes.lines().empty());
  bed->events.link(vlan_device(51, "s100.10", 50, 10), true);
  EXPECT_EQ(bed->interfaces.table().find("s100.10"), nullptr);
  EXPECT_NE(bed->interfaces.table().find("s100"), nullptr);
}

TEST(Interfaces, AVlanThatLinuxToldOfBeforeTheOneItIsOnIsFound) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->events.link(vlan_device(51, "q9.10", 50, 10), false);
  EXPECT_EQ(bed->interfaces.table().find("q9.10"), nullptr);
  bed->events.link(vlan_device(50, "q9", 11, 9), false);
  EXPECT_EQ(bed->interface("q9.10").tags, (VlanTags{10, 9, false}));
}

TEST(Interfaces, TagsThatTheFastPathDoesNotCarryAreSaidOnce) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->events.link(vlan_device(50, "q8", 11, 8), false);
  bed->events.link(vlan_device(51, "q8.9", 50, 9), false);
  const LinuxLink third = vlan_device(52, "q8.9.10", 51, 10);
  LinuxLink service = vlan_device(53, "q8.s", 50, 10);
  service.service_tag = true;
  for (int i = 0; i < 2; ++i) {
    bed->events.link(third, false);
    bed->events.link(service, false);
  }
  EXPECT_TRUE(bed->noted("Linux's q8.9.10 is a VLAN with three tags, on q8.9: left alone"));
  EXPECT_TRUE(bed->noted("Linux's q8.s is a VLAN of 802.1ad within another, on q8: left alone"));
  EXPECT_EQ(bed->notes.lines().size(), 2u);
  EXPECT_EQ(bed->interfaces.table().find("q8.9.10"), nullptr);
}

TEST(Interfaces, APortThatCannotTakeBothTagsBesideItsMtuIsSaid) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->plane.running.at("wan0").tag_bytes = 4;
  bed->events.link(vlan_device(50, "q8", 11, 8), false);
  EXPECT_TRUE(bed->notes.lines().empty());
  LinuxLink inner = vlan_device(51, "q8.9", 50, 9);
  inner.mtu = 1496;
  bed->events.link(inner, false);
  EXPECT_TRUE(bed->notes.lines().empty());
  bed->events.link(vlan_device(52, "q8.10", 50, 10), false);
  EXPECT_TRUE(bed->noted(
      "interface q8.10: with its tags frames of 1500 bytes are longer than net_fake takes "
      "at the port's MTU of 1500: 1496 fit"));
}

constexpr const char* kWithinVlans = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, vlans: {100: {protocol: 802.1ad, mtu: 1400, vlans: {10: {addresses: [10.9.0.1/24]}}}}}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
)";

TEST(Interfaces, AVlanWithinOneOfTheFileHasATwinOfItsOwn) {
  const auto bed = ControlBed::started(kWithinVlans, true);
  EXPECT_EQ(bed->interface("wan0.100").tags, (VlanTags{100, 0, true}));
  EXPECT_EQ(bed->interface("wan0.100.10").tags, (VlanTags{10, 100, true}));
  EXPECT_EQ(bed->interface("wan0.100.10").mtu, 1400);
  EXPECT_EQ(bed->linux_side.delivered.at("wan0.100.10"), "wan0.100.10");
}

TEST(Interfaces, AnMtuFromLinuxReachesThePortAndItsVlans) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->link(11, true, 1300);
  EXPECT_EQ(bed->plane.running.at("wan0").mtu, 1300);
  EXPECT_EQ(bed->interface("wan0.7").mtu, 1300);
  EXPECT_EQ(bed->count("twin mtu wan0.7 1300"), 1u);
  EXPECT_EQ(bed->interface("lan0").mtu, 1500);
  bed->link(11, true, 1500);
  EXPECT_EQ(bed->interface("wan0.7").mtu, 1400);  // its own again
}

TEST(Interfaces, AnMtuThatThePortRefusesIsToldAndTakenBack) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->link(11, true, 9500);
  EXPECT_EQ(bed->interface("wan0").mtu, 1500);
  EXPECT_TRUE(
      bed->noted("Linux wants another MTU, the port and its TAP keep 1500: port wan0: MTU "
                 "9500 is too large"));
  EXPECT_EQ(bed->count("twin mtu wan0 1500"), 1u);
  bed->link(11, true, 1500);
  EXPECT_EQ(bed->count("twin mtu wan0 1500"), 1u);
}

TEST(Interfaces, ComingUpAgainLinuxGetsBackWhatItForgot) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->link(11, true);
  bed->plane.publish();
  bed->said.clear();
  bed->link(11, true);
  EXPECT_EQ(bed->count("address 11 192.0.2.1/24"), 0u);  // it was up
  bed->link(11, false);
  EXPECT_EQ(bed->way("203.0.113.5"), "interface_down");
  bed->plane.publish();
  bed->link(11, true);
  EXPECT_LT(bed->at("address 11 192.0.2.1/24"), bed->at("route 203.0.113.0/24"));
  EXPECT_EQ(bed->count("neighbor 11 192.0.2.9"), 1u);
  EXPECT_EQ(bed->count("route 203.0.113.0/24"), 1u);
  EXPECT_EQ(bed->count("address 13 10.1.0.1/24"), 0u);  // of another
}

TEST(Interfaces, AddressesOfLinuxReachWhoAnswersFromThem) {
  const auto bed = ControlBed::started(kWithVlan, true);
  const InterfaceId id = bed->interface("wan0").id;
  bed->events.address({11, *IpPrefix::parse_interface("198.18.0.1/24")}, false);
  EXPECT_EQ(bed->plane.interfaces.at(id).addresses.size(), 1u);
  bed->interfaces.refresh_addresses();
  EXPECT_EQ(bed->plane.interfaces.at(id).addresses.size(), 2u);
}

TEST(Interfaces, LinuxsSwitchesReachTheWorkersAndAreReadAgain) {
  ControlBed bed(kWithVlan, true);
  bed.linux_side.switched["wan0"].rp_filter = UrpfMode::kLoose;
  ASSERT_TRUE(bed.start());
  const InterfaceId wan = bed.interface("wan0").id, lan = bed.interface("lan0").id;
  EXPECT_EQ(bed.plane.interfaces.at(wan).switches.rp_filter, UrpfMode::kLoose) << "at its start";
  EXPECT_EQ(bed.plane.interfaces.at(lan).switches, InterfaceSwitches{});
  bed.linux_side.switched["lan0"].forwards4 = false;
  bed.linux_side.switched.erase("wan0");
  bed.interfaces.follow_switches();
  EXPECT_FALSE(bed.plane.interfaces.at(lan).switches.forwards4);
  EXPECT_TRUE(bed.plane.interfaces.at(lan).switches.forwards6);
  EXPECT_EQ(bed.plane.interfaces.at(wan).switches, InterfaceSwitches{});
}

// Linux would answer "unreachable" for what goes back by a route that it has not.
TEST(Interfaces, NoRedirectsWhileLinuxLacksRoutesOfTheApi) {
  ControlBed bed(kWithVlan, true);
  bed.linux_side.switched["wan0"].redirects4 = bed.linux_side.switched["wan0"].redirects6 = true;
  ASSERT_TRUE(bed.start());
  const auto& wan = bed.plane.interfaces.at(bed.interface("wan0").id).switches;
  EXPECT_TRUE(wan.redirects4 && wan.redirects6);
  config::RouteConfig route;
  route.to = *IpPrefix::parse("198.51.100.0/24");
  route.via.push_back({});
  route.via[0].gateway = bed.interface("wan0").addresses.at(0).network().address;
  ASSERT_TRUE(bed.routes.add(route, RouteOrigin::kApi));
  bed.interfaces.follow_switches();
  EXPECT_FALSE(wan.redirects4 || wan.redirects6);
  ASSERT_TRUE(bed.routes.remove(route.to, 0, RouteOrigin::kApi));
  bed.interfaces.follow_switches();
  EXPECT_TRUE(wan.redirects4 && wan.redirects6);
}

TEST(Interfaces, SwitchesOfManyInterfacesAreReadInTurn) {
  std::string yaml = "workers: {0: [1]}\nports:\n  wan0: {device: eth1, vlans: {";
  for (int vlan = 1; vlan <= 300; ++vlan) yaml += fmt::format("{}: {{}}, ", vlan);
  const auto bed = ControlBed::started(yaml + "}}\n", true);
  for (const auto& [id, interface] : bed->interfaces.table().all())
    bed->linux_side.switched[interface.name].forwards6 = false;
  const auto followed = [&] {
    return std::count_if(bed->plane.interfaces.begin(), bed->plane.interfaces.end(),
                         [](const auto& each) { return !each.second.switches.forwards6; });
  };
  for (const long wanted : {128L, 256L, 301L, 301L}) {
    bed->interfaces.follow_switches();
    EXPECT_EQ(followed(), wanted);
  }
}

TEST(Interfaces, ANumberThatIsUsedAgainCountsFromZero) {
  const auto bed = ControlBed::started(kWithVlan);
  const InterfaceId id = bed->interface("lan0").id;
  const PortId port = bed->plane.running.at("lan0").id;
  bed->totals.interfaces[id].rx_packets = 100;
  bed->totals.ports[port].rx_packets = 100;
  bed->interfaces.remove_port("lan0");
  ASSERT_TRUE(bed->interfaces.add_port(bed->running.config.ports[1], bed->running.placement));
  ASSERT_EQ(bed->interface("lan0").id, id);
  bed->totals.interfaces[id].rx_packets = 107;
  bed->totals.ports[port].rx_packets = 108;
  EXPECT_EQ(bed->sampler.interface(bed->sampler.collect(), id).rx_packets, 7u);
  EXPECT_EQ(bed->sampler.port(bed->sampler.collect(), port).rx_packets, 8u);
}

TEST(Interfaces, TheSlowPathLetsGoBeforeThePortCloses) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->interfaces.remove_port("wan0");
  EXPECT_EQ(bed->said, (Said{"no twin wan0", "no twin wan0.7", "deliver", "remove port wan0"}));
  EXPECT_EQ(bed->way("203.0.113.5"), "interface_down");  // the route is the file's, and stays
  EXPECT_EQ(bed->interfaces.table().all().size(), 1u);
  EXPECT_EQ(bed->plane.interfaces.size(), 1u);
}

TEST(Interfaces, NeighborsOfTheFileAreRemovedFromBoth) {
  const auto bed = ControlBed::started(kWithVlan, true);
  bed->interfaces.remove_neighbor(bed->running.config.neighbors[0]);
  EXPECT_EQ(bed->way("203.0.113.5"), "glean");
  EXPECT_EQ(bed->said, Said{"no neighbor 11 192.0.2.9"});
}

TEST(Notes, KeepsTheNewestFiftyOnce) {
  Notes notes;
  notes.add("again");
  notes.add("again");
  EXPECT_EQ(notes.lines().size(), 1u);
  for (size_t i = 0; i < Notes::kMost; ++i) notes.add(fmt::format("line {}", i));
  EXPECT_EQ(notes.lines().size(), Notes::kMost);
  EXPECT_EQ(notes.lines().front(), "line 0");
}

// Filters, rules and flows know interfaces by the names that routing has.
TEST(Interfaces, ARenamedDeviceIsKnownByItsNewName) {
  const auto bed = ControlBed::started(kWithVlan, true);
  LinuxLink link = vlan_device(50, "guests", 11, 9);
  bed->events.link(link, false);
  const InterfaceId id = bed->interface("guests").id;
  const uint64_t version = bed->routing.interfaces().version();
  link.name = "visitors";
  bed->events.link(link, false);
  EXPECT_EQ(bed->routing.interfaces().all().at(id).name, "visitors");
  EXPECT_NE(bed->routing.interfaces().version(), version);
  EXPECT_EQ(bed->interfaces.table().find("guests"), nullptr);
}

}  // namespace
}  // namespace hecto::router::test
