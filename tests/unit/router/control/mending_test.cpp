// What somebody does to twins and devices.
#include <thread>

#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kMended = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]
)";

LinuxLink link_of(const Interface& interface) {
  LinuxLink link;
  link.ifindex = interface.ifindex;
  link.name = interface.name;
  link.mac = interface.mac;
  link.mtu = interface.mtu;
  link.up = link.carrier = true;
  return link;
}

class Mending : public testing::Test {
 protected:
  Mending() : bed_(ControlBed::started(kMended, true)) {
    for (const char* name : {"wan0", "lan0"}) bed_->events.link(link_of(wan(name)), false);
    bed_->said.clear();
  }
  const Interface& wan(const std::string& name = "wan0") const { return bed_->interface(name); }
  std::unique_ptr<ControlBed> bed_;
};

TEST_F(Mending, AFirstVlanOpensAPortOfAfXdpAnew) {
  bed_->plane.running.at("wan0").driver = "net_af_xdp";
  const int twin = wan().ifindex;
  config::PortConfig wanted = bed_->running.config.ports[0];
  wanted.vlans.emplace_back().id = 7;
  ASSERT_TRUE(bed_->interfaces.change_port(wanted));
  EXPECT_EQ(bed_->count("remove port wan0"), 1u);
  EXPECT_EQ(bed_->count("add port wan0"), 1u);
  EXPECT_EQ(wan().ifindex, twin);
  EXPECT_EQ(bed_->interface("wan0.7").port, wan().port);
  EXPECT_EQ(bed_->plane.running.at("wan0").config.vlans.size(), 1u);
  EXPECT_TRUE(bed_->noted("port wan0: opened anew as net_fake, which shows VLAN tags"));
  wanted.vlans.emplace_back().id = 8;
  ASSERT_TRUE(bed_->interfaces.change_port(wanted));
  EXPECT_EQ(bed_->count("add port wan0"), 1u);
}

TEST_F(Mending, APortOfAfXdpThatCannotBeOpenedForAVlanIsRefusedAndTriedAgain) {
  bed_->plane.running.at("wan0").driver = "net_af_xdp";
  bed_->plane.refused = {"wan0"};
  config::PortConfig wanted = bed_->running.config.ports[0];
  wanted.vlans.emplace_back().id = 7;
  const auto done = bed_->interfaces.change_port(wanted);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "port wan0: the driver refused");
  bed_->plane.refused.clear();
  ASSERT_TRUE(bed_->interfaces.change_port(bed_->running.config.ports[0]));  // taken back
  bed_->interfaces.watch();
  EXPECT_EQ(bed_->interface("wan0").up, true);
  EXPECT_EQ(bed_->interfaces.table().find("wan0.7"), nullptr);
}

TEST_F(Mending, ARenamedTwinGetsItsNameBack) {
  LinuxLink link = link_of(wan());
  link.name = "surprise";
  bed_->events.link(link, false);
  EXPECT_EQ(bed_->count("twin name wan0"), 1u);
  EXPECT_TRUE(bed_->noted("interface wan0: its TAP was renamed to surprise"));
  EXPECT_EQ(wan().trouble, "");
  bed_->events.link(link_of(wan()), false);
  EXPECT_EQ(bed_->count("twin name wan0"), 1u);
}

TEST_F(Mending, ATwinWithAnotherMacGetsItsOwnBack) {
  LinuxLink link = link_of(wan());
  link.mac = {2, 0, 0, 0, 0, 0x99};
  bed_->events.link(link, false);
  EXPECT_EQ(bed_->count("twin mac wan0"), 1u);
  EXPECT_EQ(wan().mac, bed_->plane.running.at("wan0").mac);
  EXPECT_TRUE(bed_->noted("02:00:00:00:00:99"));
}

TEST_F(Mending, ATwinThatWentIsMadeAgainWithItsAddressesAndRoutes) {
  const int before = wan().ifindex;
  bed_->events.link(link_of(wan()), true);
  EXPECT_NE(wan().ifindex, before);
  EXPECT_FALSE(wan().twin_gone);
  EXPECT_EQ(wan().trouble, "");
  EXPECT_EQ(bed_->count(fmt::format("address {} 192.0.2.1/24", wan().ifindex)), 1u);
  EXPECT_EQ(bed_->count("route 203.0.113.0/24"), 1u);
  EXPECT_EQ(bed_->linux_side.delivered.at("wan0"), "wan0");
  EXPECT_TRUE(bed_->noted("interface wan0: its TAP was deleted, or moved"));
  EXPECT_EQ(bed_->count("twin lan0"), 0u);
}

TEST_F(Mending, OneThatCannotBeMadeAgainIsSaidOnceAndTriedLater) {
  bed_->linux_side.refused = {"wan0"};
  bed_->events.link(link_of(wan()), true);
  EXPECT_TRUE(wan().twin_gone);
  EXPECT_EQ(wan().trouble, "no TAP for wan0");
  const size_t lines = bed_->notes.lines().size();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(bed_->interfaces.watch());
  EXPECT_EQ(bed_->notes.lines().size(), lines);
  bed_->linux_side.refused.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_TRUE(bed_->interfaces.watch());
  EXPECT_FALSE(wan().twin_gone);
  EXPECT_EQ(wan().trouble, "");
}

TEST_F(Mending, AFightIsFoughtLessAndLessOften) {
  for (int i = 0; i < 1000; ++i) {
    LinuxLink link = link_of(wan());
    link.name = "mine";
    bed_->events.link(link, false);
  }
  EXPECT_LE(bed_->count("twin name wan0"), 5u);
  EXPECT_GE(bed_->count("twin name wan0"), 1u);
}

// The kernel tells of each step of a TAP's making, and the mirror hears it later.
TEST_F(Mending, OldNewsAreNoNews) {
  bed_->linux_side.states[wan().id] = {wan().name, wan().mac, true};
  LinuxLink link = link_of(wan());
  link.mac = {0x02, 9, 9, 9, 9, 9};
  link.up = false;
  const size_t lines = bed_->notes.lines().size();
  bed_->events.link(link, false);
  EXPECT_EQ(bed_->count("twin mac wan0"), 0u);
  EXPECT_EQ(bed_->notes.lines().size(), lines);
  EXPECT_EQ(wan().trouble, "");
}

TEST_F(Mending, ATwinSetDownIsSaid) {
  LinuxLink link = link_of(wan());
  link.up = link.carrier = false;
  bed_->events.link(link, false);
  EXPECT_EQ(wan().trouble, "set down in Linux");
  bed_->events.link(link_of(wan()), false);
  EXPECT_EQ(wan().trouble, "");
}

TEST_F(Mending, APortWhoseDeviceIsBackIsOpenedUnderTheSameTwin) {
  const int index = wan().ifindex;
  PortStatus& port = bed_->plane.running.at("wan0");
  port.present = false;
  EXPECT_FALSE(bed_->interfaces.watch());
  EXPECT_EQ(bed_->count("remove port wan0"), 0u);
  port.device_back = true;
  EXPECT_TRUE(bed_->interfaces.watch());
  EXPECT_EQ(bed_->count("remove port wan0"), 1u);
  EXPECT_EQ(bed_->count("add port wan0"), 1u);
  EXPECT_EQ(bed_->count("no twin wan0"), 0u);
  EXPECT_EQ(wan().ifindex, index);
  EXPECT_TRUE(bed_->linux_side.suspended.empty());
  EXPECT_EQ(bed_->linux_side.delivered.at("wan0"), "wan0");
  EXPECT_TRUE(bed_->noted("port wan0: eth1 is back and used again"));
  EXPECT_FALSE(bed_->interfaces.watch());
  EXPECT_EQ(bed_->way("203.0.113.5"), "glean");
}

TEST_F(Mending, AndWhereItCannotBeUsedItIsTriedLater) {
  PortStatus& port = bed_->plane.running.at("wan0");
  port.present = false;
  port.device_back = true;
  bed_->plane.refused = {"wan0"};
  EXPECT_FALSE(bed_->interfaces.watch());
  EXPECT_EQ(bed_->interfaces.table().find("wan0"), nullptr);
  EXPECT_TRUE(bed_->noted("port wan0: eth1 is back but cannot be used"));
  // A reload that changes the port meanwhile does no harm.
  config::PortConfig changed = bed_->running.config.ports[0];
  changed.addresses.push_back(*IpPrefix::parse_interface("198.18.0.1/24"));
  EXPECT_TRUE(bed_->interfaces.change_port(changed));
  bed_->plane.refused.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_TRUE(bed_->interfaces.watch());
  EXPECT_EQ(wan().addresses.size(), 2u);
  EXPECT_TRUE(bed_->linux_side.delivered.contains("wan0"));
}

// Routes name interfaces by number: nobody else may come to have one of a port that is to be back.
TEST_F(Mending, OneThatRefusesKeepsItsNumbersAndIsShown) {
  const InterfaceId id = wan().id, beside = wan("lan0").id;
  ASSERT_LT(id, beside);
  PortStatus& port = bed_->plane.running.at("wan0");
  port.present = false;
  port.device_back = true;
  bed_->plane.refused = {"wan0"};
  EXPECT_FALSE(bed_->interfaces.watch());
  const auto lost = bed_->interfaces.lost_ports();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].name(), "wan0");
  EXPECT_FALSE(lost[0].up());
  EXPECT_EQ(lost[0].trouble, "eth1 is back but cannot be used: port wan0: the driver refused");
  config::PortConfig other;
  other.name = "dmz0";
  other.device = "eth3";
  ASSERT_TRUE(bed_->interfaces.add_port(other, bed_->running.placement));
  EXPECT_GT(wan("dmz0").id, beside);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_FALSE(bed_->interfaces.watch()) << "still refused";
  ASSERT_EQ(bed_->interfaces.lost_ports().size(), 1u);
  bed_->plane.refused.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_TRUE(bed_->interfaces.watch());
  EXPECT_EQ(wan().id, id);
  EXPECT_TRUE(bed_->interfaces.lost_ports().empty());
  // One that the file gives up keeps nothing.
  bed_->plane.running.at("wan0").present = false;
  bed_->plane.running.at("wan0").device_back = true;
  bed_->plane.refused = {"wan0"};
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_FALSE(bed_->interfaces.watch());
  ASSERT_EQ(bed_->interfaces.lost_ports().size(), 1u);
  bed_->interfaces.remove_port("wan0");
  EXPECT_TRUE(bed_->interfaces.lost_ports().empty());
  other.name = "dmz1";
  ASSERT_TRUE(bed_->interfaces.add_port(other, bed_->running.placement));
  EXPECT_EQ(wan("dmz1").id, id);
}

// The kernel waits until it is let go, and nobody says when it is back.
TEST_F(Mending, ANicThatIsTakenOutIsLetGoAndTriedUntilItIsBack) {
  const InterfaceId id = wan().id;
  PortStatus& port = bed_->plane.running.at("wan0");
  port.config.kind = config::DeviceKind::kPci;
  port.present = false;
  bed_->plane.refused = {"wan0"};
  EXPECT_FALSE(bed_->interfaces.watch());
  EXPECT_EQ(bed_->count("remove port wan0"), 1u);
  EXPECT_TRUE(
      bed_->noted("port wan0: eth1 is gone; its interfaces are down, the other ports go on"));
  EXPECT_EQ(bed_->way("203.0.113.9"), "interface_down");
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_FALSE(bed_->interfaces.watch());
  const auto lost = bed_->interfaces.lost_ports();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_FALSE(lost[0].present);
  EXPECT_EQ(lost[0].trouble, "port wan0: the driver refused");
  bed_->plane.refused.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_TRUE(bed_->interfaces.watch());
  EXPECT_EQ(wan().id, id);
  EXPECT_TRUE(bed_->interfaces.lost_ports().empty());
  EXPECT_TRUE(bed_->noted("port wan0: eth1 is used again"));
}

TEST_F(Mending, WhatThePlaneMendedIsSaid) {
  bed_->plane.mended = {"port wan0: its XDP program was taken off eth1 and does not go back: no"};
  (void)bed_->interfaces.watch();
  EXPECT_TRUE(bed_->noted("port wan0: its XDP program"));
}

}  // namespace
}  // namespace hecto::router::test
