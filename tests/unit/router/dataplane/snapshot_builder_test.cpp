// What workers read of ports, queues and interfaces.
#include "router/dataplane/snapshot_builder.hpp"

#include <gtest/gtest.h>

namespace hecto::router::test {
namespace {

// A transmit queue for each of two workers and the slow path, and some to spare.
SnapshotBuilder::PortSetup port(PortId id, std::vector<unsigned> queue_workers) {
  SnapshotBuilder::PortSetup setup;
  setup.transmit.resize(4);
  for (QueueId queue = 0; queue < 4; ++queue) setup.transmit[queue].queue = queue;
  setup.id = id;
  setup.mac = {0x02, 0, 0, 0, 0, static_cast<uint8_t>(id)};
  setup.queue_workers = std::move(queue_workers);
  return setup;
}

InterfaceSetup interface(InterfaceId id, PortId port, uint16_t vlan, bool up) {
  InterfaceSetup setup;
  setup.id = id;
  setup.port = port;
  setup.tags.vlan = vlan;
  setup.up = up;
  return setup;
}

std::unique_ptr<Snapshot> finish(SnapshotBuilder& builder) {
  return builder.finish(SnapshotSettings{}, true, 7);
}

TEST(SnapshotBuilder, GivesEachQueueToItsWorkerAndEachThreadATransmitQueue) {
  SnapshotBuilder builder(2);
  builder.add_port(port(3, {1, 0, 1}));
  const auto snapshot = finish(builder);
  EXPECT_EQ(snapshot->generation, 7u);
  EXPECT_TRUE(snapshot->linux_side);
  ASSERT_EQ(snapshot->workers[0].queues.size(), 1u);
  EXPECT_EQ(snapshot->workers[0].queues[0].queue, 1u);
  ASSERT_EQ(snapshot->workers[1].queues.size(), 2u);
  EXPECT_EQ(snapshot->workers[1].queues[1].queue, 2u);
  EXPECT_EQ(snapshot->workers[0].transmit[3].queue, 0u);
  EXPECT_EQ(snapshot->workers[1].transmit[3].queue, 1u);
  EXPECT_EQ(snapshot->slow_path[3].queue, 2u);
  EXPECT_EQ(snapshot->workers[0].transmit[4].queue, TransmitPath::kNone);
  EXPECT_TRUE(snapshot->ports[3].present);
  EXPECT_EQ(snapshot->ports[3].mac, 0x030000000002u);
}

// By a queue of its own: what another thread hands over it would not send by itself.
TEST(SnapshotBuilder, OneReceiverOfABondSendsItsLacpdus) {
  SnapshotBuilder builder(2);
  SnapshotBuilder::PortSetup bond = port(3, {0, 1});
  bond.sends_lacp = true;
  bond.transmit[0].handoff = reinterpret_cast<rte_ring*>(0x1000);
  builder.add_port(bond);
  builder.add_port(port(4, {0}));
  const auto snapshot = finish(builder);
  EXPECT_TRUE(snapshot->workers[0].lacp.empty());
  ASSERT_EQ(snapshot->workers[1].lacp.size(), 1u);
  EXPECT_EQ(snapshot->workers[1].lacp[0].port, 3u);
  EXPECT_EQ(snapshot->workers[1].lacp[0].queue, 1u);
}

TEST(SnapshotBuilder, KernelInterfacesAndBondsAreWatchedAndNoOthers) {
  SnapshotBuilder builder(1);
  SnapshotBuilder::PortSetup kernel = port(1, {0}), bond = port(2, {0});
  kernel.longest_frame = 1522;
  bond.bond = true;
  builder.add_port(port(0, {0}));
  builder.add_port(kernel);
  builder.add_port(bond);
  const auto snapshot = finish(builder);
  EXPECT_FALSE(snapshot->ports[0].watched);
  EXPECT_TRUE(snapshot->ports[1].watched && !snapshot->ports[1].bond);
  EXPECT_TRUE(snapshot->ports[2].watched && snapshot->ports[2].bond);
}

TEST(SnapshotBuilder, TakesTheWordOfNicsThatCheckChecksums) {
  SnapshotBuilder builder(1);
  SnapshotBuilder::PortSetup checks = port(1, {0});
  checks.checks_ipv4 = true;
  builder.add_port(port(0, {0}));
  builder.add_port(checks);
  const auto snapshot = finish(builder);
  EXPECT_FALSE(snapshot->ports[0].trusts_checksums);
  EXPECT_TRUE(snapshot->ports[1].trusts_checksums);
}

TEST(SnapshotBuilder, AWorkerWaitsWhereEachOfItsQueuesSaysWhenSomethingCame) {
  SnapshotBuilder builder(3);
  SnapshotBuilder::PortSetup says = port(0, {0, 1}), mute = port(1, {1});
  says.wakes = says.interrupts = true;
  builder.add_port(says);
  builder.add_port(mute);
  SnapshotSettings settings;
  settings.idle = {IdleMode::kInterrupt, IdleMode::kAdaptive};
  const auto snapshot = builder.finish(settings, true, 7);
  EXPECT_TRUE(snapshot->workers[0].can_wait);
  EXPECT_TRUE(snapshot->workers[0].queues[0].interrupts);
  EXPECT_FALSE(snapshot->workers[1].can_wait);
  EXPECT_FALSE(snapshot->workers[1].queues[1].interrupts);
  EXPECT_TRUE(snapshot->workers[2].can_wait) << "it has none";
  EXPECT_EQ(snapshot->workers[0].idle, IdleMode::kInterrupt);
  EXPECT_EQ(snapshot->workers[1].idle, IdleMode::kAdaptive);
  EXPECT_EQ(snapshot->workers[2].idle, IdleMode::kSleep);
}

TEST(SnapshotBuilder, GivesEachThreadItsPathAndEachOwnerTheRingsThatItDrains) {
  SnapshotBuilder builder(2);
  auto* const first = reinterpret_cast<rte_ring*>(0x1000);
  auto* const second = reinterpret_cast<rte_ring*>(0x1100);
  auto* const wakeup = reinterpret_cast<Wakeup*>(0x2000);
  SnapshotBuilder::PortSetup setup = port(0, {1});
  setup.transmit[0] = {0, true, false, first, wakeup};
  setup.transmit[1] = {0, true};
  setup.transmit[2] = {0, true, false, second, wakeup};
  setup.handoffs = {{first, 1}, {second, 1}};
  builder.add_port(setup);
  const auto snapshot = finish(builder);
  EXPECT_EQ(snapshot->workers[0].transmit[0].handoff, first);
  EXPECT_EQ(snapshot->workers[0].transmit[0].owner, wakeup);
  EXPECT_EQ(snapshot->workers[1].transmit[0].handoff, nullptr);
  EXPECT_TRUE(snapshot->workers[1].transmit[0].linear);
  EXPECT_EQ(snapshot->slow_path[0].handoff, second);
  EXPECT_TRUE(snapshot->workers[0].handoffs.empty());
  ASSERT_EQ(snapshot->workers[1].handoffs.size(), 2u);
  EXPECT_EQ(snapshot->workers[1].handoffs[0].ring, first);
  EXPECT_EQ(snapshot->workers[1].handoffs[1].ring, second);
}

TEST(SnapshotBuilder, InterfacesThatAreDownAreWhereTheFastLoopDoesNotLook) {
  SnapshotBuilder builder(1);
  builder.add_port(port(0, {0}));
  builder.add_port(port(1, {0}));
  builder.add_interface(interface(0, 0, 0, true));
  builder.add_interface(interface(1, 0, 100, true));
  builder.add_interface(interface(2, 0, 200, false));
  builder.add_interface(interface(3, 1, 0, false));
  builder.add_interface(interface(4, 2, 0, true));  // no such port
  const auto snapshot = finish(builder);
  const PortView& first = snapshot->ports[0];
  EXPECT_EQ(first.untagged, 0u);
  ASSERT_TRUE(first.tagged.vlans && first.down.vlans);
  EXPECT_EQ((*first.tagged.vlans)[100], 1u);
  EXPECT_EQ((*first.tagged.vlans)[200], kNoInterface);
  EXPECT_EQ((*first.down.vlans)[200], 2u);
  const PortView& second = snapshot->ports[1];
  EXPECT_EQ(second.untagged, kNoInterface);
  EXPECT_FALSE(second.tagged.vlans);
  ASSERT_TRUE(second.down.vlans);
  EXPECT_EQ((*second.down.vlans)[0], 3u);
  EXPECT_FALSE(snapshot->ports[2].present);
  EXPECT_FALSE(snapshot->interfaces[4].up);
}

InterfaceSetup stacked(InterfaceId id, PortId port, const VlanTags& tags, bool up = true) {
  InterfaceSetup setup = interface(id, port, 0, up);
  setup.tags = tags;
  return setup;
}

TEST(SnapshotBuilder, InterfacesWithTwoTagsAreInATableOfTheirOwn) {
  SnapshotBuilder builder(1);
  builder.add_port(port(0, {0}));
  builder.add_port(port(1, {0}));
  builder.add_interface(stacked(0, 0, {100, 0, true}));
  builder.add_interface(stacked(1, 0, {10, 100, true}));
  builder.add_interface(stacked(2, 0, {10, 200, false}, false));
  builder.add_interface(interface(3, 1, 100, true));
  const auto snapshot = finish(builder);
  const PortView& view = snapshot->ports[0];
  EXPECT_EQ(view.features, kFeatureVlan);
  EXPECT_FALSE(view.tagged.vlans);
  EXPECT_EQ(view.tagged.find({100, 0, true}), 0);
  EXPECT_EQ(view.tagged.find({10, 100, true}), 1);
  EXPECT_EQ(view.tagged.find({10, 100, false}), kNoInterface);
  EXPECT_EQ(view.tagged.find({10, 200, false}), kNoInterface);
  EXPECT_EQ(view.down.find({10, 200, false}), 2);
  EXPECT_TRUE(view.has_within({100, 0, true}));
  EXPECT_TRUE(view.has_within({200, 0, false})) << "one that is down is known, too";
  EXPECT_FALSE(view.has_within({100, 0, false}));
  EXPECT_FALSE(snapshot->ports[1].has_stacked());
  EXPECT_TRUE(snapshot->interfaces[1].service_tag);
  EXPECT_FALSE(snapshot->interfaces[2].service_tag);
}

// What the kernel takes off and AF_PACKET puts back has lost its protocol.
TEST(SnapshotBuilder, APortThatHidesServiceTagsHasThemAsOrdinaryOnesToo) {
  SnapshotBuilder builder(1);
  SnapshotBuilder::PortSetup hides = port(0, {0});
  hides.hides_service_tags = true;
  builder.add_port(hides);
  builder.add_interface(stacked(0, 0, {100, 0, true}));
  builder.add_interface(stacked(1, 0, {10, 100, true}));
  builder.add_interface(stacked(2, 0, {200, 0, true}));
  builder.add_interface(interface(3, 0, 200, true));
  InterfaceSetup own = stacked(4, 0, {300, 0, true});
  own.mac = {0x02, 0, 0, 0, 0, 9};
  builder.add_interface(own);
  const auto snapshot = finish(builder);
  const PortView& view = snapshot->ports[0];
  EXPECT_EQ(view.tagged.find({100, 0, false}), 0);
  EXPECT_EQ(view.tagged.find({10, 100, false}), 1);
  EXPECT_EQ(view.tagged.find({10, 100, true}), 1);
  EXPECT_EQ(view.tagged.find({200, 0, false}), 3) << "which has it in truth";
  ASSERT_NE(view.station(0x090000000002), nullptr);
  EXPECT_EQ(view.station(0x090000000002)->interface({300, 0, false}), 4);
}

TEST(SnapshotBuilder, FeaturesAreThoseThatSomethingAsksFor) {
  SnapshotBuilder plain(1);
  plain.add_port(port(0, {0}));
  plain.add_interface(interface(0, 0, 0, true));
  EXPECT_EQ(finish(plain)->features, 0u);

  SnapshotBuilder builder(1);
  builder.add_port(port(0, {0}));
  InterfaceSetup setup = interface(0, 0, 5, true);
  setup.urpf = UrpfMode::kStrict;
  setup.counters = true;
  builder.add_interface(setup);
  SnapshotSettings settings;
  settings.ipsec = true;
  EXPECT_EQ(builder.finish(settings, false, 1)->features,
            kFeatureVlan | kFeatureUrpf | kFeatureCounters | kFeatureIpsec);
}

TEST(SnapshotBuilder, AddressesOfDevicesOfLinuxAreStations) {
  constexpr uint64_t kFirst = 0x010000000002, kSecond = 0x020000000002;
  SnapshotBuilder builder(1);
  builder.add_port(port(9, {0}));
  InterfaceSetup untagged = interface(0, 9, 0, true), vlan = interface(1, 9, 5, true),
                 macvlan = interface(2, 9, 0, true), down = interface(3, 9, 0, false);
  untagged.mac = port(9, {}).mac;
  vlan.mac = {0x02, 0, 0, 0, 0, 1};
  macvlan.mac = down.mac = {0x02, 0, 0, 0, 0, 2};
  down.mac[5] = 3;
  macvlan.macvlan = down.macvlan = true;
  for (const InterfaceSetup& each : {macvlan, down, vlan, untagged}) builder.add_interface(each);
  const auto snapshot = finish(builder);
  const PortView& view = snapshot->ports[9];
  EXPECT_EQ(view.untagged, 0);
  EXPECT_EQ((*view.tagged.vlans)[5], 1);
  EXPECT_EQ(view.down.vlans, nullptr);
  ASSERT_NE(view.stations, nullptr);
  EXPECT_EQ(view.stations->size(), 2u);
  ASSERT_NE(view.station(kFirst), nullptr);
  EXPECT_EQ(view.station(kFirst)->interface({5, 0, false}), 1);
  EXPECT_EQ(view.station(kFirst)->interface({}), kNoInterface);
  ASSERT_NE(view.station(kSecond), nullptr);
  EXPECT_EQ(view.station(kSecond)->interface({}), 2);
  EXPECT_EQ(view.station(view.mac), nullptr);
}

TEST(SnapshotBuilder, APortHasTheFeaturesOfItsOwnInterfaces) {
  SnapshotBuilder builder(1);
  for (const PortId id : {PortId(0), PortId(1), PortId(2)}) builder.add_port(port(id, {0}));
  InterfaceSetup checks = interface(0, 0, 0, true), counts = interface(1, 1, 0, false);
  checks.urpf = UrpfMode::kLoose;
  counts.counters = true;
  builder.add_interface(checks);
  builder.add_interface(counts);
  builder.add_interface(interface(2, 1, 5, true));
  builder.add_interface(interface(3, 2, 0, true));
  const auto snapshot = finish(builder);
  EXPECT_EQ(snapshot->ports[0].features, kFeatureUrpf);
  EXPECT_EQ(snapshot->ports[1].features, kFeatureCounters | kFeatureVlan);
  EXPECT_EQ(snapshot->ports[2].features, 0u);
}

TEST(SnapshotBuilder, SourcesAreCheckedWhereLinuxsSwitchesAskForIt) {
  const auto features = [](auto change) {
    SnapshotBuilder builder(1);
    builder.add_port(port(0, {0}));
    InterfaceSetup setup = interface(0, 0, 0, true);
    change(setup);
    builder.add_interface(setup);
    return finish(builder)->features;
  };
  EXPECT_EQ(features([](InterfaceSetup& s) { s.rp_filter = UrpfMode::kLoose; }), kFeatureUrpf);
  EXPECT_EQ(features([](InterfaceSetup& s) { s.forwards4 = false; }), kFeatureUrpf);
  EXPECT_EQ(features([](InterfaceSetup& s) { s.forwards6 = false; }), kFeatureUrpf);
  EXPECT_EQ(features([](InterfaceSetup& s) { s.redirects4 = s.redirects6 = true; }), 0u);
}

TEST(SnapshotBuilder, OwnAddressesAreSourcesWhereSourcesAreCheckedAndLinuxSaysSo) {
  const auto own = [](UrpfMode urpf, bool accept) {
    SnapshotBuilder builder(1);
    builder.add_port(port(0, {0}));
    InterfaceSetup setup = interface(0, 0, 0, true);
    setup.urpf = urpf;
    setup.accept_local = accept;
    for (const char* address : {"192.0.2.1/24", "2001:db8::1/64", "198.51.100.1/24"})
      setup.addresses.push_back(*IpPrefix::parse_interface(address));
    builder.add_interface(setup);
    const InterfaceView view = finish(builder)->interfaces[0];
    return view.accepts_own ? view.own4 : std::vector<uint32_t>{};
  };
  EXPECT_EQ(own(UrpfMode::kStrict, true), (std::vector<uint32_t>{0xc0000201, 0xc6336401}));
  EXPECT_TRUE(own(UrpfMode::kStrict, false).empty());
  EXPECT_TRUE(own(UrpfMode::kOff, true).empty());
}

TEST(SnapshotBuilder, AnInterfaceAnswersFromItsFirstAddresses) {
  SnapshotBuilder builder(1);
  builder.add_port(port(0, {0}));
  InterfaceSetup setup = interface(0, 0, 0, true);
  for (const char* own : {"fe80::1/64", "2001:db8::1/64", "10.0.0.1/24", "10.0.1.1/24"})
    setup.addresses.push_back(*IpPrefix::parse_interface(own));
  builder.add_interface(setup);
  const InterfaceView& view = finish(builder)->interfaces[0];
  EXPECT_EQ(view.address4, 0x0a000001u);
  EXPECT_EQ(view.address6, IpAddress::parse("2001:db8::1")->v6());
}

}  // namespace
}  // namespace hecto::router::test
