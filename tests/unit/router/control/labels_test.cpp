// Labels of MPLS as control carries them: Linux's switches, VRFs that labels lead into, and what is said.
#include "lookup/nexthop.hpp"
#include "router/control/label_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kTwoLabelPorts = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, addresses: [10.1.0.254/24]}
)";
constexpr int kRed = 60;

class LabelControlTest : public testing::Test {
 protected:
  void red(bool removed = false, bool up = true) {
    LinuxLink link;
    link.ifindex = kRed;
    link.name = "red";
    link.kind = "vrf";
    link.vrf_table = 10;
    link.mtu = 65535;
    link.up = link.carrier = up;
    bed->events.link(link, removed);
    turn();
  }
  void label(uint32_t number, const NextHop& hop, bool removed = false, std::string beyond = "") {
    LabelRoute route{number, 186, {hop}, std::move(beyond)};
    if (!route.beyond.empty()) route.next_hops.clear();
    bed->events.label_route(route, removed);
    turn();
  }
  static NextHop into(int ifindex) {
    NextHop hop;
    hop.ifindex = ifindex;
    return hop;
  }
  NextHop via(const char* gateway) const {
    NextHop hop = into(bed->interface("wan0").ifindex);
    hop.gateway = IpAddress::parse(gateway);
    return hop;
  }
  void turn() {
    control.tick();
    bed->routing.commit();
  }
  void switches(const LabelSwitches& now) {
    bed->linux_side.labels = now;
    control.tick_second();
  }

  std::unique_ptr<ControlBed> bed = ControlBed::started(kTwoLabelPorts, true);
  LabelControl control{bed->routing, bed->interfaces, bed->plane, bed->linux_side};
};

TEST_F(LabelControlTest, AVrfThatLabelsLeadIntoIsAnInterface) {
  red();
  EXPECT_EQ(bed->interfaces.table().find("red"), nullptr) << "nobody needs it";
  label(300, into(kRed));
  const Interface* const found = bed->interfaces.table().find("red");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->port, kNoPort);
  EXPECT_TRUE(found->vrf_device && found->made_by_linux && found->counters);
  EXPECT_EQ(bed->routing.interfaces().vrf_of(*found), (Vrf{"red", 10}));
  EXPECT_EQ(bed->routing.labels().list(std::nullopt, 1).at(0).received_by, "red");
  bed->linux_side.switched["red"] = {.forwards4 = false, .rp_filter = UrpfMode::kStrict};
  bed->interfaces.follow_switches();
  EXPECT_TRUE(bed->interface("red").switches.forwards4) << "what labels lead there Linux sends";
  label(301, into(kRed));
  label(300, into(kRed), true);
  EXPECT_NE(bed->interfaces.table().find("red"), nullptr);
  label(301, into(kRed), true);
  EXPECT_EQ(bed->interfaces.table().find("red"), nullptr) << "the last label";
}

TEST_F(LabelControlTest, AVrfThatGoesAndComesBack) {
  label(300, into(kRed));
  EXPECT_EQ(bed->interfaces.table().find("red"), nullptr);
  red();
  EXPECT_NE(bed->interfaces.table().find("red"), nullptr);
  red(true);
  EXPECT_EQ(bed->interfaces.table().find("red"), nullptr);
  EXPECT_EQ(bed->routing.labels().list(std::nullopt, 1).at(0).received_by, "");
  red();
  EXPECT_EQ(bed->routing.labels().list(std::nullopt, 1).at(0).received_by, "red");
}

TEST_F(LabelControlTest, WorkersLookAtLabelsWhereLinuxHasThem) {
  control.tick_second();
  EXPECT_FALSE(bed->plane.labels);
  switches({1000, true, 255});
  EXPECT_TRUE(bed->plane.labels);
  EXPECT_EQ(bed->linux_side.labels_read_for, "net.mpls.platform_labels has changed");
  bed->linux_side.labels_read_for.clear();
  switches({1000, false, 77});
  EXPECT_FALSE(bed->routing.interfaces().label_switches().propagates_ttl);
  EXPECT_TRUE(bed->linux_side.labels_read_for.empty());
  switches({0, true, 255});
  EXPECT_FALSE(bed->plane.labels);
}

TEST_F(LabelControlTest, WhatTheFastPathDoesNotIsSaid) {
  bed->events.link({1, "lo", {}, 65536, true, true}, false);
  switches({1000, true, 255});
  label(300, via("192.0.2.2"));
  EXPECT_TRUE(control.lines().empty());
  label(301, {}, false, "it puts on more than 4 labels");
  label(302, into(4711));
  EXPECT_EQ(control.lines(),
            std::vector<std::string>{"labels: packets of 2 of 5 are Linux's, at its speed (hecto "
                                     "show labels says which and why)"});
  label(301, {}, true);
  label(302, into(4711), true);
  EXPECT_TRUE(control.lines().empty());
  bed->plane.use_ipsec(true);
  ASSERT_EQ(control.lines().size(), 1u);
  EXPECT_NE(control.lines()[0].find("with IPsec"), std::string::npos);
}

}  // namespace
}  // namespace hecto::router::test
