// Linux's tunnels as control carries them: interfaces without a port, and what is left to Linux.
#include "lookup/nexthop.hpp"
#include "router/control/tunnel_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kWanAndLan = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, addresses: [10.1.0.254/24]}
)";
constexpr int kGre1 = 60;

class TunnelControlTest : public testing::Test {
 protected:
  static LinuxLink gre(const std::string& name = "gre1", int ifindex = kGre1) {
    LinuxLink link;
    link.ifindex = ifindex;
    link.name = name;
    link.kind = "gre";
    link.mtu = 1476;
    link.up = link.carrier = true;
    LinuxTunnel& tunnel = link.tunnel.emplace();
    tunnel.gre = true;
    tunnel.local = *IpAddress::parse("192.0.2.1");
    tunnel.remote = *IpAddress::parse("192.0.2.2");
    return link;
  }
  void say(const LinuxLink& link, bool removed = false) {
    bed->events.link(link, removed);
    control.tick();
    bed->routing.commit();
  }
  Route route() const {
    Route made;
    made.prefix = *IpPrefix::parse("10.2.0.0/24");
    NextHop hop;
    hop.ifindex = kGre1;
    hop.gateway = IpAddress::parse("10.9.0.2");
    made.next_hops = {hop};
    return made;
  }

  std::unique_ptr<ControlBed> bed = ControlBed::started(kWanAndLan, true);
  TunnelControl control{bed->routing, bed->interfaces, bed->plane};
};

TEST_F(TunnelControlTest, ATunnelIsAnInterfaceAndRoutesByItLeadIn) {
  bed->events.route(route(), false, false);
  bed->routing.commit();
  EXPECT_EQ(bed->way("10.2.0.1"), "local") << "by a device that only Linux has";
  say(gre());
  const Interface* const gre1 = bed->interfaces.table().find("gre1");
  ASSERT_NE(gre1, nullptr);
  EXPECT_EQ(gre1->port, kNoPort);
  EXPECT_TRUE(gre1->tunnel && gre1->made_by_linux && gre1->counters);
  ASSERT_EQ(bed->plane.tunnels.size(), 1u);
  EXPECT_EQ(bed->plane.tunnels[0].interface, gre1->id);
  EXPECT_EQ(bed->plane.tunnels[0].link, kNoInterface);
  EXPECT_EQ(bed->way("10.2.0.1"), "gre1");
  EXPECT_TRUE(control.lines().empty());

  LinuxLink down = gre();
  down.up = false;
  say(down);
  EXPECT_TRUE(bed->plane.tunnels.empty());
  EXPECT_EQ(bed->way("10.2.0.1"), "interface_down");
  say(gre());
  EXPECT_EQ(bed->way("10.2.0.1"), "gre1");
  say(gre(), true);
  EXPECT_TRUE(bed->plane.tunnels.empty());
  EXPECT_EQ(bed->interfaces.table().find("gre1"), nullptr);
}

TEST_F(TunnelControlTest, WhatTheFastPathDoesNotIsLinuxsAndSaid) {
  LinuxLink odd = gre();
  odd.tunnel->beyond = "it has checksums";
  say(odd);
  EXPECT_EQ(bed->interfaces.table().find("gre1"), nullptr);
  EXPECT_EQ(control.lines(),
            std::vector<std::string>{"tunnel gre1: its packets are Linux's, at its speed: it has "
                                     "checksums"});
  EXPECT_FALSE(bed->plane.gre_is_known) << "a key may be that one's";
  odd.up = false;
  say(odd);
  EXPECT_TRUE(control.lines().empty()) << "one that is down, as gre0 is";
  EXPECT_TRUE(bed->plane.gre_is_known);
  say(gre());
  EXPECT_EQ(bed->plane.tunnels.size(), 1u) << "somebody mended it";
  odd.up = true;
  say(odd);
  EXPECT_TRUE(bed->plane.tunnels.empty()) << "and broke it again";
  EXPECT_EQ(bed->interfaces.table().find("gre1"), nullptr);
}

TEST_F(TunnelControlTest, TwoThatCannotBeToldApartAreOneAndLinuxs) {
  say(gre());
  say(gre("gre2", 61));
  EXPECT_EQ(bed->plane.tunnels.size(), 1u);
  ASSERT_EQ(control.lines().size(), 1u);
  EXPECT_NE(control.lines()[0].find("gre1 has the same ends and key"), std::string::npos);
  LinuxLink other = gre("gre2", 61);
  other.tunnel->key_in = 9;
  say(other);
  EXPECT_EQ(bed->plane.tunnels.size(), 2u);
  EXPECT_TRUE(control.lines().empty());
}

TEST_F(TunnelControlTest, ItsDeviceIsOneOfTheRouters) {
  LinuxLink bound = gre();
  bound.tunnel->link = bed->interface("wan0").ifindex;
  say(bound);
  ASSERT_EQ(bed->plane.tunnels.size(), 1u);
  EXPECT_EQ(bed->plane.tunnels[0].link, bed->interface("wan0").id);
  EXPECT_EQ(control.status().at(0).link, "wan0");
  bound.tunnel->link = 4711;
  say(bound);
  EXPECT_TRUE(bed->plane.tunnels.empty());
  EXPECT_EQ(control.lines().size(), 1u);
}

TEST_F(TunnelControlTest, WithIpsecItIsSaidThatLinuxHasThem) {
  say(gre());
  bed->plane.ipsec = true;
  ASSERT_EQ(control.lines().size(), 1u);
  EXPECT_NE(control.lines()[0].find("with IPsec"), std::string::npos);
}

TEST_F(TunnelControlTest, ThousandsAreEachLookedAtOnceAndNotAgainForNothing) {
  constexpr int kTunnels = 4000;
  for (int i = 0; i < kTunnels; ++i) {
    LinuxLink link = gre("t" + std::to_string(i), 1000 + i);
    link.tunnel->gre = i % 2 == 0;
    link.tunnel->remote = *IpAddress::parse(fmt::format("198.{}.{}.1", 18 + i / 256, i % 256));
    bed->events.link(link, false);
  }
  control.tick();
  EXPECT_EQ(control.looks(), uint64_t{kTunnels});
  const size_t carried = bed->plane.tunnels.size();
  EXPECT_GT(carried, 1000u) << "as many as there can be interfaces";
  EXPECT_EQ(control.lines().size(), kTunnels - carried);
  // Some other link.
  bed->link(bed->interface("wan0").ifindex, false);
  bed->plane.tunnels.clear();
  control.tick();
  EXPECT_EQ(control.looks(), uint64_t{kTunnels});
  EXPECT_TRUE(bed->plane.tunnels.empty()) << "nobody was told anything";
  // The ends of one that came last.
  LinuxLink twin = gre("twin", 9000);
  twin.tunnel->remote = *IpAddress::parse("198.18.0.1");
  say(twin);
  EXPECT_EQ(control.looks(), uint64_t{2 * kTunnels + 2});
  EXPECT_EQ(control.status().back().trouble, "t0 has the same ends and key");
}

TEST_F(TunnelControlTest, IpInIpIsToldApartByWhatIsInside) {
  LinuxLink four = gre(), six = gre("six", 61), any = gre("any", 62);
  for (LinuxLink* link : {&four, &six, &any}) link->tunnel->gre = false;
  four.tunnel->carries6 = six.tunnel->carries4 = false;
  say(four);
  say(six);
  EXPECT_EQ(bed->plane.tunnels.size(), 2u);
  say(any);
  EXPECT_EQ(bed->plane.tunnels.size(), 2u);
  EXPECT_EQ(control.status().back().trouble, "gre1 has the same ends and key");
}

}  // namespace
}  // namespace hecto::router::test
