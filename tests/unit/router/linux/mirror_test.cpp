#include <algorithm>
#include <random>
#include <sstream>

#include "router/rib/rule_text.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/linux/mirror_bed.hpp"

namespace hecto::router {
namespace {

TEST_F(Mirror, TellsLinksAddressesRoutesAndNeighborsAtTheStart) {
  two_ports();
  ip("route add 203.0.113.0/24 via 192.0.2.2 metric 20");
  ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev wan0");
  start_mirror();
  const LinuxLink* wan = state_.find_link("wan0");
  ASSERT_TRUE(wan);
  EXPECT_EQ(wan->ifindex, wan_->ifindex());
  EXPECT_EQ(wan->mac, (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(wan->up && wan->carrier);
  EXPECT_EQ(state_.addresses.count({wan->ifindex, *IpPrefix::parse_interface("192.0.2.1/24")}), 1U);
  const Route* route = state_.find("203.0.113.0/24");
  ASSERT_TRUE(route);
  EXPECT_EQ(route->metric, 20U);
  EXPECT_EQ(route->next_hops[0].ifindex, wan->ifindex);
  const Route* local = state_.find("192.0.2.1/32", 255);
  ASSERT_TRUE(local);
  EXPECT_EQ(local->type, RouteType::kLocal);
  const auto neighbor = state_.neighbors.find({wan->ifindex, *IpAddress::parse("192.0.2.2")});
  ASSERT_NE(neighbor, state_.neighbors.end());
  EXPECT_TRUE(neighbor->second.value.usable);
  EXPECT_TRUE(agrees());
}

// What `ip rule` says, both families.
std::string kernel_rules(const std::string& four, const std::string& six) {
  std::string text;
  for (const std::string& family : {four, six}) {
    std::istringstream lines(family);
    for (std::string line; std::getline(lines, line);) {
      std::replace(line.begin(), line.end(), '\t', ' ');
      while (!line.empty() && line.back() == ' ') line.pop_back();
      if (!line.empty()) text += line + "\n";
    }
  }
  return text;
}

std::string told_rules(const PolicyRules& rules) {
  std::string text;
  for (const PolicyRule& rule : rules.rules())
    text += fmt::format("{}: {}\n", rule.priority, to_string(rule));
  return text;
}

TEST_F(Mirror, FollowsPolicyRulesInTheKernelsOrder) {
  two_ports();
  ip("rule add from 10.0.0.100 lookup 200 pref 200");
  start_mirror();
  const auto agree = [this] {
    EXPECT_EQ(told_rules(state_.rules), kernel_rules(ip("-4 rule show"), ip("-6 rule show")));
  };
  agree();
  EXPECT_FALSE(state_.rules.usual(Family::kIpv4));
  EXPECT_TRUE(state_.rules.usual(Family::kIpv6));
  ip("rule add to 10.9.0.0/16 lookup 100 pref 200");
  ip("rule add iif wan0 prohibit pref 150");
  ip("rule add not from 10.1.0.0/16 to 10.2.0.0/16 goto 32766 pref 7");
  ip("rule add from all lookup main suppress_prefixlength 0 pref 9");
  ip("-6 rule add from 2001:db8::/32 blackhole pref 5");
  ASSERT_TRUE(settle());
  agree();
  ip("rule del from 10.0.0.100 lookup 200 pref 200");
  ip("rule del pref 150");
  ASSERT_TRUE(settle());
  agree();
  ip("rule flush");
  ip("-6 rule del pref 5");
  mirror_->request_resync("test");
  ASSERT_TRUE(settle());
  agree();
  EXPECT_TRUE(state_.rules.usual(Family::kIpv6));
}

TEST_F(Mirror, FollowsMultipathReplaceAndDropRoutes) {
  two_ports();
  start_mirror();
  ip("route add 10.0.0.0/8 nexthop via 192.0.2.2 weight 2 nexthop via 198.51.100.2");
  ip("route add blackhole 10.1.0.0/16");
  ip("route add unreachable 10.2.0.0/16");
  ip("route add prohibit 10.3.0.0/16");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(state_.find("10.0.0.0/8"));
  ASSERT_EQ(state_.find("10.0.0.0/8")->next_hops.size(), 2U);
  EXPECT_EQ(state_.find("10.0.0.0/8")->next_hops[0].weight, 2);
  EXPECT_EQ(state_.find("10.1.0.0/16")->type, RouteType::kBlackhole);
  EXPECT_EQ(state_.find("10.2.0.0/16")->type, RouteType::kUnreachable);
  EXPECT_EQ(state_.find("10.3.0.0/16")->type, RouteType::kProhibit);

  ip("route replace 10.0.0.0/8 via 198.51.100.9");
  ip("route del blackhole 10.1.0.0/16");
  ASSERT_TRUE(settle());
  ASSERT_EQ(state_.find("10.0.0.0/8")->next_hops.size(), 1U);
  EXPECT_EQ(state_.find("10.0.0.0/8")->next_hops[0].gateway, IpAddress::parse("198.51.100.9"));
  EXPECT_FALSE(state_.find("10.1.0.0/16"));
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, FollowsIpv6MultipathAppendReplaceAndPartialRemoval) {
  two_ports();
  start_mirror();
  ip("-6 route add 2001:db8:f::/48 via 2001:db8::2");
  ip("-6 route append 2001:db8:f::/48 via 2001:db8:1::2");
  ip("-6 route append 2001:db8:f::/48 via 2001:db8:1::3");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(state_.find("2001:db8:f::/48"));
  EXPECT_EQ(state_.find("2001:db8:f::/48")->next_hops.size(), 3U);
  ip("-6 route del 2001:db8:f::/48 via 2001:db8:1::2");
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.find("2001:db8:f::/48")->next_hops.size(), 2U);
  ip("-6 route replace 2001:db8:f::/48 via 2001:db8::9");
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.find("2001:db8:f::/48")->next_hops.size(), 1U);
  ip("-6 route del 2001:db8:f::/48");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.find("2001:db8:f::/48"));
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, FollowsNextHopObjectsAndTheRoutesThatTheyTakeAlong) {
  two_ports();
  ip("nexthop add id 1 via 192.0.2.2 dev wan0");
  start_mirror();
  ip("nexthop add id 2 via 198.51.100.2 dev lan0");
  ip("nexthop add id 10 group 1,3/2");
  ip("nexthop add id 11 blackhole");
  ip("route add 10.0.0.0/8 nhid 10");
  ip("route add 11.0.0.0/8 nhid 2");
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.objects.size(), 4U);
  EXPECT_EQ(state_.find("10.0.0.0/8")->nexthop_object, 10U);
  EXPECT_TRUE(state_.objects.at(11).value.blackhole);

  ip("nexthop del id 2");  // 11.0.0.0/8 goes without a notification
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.find("11.0.0.0/8"));
  EXPECT_TRUE(state_.find("10.0.0.0/8"));
  EXPECT_EQ(state_.objects.size(), 3U);
}

TEST_F(Mirror, SweepsRoutesThatALinkDownFlushed) {
  two_ports();
  ip("route add 10.0.0.0/8 via 192.0.2.2");
  ip("route add 11.0.0.0/8 nexthop via 192.0.2.2 nexthop via 198.51.100.2");
  ip("nexthop add id 1 via 192.0.2.2 dev wan0");
  start_mirror();
  ASSERT_TRUE(state_.find("10.0.0.0/8"));
  ip("link set wan0 down");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.find_link("wan0")->up);
  EXPECT_FALSE(state_.find("10.0.0.0/8"));
  EXPECT_TRUE(state_.objects.empty());
  ASSERT_TRUE(state_.find("11.0.0.0/8"));
  EXPECT_TRUE(state_.find("11.0.0.0/8")->next_hops[0].dead);
  EXPECT_FALSE(state_.find("11.0.0.0/8")->next_hops[1].dead);
  EXPECT_TRUE(agrees());
  ip("link set wan0 up");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.find("11.0.0.0/8")->next_hops[0].dead);
  EXPECT_TRUE(agrees());
}

// Against what a mirror reads that knows nothing yet, after each of many changes.
TEST_F(Mirror, ALinkThatFlapsIsReadAloneAndLeavesWhatAWholeReadingSays) {
  two_ports();
  Tap third = make_tap("opt0", 3);
  ip("addr add 203.0.113.1/24 dev opt0");
  ip("-6 addr add 2001:db8:2::1/64 dev opt0 nodad");
  state_.by_device = true;
  MirrorOptions options;
  options.debounce = options.debounce_most = std::chrono::milliseconds(20);
  start_mirror(options);
  const auto prepare = [&](int round) {
    const std::string path = "/tmp/" + name_ + ".batch";
    std::ofstream file(path);
    file << fmt::format(
        "nexthop replace id 1 via 192.0.2.2 dev wan0\n"
        "nexthop replace id 2 via 198.51.100.2 dev lan0\n"
        "nexthop replace id 9 group 1/2\n"
        "route replace 13.{0}.0.0/16 nhid 1\nroute replace 13.{0}.1.0/24 nhid 9\n"
        "route replace 10.{0}.0.0/16 via 192.0.2.3\n"
        "route replace 10.{0}.1.0/24 via 198.51.100.3\n"
        "route flush exact 10.{0}.2.0/24\nroute add 10.{0}.2.0/24 via 203.0.113.3\n"
        "route append 10.{0}.2.0/24 via 192.0.2.3\n"
        "route replace 11.{0}.0.0/16 nexthop via 192.0.2.2 nexthop via 198.51.100.2\n"
        "route replace broadcast 10.{0}.3.255 dev wan0 table local\n"
        "route replace 2001:db8:{0}::/48 via 2001:db8::2\n"
        "route replace 2001:db9:{0}::/48 nexthop via 2001:db8::2 nexthop via "
        "2001:db8:1::2\n",
        round + 16);
    file.close();
    ip("-batch " + path);
    unlink(path.c_str());
  };
  std::mt19937 random(test_seed());
  const std::vector<std::string> names{"wan0", "lan0", "opt0"};
  for (int round = 0; round < 12; ++round) {
    for (const std::string& name : names) ip("link set " + name + " up");
    for (const char* address : {"2001:db8::1/64 dev wan0", "2001:db8:1::1/64 dev lan0"})
      ip(std::string("-6 addr replace ") + address + " nodad");
    prepare(round % 4);
    ASSERT_TRUE(settle());
    const std::string& name = names[random() % names.size()];
    if (random() % 3 == 0) {
      Tap& tap = name == "wan0" ? *wan_ : name == "lan0" ? *lan_ : third;
      for (const bool carrier : {false, true}) {  // the kernel tells of it some time later
        ASSERT_TRUE(tap.set_carrier(carrier));
        ASSERT_TRUE(serve_until([&] { return state_.find_link(name)->carrier == carrier; }));
        ASSERT_TRUE(settle());
      }
    } else {
      ip("link set " + name + " down");
    }
    ASSERT_TRUE(settle());
    StateRecorder fresh;
    read_whole(fresh);
    EXPECT_EQ(all_routes(state_), all_routes(fresh)) << "round " << round << " " << name;
    EXPECT_TRUE(agrees()) << round;
  }
  EXPECT_GT(state_.device_resyncs, 6U);
  EXPECT_LT(state_.reasons.size() - state_.device_resyncs, 6U);  // the first, and two ports at once
}

TEST_F(Mirror, TwoLinksAtOnceAndALinkThatGoesAreReadWithAllElse) {
  two_ports();
  ip("route add 10.0.0.0/8 via 192.0.2.2");
  state_.by_device = true;
  start_mirror();
  ip("link set wan0 down");
  ip("link set lan0 down");
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.device_resyncs, 0U);
  EXPECT_TRUE(agrees());
  const uint64_t resyncs = mirror_->stats().resyncs;
  lan_.reset();
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.device_resyncs, 0U);
  EXPECT_EQ(mirror_->stats().resyncs, resyncs + 1);
}

TEST_F(Mirror, SweepsRoutesThatARemovedAddressFlushed) {
  two_ports();
  ip("route add 10.0.0.0/8 via 192.0.2.2");
  start_mirror();
  ip("addr del 192.0.2.1/24 dev wan0");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.find("10.0.0.0/8"));
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, FollowsCarrierMtuAndRemovalOfALink) {
  two_ports();
  start_mirror();
  ASSERT_TRUE(wan_->set_carrier(false));
  ASSERT_TRUE(lan_->set_mtu(1400));
  // The kernel tells a carrier's change up to a second late (linkwatch_schedule_work()).
  EXPECT_TRUE(serve_until([&] { return !state_.find_link("wan0")->carrier; }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.find_link("lan0")->mtu, 1400U);
  wan_.reset();
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.find_link("wan0"));
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, FollowsNeighbors) {
  two_ports();
  start_mirror();
  const auto key = std::pair(wan_->ifindex(), *IpAddress::parse("192.0.2.7"));
  ip("neigh add 192.0.2.7 lladdr 02:00:00:00:00:77 dev wan0 nud reachable");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(state_.neighbors.count(key));
  EXPECT_EQ(state_.neighbors[key].value.mac[5], 0x77);
  ip("neigh replace 192.0.2.7 lladdr 02:00:00:00:00:78 dev wan0 nud reachable");
  ASSERT_TRUE(settle());
  EXPECT_EQ(state_.neighbors[key].value.mac[5], 0x78);
  ip("neigh del 192.0.2.7 dev wan0");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(state_.neighbors.count(key) && state_.neighbors[key].value.usable);
}

}  // namespace
}  // namespace hecto::router
