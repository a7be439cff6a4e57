// Labels of MPLS: what routes put on packets, and what becomes of packets that come in with one.
#include "router/rib/label_routes.hpp"
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr int kRed = 50, kLoopback = 1;

class Labels : public testing::Test {
 protected:
  Labels() {
    bed.add_interface(0, "10.0.0.254/24");
    bed.add_interface(1, "10.0.1.254/24");
    bed.link(0, true);
    bed.link(1, true);
    bed.neighbor(11, "10.0.0.1", 1);
    bed.neighbor(12, "10.0.1.1", 2);
  }
  static LabelStack stack(std::initializer_list<uint32_t> labels, std::optional<uint8_t> ttl = {}) {
    LabelStack made;
    for (const uint32_t label : labels) made.labels[made.count++] = label;
    made.ttl = ttl;
    return made;
  }
  static NextHop push(NextHop hop, std::initializer_list<uint32_t> labels,
                      std::optional<uint8_t> ttl = {}) {
    hop.labels = stack(labels, ttl);
    return hop;
  }
  void label(uint32_t number, std::vector<NextHop> hops, bool removed = false) {
    bed.routing->label_route({number, 186, std::move(hops), ""}, removed);
    bed.routing->commit();
  }
  // By the label table: what a packet with it would meet.
  std::string verdict(uint32_t number) const {
    const LabelView& view = *bed.routing->labels().view(0);
    const uint16_t* const slots = view.slots.load();
    if (slots == nullptr || view.group(slots, number) == lookup::kNoRoute) return "no label";
    const lookup::GroupId group = view.group(slots, number);
    const lookup::NextHopRecord record = bed.next_hops->view(0).record(group);
    if (record.kind != lookup::RecordKind::kMultipath) return bed.words(record);
    std::set<std::string> members;
    for (const GroupId bucket : bed.next_hops->buckets(group))
      members.insert(bed.words(bed.next_hops->view(0).record(bucket)));
    return fmt::format("{{{}}}", fmt::join(members, " | "));
  }
  void device(int ifindex, const char* name, uint32_t vrf_table = 0, bool removed = false) {
    LinuxLink link;
    link.ifindex = ifindex;
    link.name = name;
    link.kind = vrf_table != 0 ? "vrf" : "";
    link.vrf_table = vrf_table;
    link.mtu = 65535;
    link.up = link.carrier = true;
    bed.routing->link(link, removed);
  }
  void make_red() {
    device(kRed, "red", 10);
    InterfaceState red;
    red.id = 7;
    red.name = "red";
    red.port = kNoPort;
    red.ifindex = kRed;
    red.vrf_device = true;
    ASSERT_TRUE(bed.routing->add_interface(red));
  }
  Bed bed;
};

TEST_F(Labels, ARoutePutsThemOn) {
  bed.add(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {100, 200})}));
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [100/200] ttl 0 mtu 1492");
  bed.add(linux_route("fd00:2::/64", {push(hop(11, "10.0.0.1"), {100})}));
  EXPECT_EQ(bed.verdict("fd00:2::1"), "if0 01 mpls [100] ttl 0 mtu 1496");
  Route narrow = linux_route("10.3.0.0/24", {push(hop(11, "10.0.0.1"), {100})});
  narrow.mtu = 1400;
  bed.add(narrow);
  EXPECT_EQ(bed.verdict("10.3.0.1"), "if0 01 mpls [100] ttl 0 mtu 1396") << "as Linux counts";
}

TEST_F(Labels, TheSameNextHopWithOtherLabelsIsAnother) {
  bed.add(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {100})}));
  bed.add(linux_route("10.3.0.0/24", {push(hop(11, "10.0.0.1"), {101})}));
  bed.add(linux_route("10.4.0.0/24", {hop(11, "10.0.0.1")}));
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [100] ttl 0 mtu 1496");
  EXPECT_EQ(bed.verdict("10.3.0.1"), "if0 01 mpls [101] ttl 0 mtu 1496");
  EXPECT_EQ(bed.verdict("10.4.0.1"), "if0 01");
  bed.add(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {102})}), true);
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [102] ttl 0 mtu 1496");
  bed.remove(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {102})}));
  EXPECT_EQ(bed.verdict("10.2.0.1"), "punt no_route");
}

TEST_F(Labels, EcmpIsOverLabelsToo) {
  bed.add(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {100}),
                                      push(hop(11, "10.0.0.1"), {101}), hop(12, "10.0.1.1")}));
  EXPECT_EQ(bed.verdict("10.2.0.1"),
            "{if0 01 mpls [100] ttl 0 mtu 1496 | if0 01 mpls [101] ttl 0 mtu 1496 | if1 02}");
  bed.link(0, false);
  EXPECT_EQ(bed.verdict("10.2.0.1"), "{if1 02}");
}

TEST_F(Labels, NeighborsAndInterfacesMoveThem) {
  bed.add(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {100})}));
  label(300, {push(hop(11, "10.0.0.1"), {400})});
  EXPECT_EQ(verdict(300), "if0 01 mpls [400] ttl 0 mtu 1496");
  bed.neighbor(11, "10.0.0.1", 9);
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 09 mpls [100] ttl 0 mtu 1496");
  EXPECT_EQ(verdict(300), "if0 09 mpls [400] ttl 0 mtu 1496");
  bed.neighbor(11, "10.0.0.1", 9, false);
  EXPECT_EQ(verdict(300), "punt glean");
  bed.link(0, false);
  EXPECT_EQ(verdict(300), "drop interface_down");
}

TEST_F(Labels, ObjectsPutThemOn) {
  NextHopObject object;
  object.id = 7;
  object.next_hop = push(hop(11, "10.0.0.1"), {100});
  bed.routing->nexthop_object(object, false);
  Route route = linux_route("10.2.0.0/24", {});
  route.nexthop_object = 7;
  bed.add(route);
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [100] ttl 0 mtu 1496");
  object.next_hop = push(hop(11, "10.0.0.1"), {101});
  bed.routing->nexthop_object(object, false);
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [101] ttl 0 mtu 1496");
}

TEST_F(Labels, SwapPopAndEcmpComeAndGo) {
  EXPECT_EQ(verdict(300), "no label");
  label(300, {push(hop(11, "10.0.0.1"), {400})});
  label(301, {hop(11, "10.0.0.1")});
  label(302, {push(hop(11, "10.0.0.1"), {400}), hop(12, "10.0.1.1")});
  EXPECT_EQ(verdict(300), "if0 01 mpls [400] ttl 0 mtu 1496");
  EXPECT_EQ(verdict(301), "if0 01 mpls [] ttl 0 mtu 1500");
  EXPECT_EQ(verdict(302), "{if0 01 mpls [400] ttl 0 mtu 1496 | if1 02 mpls [] ttl 0 mtu 1500}");
  EXPECT_EQ(verdict(303), "no label");
  label(300, {push(hop(11, "10.0.0.1"), {401})});
  EXPECT_EQ(verdict(300), "if0 01 mpls [401] ttl 0 mtu 1496") << "replaced";
  label(300, {}, true);
  label(301, {}, true);
  label(302, {}, true);
  EXPECT_EQ(verdict(300), "no label");
  EXPECT_EQ(bed.routing->labels().counts().routes, 0u);
  const uint32_t left = bed.routing->statistics().sets;
  label(300, {push(hop(11, "10.0.0.1"), {400})});
  label(300, {}, true);
  EXPECT_EQ(bed.routing->statistics().sets, left) << "nothing is left behind";
}

TEST_F(Labels, AVrfIsNamedAsLongAsSomeLabelLeadsIntoIt) {
  make_red();
  label(300, {hop(kRed)});
  label(301, {hop(kRed)});
  label(300, {push(hop(11, "10.0.0.1"), {400})});  // in the place of what led there
  EXPECT_EQ(bed.routing->labels().vrfs(), std::vector{kRed});
  label(301, {}, true);
  EXPECT_TRUE(bed.routing->labels().vrfs().empty());
  label(301, {}, true);  // again: there is none
  label(300, {hop(kRed)});
  EXPECT_EQ(bed.routing->labels().vrfs(), std::vector{kRed});
}

TEST_F(Labels, IntoAVrfOrLo) {
  label(300, {hop(kRed)});
  EXPECT_EQ(verdict(300), "punt local") << "a device that only Linux has";
  EXPECT_TRUE(bed.routing->labels().vrfs().empty());
  make_red();
  EXPECT_EQ(bed.routing->labels().vrfs(), std::vector{kRed});
  EXPECT_EQ(verdict(300), "receive if7 ttl 0");
  const LabelRouteView view = bed.routing->labels().list(std::nullopt, 10).at(0);
  EXPECT_EQ(view.received_by, "red");
  EXPECT_TRUE(view.beyond.empty());
  device(kLoopback, "lo");
  label(0, {hop(kLoopback)});
  EXPECT_EQ(verdict(0), fmt::format("receive if{} ttl 0", kNoInterface));
  device(kRed, "red", 10, true);
  EXPECT_EQ(verdict(300), "drop interface_down");
}

TEST_F(Labels, TheKernelsOwnAreThereWithItsTable) {
  device(kLoopback, "lo");
  const std::string received = fmt::format("receive if{} ttl 0", kNoInterface);
  bed.routing->set_label_switches({1000, true, 255});
  EXPECT_EQ(verdict(0), received);
  EXPECT_EQ(verdict(2), received);
  EXPECT_EQ(verdict(1), "no label");
  bed.routing->resync_begin("test");
  device(kLoopback, "lo");
  bed.routing->resync_end();
  EXPECT_EQ(verdict(0), received) << "no dump says them";
  bed.routing->set_label_switches({2, true, 255});
  EXPECT_EQ(verdict(0), received);
  EXPECT_EQ(verdict(2), "no label");
  bed.routing->set_label_switches({0, true, 255});
  EXPECT_EQ(verdict(0), "no label");
}

// Linux looks up again in the VRF: what is forwarded there is not the VRF's to receive.
TEST_F(Labels, RoutesIntoAVrfStayLinuxs) {
  make_red();
  bed.add(linux_route("10.9.0.0/24", {hop(kRed)}));
  EXPECT_EQ(bed.verdict("10.9.0.1"), "punt local");
}

TEST_F(Labels, TtlIsAsTheRouteOrTheSwitchSays) {
  make_red();
  bed.add(linux_route("10.2.0.0/24", {push(hop(11, "10.0.0.1"), {100})}));
  bed.add(linux_route("10.3.0.0/24", {push(hop(11, "10.0.0.1"), {100}, 64)}));
  bed.add(linux_route("10.4.0.0/24", {push(hop(11, "10.0.0.1"), {100}, 0)}));
  label(300, {hop(kRed)});
  label(301, {push(hop(kRed), {}, 255)});
  EXPECT_EQ(verdict(301), "receive if7 ttl 255");
  bed.routing->set_label_switches({1000, false, 33});
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [100] ttl 33 mtu 1496");
  EXPECT_EQ(bed.verdict("10.3.0.1"), "if0 01 mpls [100] ttl 64 mtu 1496");
  EXPECT_EQ(bed.verdict("10.4.0.1"), "if0 01 mpls [100] ttl 0 mtu 1496");
  EXPECT_EQ(verdict(300), "receive if7 ttl 255");
  bed.routing->set_label_switches({1000, true, 33});
  EXPECT_EQ(bed.verdict("10.2.0.1"), "if0 01 mpls [100] ttl 0 mtu 1496");
  EXPECT_EQ(verdict(300), "receive if7 ttl 0");
}

TEST_F(Labels, WhatOnlyLinuxCanDoIsLinuxsAndCounted) {
  bed.routing->label_route({300, 186, {}, "it puts on more than 4 labels"}, false);
  label(301, {push(hop(77, "10.7.0.1"), {400})});
  label(302, {push(hop(11, "10.0.0.1"), {400})});
  label(303, {push(hop(11), {400})});
  EXPECT_EQ(verdict(300), "punt local");
  EXPECT_EQ(verdict(301), "punt local");
  EXPECT_EQ(verdict(303), "punt local") << "to its own address, as Linux sends it";
  EXPECT_EQ(bed.routing->labels().counts().routes, 4u);
  EXPECT_EQ(bed.routing->labels().counts().linuxs, 3u);
  const auto list = bed.routing->labels().list(300, 1);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].label, 301u);
  EXPECT_FALSE(list[0].beyond.empty());
  bed.add(linux_route("10.2.0.0/24", {push(hop(11), {100})}));
  EXPECT_EQ(bed.verdict("10.2.0.1"), "punt local") << "labels need a gateway";
}

TEST_F(Labels, AResyncSweepsThoseThatAreNotSaidAgain) {
  label(300, {push(hop(11, "10.0.0.1"), {400})});
  label(301, {hop(11, "10.0.0.1")});
  for (const bool whole : {true, false}) {
    if (whole)
      bed.routing->resync_begin("test");
    else
      bed.routing->device_resync_begin(11, "test");
    EXPECT_EQ(verdict(300), "if0 01 mpls [400] ttl 0 mtu 1496") << "till it has ended";
    label(300, {push(hop(11, "10.0.0.1"), {400})});
    if (!whole) label(302, {hop(11, "10.0.0.1")});
    bed.link(0, true);
    bed.link(1, true);
    bed.neighbor(11, "10.0.0.1", 1);
    bed.routing->resync_end();
    EXPECT_EQ(verdict(300), "if0 01 mpls [400] ttl 0 mtu 1496");
    EXPECT_EQ(verdict(301), "no label");
  }
  EXPECT_EQ(verdict(302), "if0 01 mpls [] ttl 0 mtu 1500");
}

// The label is known: its packets are Linux's, and the fast path's as soon as there is a group.
TEST(LabelGroups, WithoutAGroupAPacketIsLinuxs) {
  Bed bed(16);
  bed.add_interface(0, "10.0.0.254/24");
  bed.neighbor(11, "10.0.0.1", 1);
  const auto kind = [&](uint32_t label) {
    const LabelView& view = *bed.routing->labels().view(0);
    return bed.next_hops->view(0).record(view.group(view.slots.load(), label)).kind;
  };
  const auto say = [&](uint32_t label, bool removed) {
    NextHop swap = hop(11, "10.0.0.1");
    swap.labels.labels[0] = label;
    swap.labels.count = 1;
    bed.routing->label_route({label, 186, {swap}, ""}, removed);
    bed.routing->commit();
  };
  for (uint32_t label = 100; label < 120; ++label) say(label, false);
  EXPECT_EQ(kind(100), lookup::RecordKind::kLabelled);
  EXPECT_EQ(kind(119), lookup::RecordKind::kPunt);
  for (uint32_t label = 100; label < 119; ++label) say(label, true);
  EXPECT_EQ(kind(119), lookup::RecordKind::kLabelled);
}

}  // namespace
}  // namespace hecto::router::test
