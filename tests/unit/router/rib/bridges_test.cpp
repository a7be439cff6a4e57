#include "router/rib/bridges.hpp"

#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr int kLan = 40, kPort = 11, kOther = 12;
const MacAddress kAnn = mac(1), kBob = mac(2);

LinuxLink bridge_link(bool filters = false) {
  LinuxLink link;
  link.ifindex = kLan;
  link.name = "lan";
  link.kind = "bridge";
  link.bridge = LinuxBridge{filters, false, 30'000};
  return link;
}

LinuxLink port_link(int ifindex) {
  LinuxLink link;
  link.ifindex = ifindex;
  link.master = kLan;
  link.bridge_port = LinuxBridgePort{};
  return link;
}

class BridgesTest : public testing::Test {
 protected:
  BridgesTest() {
    bridges.set_link(bridge_link(), 1);
    bridges.set_link(port_link(kPort), 1);
    bridges.set_link(port_link(kOther), 1);
  }
  bool learn(const MacAddress& mac, int port, uint16_t vlan = 0) {
    return bridges.set_entry({kLan, port, vlan, mac, false, false}, 1);
  }
  void in_vlans(int ifindex, uint16_t first, uint16_t last, bool untagged = false) {
    bridges.set_vlans({ifindex, first, last, untagged, untagged}, false);
  }
  Bridges bridges;
};

TEST_F(BridgesTest, TellsWhatChanged) {
  const uint64_t version = bridges.version();
  EXPECT_FALSE(bridges.set_link(port_link(kPort), 1)) << "the same again";
  EXPECT_EQ(bridges.version(), version);
  EXPECT_TRUE(bridges.set_port(kPort, {false, true, false, false, false}));
  EXPECT_FALSE(bridges.set_port(kPort, {false, true, false, false, false}));
  EXPECT_FALSE(bridges.set_port(99, {}));
  EXPECT_GT(bridges.version(), version);
  LinuxLink left = port_link(kPort);
  left.master = 0;
  left.bridge_port.reset();
  EXPECT_TRUE(bridges.set_link(left, 1));
  EXPECT_EQ(bridges.ports().size(), 1u);
}

TEST_F(BridgesTest, EntriesComeMoveAndGo) {
  EXPECT_TRUE(learn(kAnn, kPort));
  EXPECT_FALSE(learn(kAnn, kPort));
  EXPECT_EQ(bridges.entries_of(kPort), 1u);
  EXPECT_TRUE(learn(kAnn, kOther));
  EXPECT_EQ(bridges.entries_of(kPort), 0u);
  EXPECT_EQ(bridges.entries_of(kOther), 1u);
  EXPECT_TRUE(bridges.set_entry({kLan, kOther, 0, kBob, true, true}, 1));
  EXPECT_EQ(bridges.entries_of(kOther), 1u) << "its own address is no station";
  EXPECT_EQ(bridges.take_changes().size(), 3u);
  EXPECT_TRUE(bridges.remove_entry({kLan, kOther, 0, kAnn, false, false}));
  EXPECT_FALSE(bridges.remove_entry({kLan, kOther, 0, kAnn, false, false}));
  EXPECT_EQ(bridges.take_changes().size(), 1u);
  EXPECT_EQ(bridges.entries_of(kOther), 0u);
}

TEST_F(BridgesTest, WhatAResyncDoesNotRepeatIsGone) {
  learn(kAnn, kPort), learn(kBob, kPort);
  in_vlans(kPort, 1, 10);
  (void)bridges.take_changes();
  bridges.resync_begin();
  bridges.set_link(bridge_link(), 2);
  bridges.set_link(port_link(kPort), 2);
  in_vlans(kPort, 5, 5);
  bridges.set_entry({kLan, kPort, 0, kBob, false, false}, 2);
  EXPECT_TRUE(bridges.vlans(kPort).allowed[1]) << "till it has ended";
  EXPECT_TRUE(bridges.sweep(2));
  EXPECT_EQ(bridges.ports().size(), 1u);
  EXPECT_EQ(bridges.vlans(kPort).allowed.count(), 1u);
  EXPECT_EQ(bridges.find({kLan, 0, kAnn}), nullptr);
  EXPECT_NE(bridges.find({kLan, 0, kBob}), nullptr);
  EXPECT_EQ(bridges.take_changes().size(), 1u);
  bridges.resync_begin();
  bridges.set_link(bridge_link(), 3);
  bridges.set_link(port_link(kPort), 3);
  in_vlans(kPort, 5, 5);
  bridges.set_entry({kLan, kPort, 0, kBob, false, false}, 3);
  EXPECT_FALSE(bridges.sweep(3));
}

TEST_F(BridgesTest, ThePvidIsTheLastThatWasTold) {
  in_vlans(kPort, 1, 1, true);
  EXPECT_EQ(bridges.vlans(kPort).pvid, 1);
  bridges.set_vlans({kPort, 10, 10, true, true}, false);
  EXPECT_EQ(bridges.vlans(kPort).pvid, 10);
  bridges.set_vlans({kPort, 10, 10, false, false}, true);
  EXPECT_EQ(bridges.vlans(kPort).pvid, 0);
  EXPECT_TRUE(bridges.vlans(kPort).untagged[1]);
  bridges.set_vlans({kPort, 4094, 9999, false, false}, false);
  EXPECT_TRUE(bridges.vlans(kPort).allowed[4094]);
}

TEST_F(BridgesTest, AStationsPortIsItsEgress) {
  EXPECT_FALSE(bridges.egress(kLan, 0, kAnn));
  learn(kAnn, kPort);
  ASSERT_TRUE(bridges.egress(kLan, 0, kAnn));
  EXPECT_EQ(bridges.egress(kLan, 0, kAnn)->port, kPort);
  EXPECT_EQ(bridges.egress(kLan, 5, kAnn)->vlan, 5) << "of lan.5, on a bridge that does not filter";
  bridges.set_port(kPort, {false, false, false, false, false});
  EXPECT_FALSE(bridges.egress(kLan, 0, kAnn)) << "it does not forward";
  EXPECT_FALSE(bridges.egress(99, 0, kAnn));
}

TEST_F(BridgesTest, AFilteringBridgeTagsAsItsPortWants) {
  bridges.set_link(bridge_link(true), 1);
  learn(kAnn, kPort, 1), learn(kBob, kPort, 7);
  EXPECT_FALSE(bridges.egress(kLan, 0, kAnn)) << "the bridge itself is in no VLAN";
  in_vlans(kLan, 1, 1, true);
  EXPECT_FALSE(bridges.egress(kLan, 0, kAnn)) << "nor is the port";
  in_vlans(kPort, 1, 1, true);
  ASSERT_TRUE(bridges.egress(kLan, 0, kAnn));
  EXPECT_EQ(bridges.egress(kLan, 0, kAnn)->vlan, 0);
  in_vlans(kLan, 7, 7), in_vlans(kPort, 7, 7);
  EXPECT_EQ(bridges.egress(kLan, 7, kBob)->vlan, 7);
  EXPECT_FALSE(bridges.egress(kLan, 7, kAnn)) << "known in VLAN 1 only";
}

// By the routes' way: a next hop on a bridge follows its neighbor's station.
TEST(BridgeNextHops, LeaveByThePortWhereTheNeighborIs) {
  Bed bed;
  bed.add_interface(0);
  bed.add_interface(1);
  InterfaceState lan;
  lan.id = 2;
  lan.name = "lan";
  lan.port = kNoPort;
  lan.bridge = lan.ifindex = kLan;
  lan.mac = mac(0xee);
  ASSERT_TRUE(bed.routing->add_interface(lan));
  LinuxLink up = bridge_link();
  up.up = up.carrier = true;
  up.mtu = 1500;
  bed.routing->link(up, false);
  for (const int ifindex : {11, 12}) {
    LinuxLink port = port_link(ifindex);
    port.up = port.carrier = true;
    port.mtu = ifindex == 12 ? 1400 : 1500;
    bed.routing->link(port, false);
  }
  bed.neighbor(kLan, "10.9.0.1", 1);
  bed.routing->route(linux_route("203.0.113.0/24", {hop(kLan, "10.9.0.1")}), false, false);
  const auto record = [&] {
    bed.routing->commit();
    return bed.routing->explain(ip("203.0.113.1")).group->record;
  };
  EXPECT_EQ(record().kind, lookup::RecordKind::kPunt) << "Linux finds it";
  bed.routing->fdb_entry({kLan, 12, 0, mac(1), false, false}, false);
  EXPECT_EQ(record().kind, lookup::RecordKind::kForward);
  EXPECT_EQ(record().port, bed.routing->interfaces().find(InterfaceId(1))->port);
  EXPECT_EQ(record().interface, 2);
  EXPECT_EQ(record().mtu, 1400);
  bed.routing->fdb_entry({kLan, 11, 0, mac(1), false, false}, false);
  EXPECT_EQ(record().port, bed.routing->interfaces().find(InterfaceId(0))->port) << "it has moved";
  bed.routing->fdb_entry({kLan, 11, 0, mac(1), false, false}, true);
  EXPECT_EQ(record().kind, lookup::RecordKind::kPunt);
}

}  // namespace
}  // namespace hecto::router::test
