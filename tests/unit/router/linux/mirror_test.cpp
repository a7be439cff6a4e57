#include "router/linux/mirror.hpp"

#include <fmt/format.h>

#include <fstream>
#include <random>
#include <sstream>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

class Mirror : public NamespaceTest {
 protected:
  // What `ip route` says of table main, as StateRecorder::route_names() puts it.
  std::set<std::string> kernel_routes(Family family) {
    const char* option = family == Family::kIpv4 ? "-4" : "-6";
    std::istringstream lines(ip(std::string(option) + " route show table main"));
    std::set<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string prefix;
      words >> prefix;
      if (line.empty() || line[0] == '\t' || prefix == "nexthop") continue;
      if (prefix == "blackhole" || prefix == "unreachable" || prefix == "prohibit") words >> prefix;
      if (prefix == "default") prefix = family == Family::kIpv4 ? "0.0.0.0/0" : "::/0";
      if (prefix.find('/') == std::string::npos) {
        prefix += family == Family::kIpv4 ? "/32" : "/128";
      }
      std::string metric = "0";
      for (std::string word; words >> word;) {
        if (word == "metric") words >> metric;
      }
      names.insert(prefix + " " + metric);
    }
    return names;
  }
  bool agrees() {
    return state_.route_names(254, Family::kIpv4) == kernel_routes(Family::kIpv4) &&
           state_.route_names(254, Family::kIpv6) == kernel_routes(Family::kIpv6);
  }
  // Starts a resync and stops in the midst of reading table main, of at least 2000 routes.
  void into_the_route_dump() {
    mirror_->request_resync("test");
    const uint64_t enough = state_.route_events + 800;
    while (state_.route_events < enough) ASSERT_TRUE(mirror_->process(2));
    ASSERT_FALSE(mirror_->synchronized());
  }
  void read_whole(StateRecorder& fresh) {
    auto mirror = NetlinkMirror::open(*space_, fresh);
    ASSERT_TRUE(mirror);
    while (!(*mirror)->synchronized()) ASSERT_TRUE((*mirror)->process(4096));
  }
  // Every route with its next hops, of a prefix in their order.
  static std::vector<std::string> all_routes(const StateRecorder& state) {
    std::vector<std::string> lines;
    for (const auto& [key, set] : state.routes) {
      for (const auto& stamped : set) {
        const Route& route = stamped.value;
        std::string line =
            fmt::format("{} table {} type {} metric {} nhid {}", route.prefix.to_string(),
                        route.table, to_string(route.type), route.metric, route.nexthop_object);
        for (const NextHop& hop : route.next_hops) {
          line += fmt::format(" [{} dev {}{}]", hop.gateway ? hop.gateway->to_string() : "",
                              hop.ifindex, hop.dead ? " dead" : "");
        }
        lines.push_back(line);
      }
    }
    return lines;
  }
  // Two ports with addresses, up, before the mirror starts.
  void two_ports() {
    wan_ = std::make_unique<Tap>(make_tap("wan0", 1));
    lan_ = std::make_unique<Tap>(make_tap("lan0", 2));
    ip("addr add 192.0.2.1/24 dev wan0");
    ip("addr add 198.51.100.1/24 dev lan0");
    ip("-6 addr add 2001:db8::1/64 dev wan0 nodad");
    ip("-6 addr add 2001:db8:1::1/64 dev lan0 nodad");
  }
  // `ip -batch` of `verb` on `count` /24s from 10.0.0.0 on.
  void batch(const std::string& verb, int count, const std::string& rest = "via 192.0.2.2") {
    const std::string path = "/tmp/" + name_ + ".batch";
    {
      std::ofstream file(path);
      for (int i = 0; i < count; ++i) {
        file << fmt::format("route {} 10.{}.{}.0/24 {}\n", verb, i / 256 % 256, i % 256, rest);
      }
    }
    ip("-batch " + path);
    unlink(path.c_str());
  }

  std::unique_ptr<Tap> wan_;
  std::unique_ptr<Tap> lan_;
};

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

TEST_F(Mirror, ConvergesAfterAForcedOverrun) {
  two_ports();
  start_mirror({.receive_buffer_bytes = 4096});
  batch("add", 3000);
  batch("del", 1000);
  ip("link set lan0 mtu 1300");
  ASSERT_TRUE(settle());
  EXPECT_GE(mirror_->stats().overruns, 1U);
  EXPECT_GE(mirror_->stats().resyncs, 2U);
  EXPECT_EQ(state_.find_link("lan0")->mtu, 1300U);
  EXPECT_EQ(state_.route_names(254, Family::kIpv4).size(), 2002U);
  EXPECT_TRUE(agrees());
  EXPECT_NE(std::find(state_.reasons.begin(), state_.reasons.end(),
                      "the kernel dropped netlink notifications"),
            state_.reasons.end());
}

TEST_F(Mirror, ConvergesWhenTooMuchWaitsForADump) {
  two_ports();
  batch("add", 2000);
  start_mirror({.held_limit_bytes = 1024});
  into_the_route_dump();
  batch("del", 500);
  ASSERT_TRUE(settle());
  EXPECT_GE(mirror_->stats().overruns, 1U);
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, ResyncsOnRequest) {
  two_ports();
  start_mirror();
  const uint64_t before = mirror_->stats().resyncs;
  mirror_->request_resync("asked for");
  EXPECT_TRUE(mirror_->resync_pending());
  ASSERT_TRUE(settle());
  EXPECT_EQ(mirror_->stats().resyncs, before + 1);
  EXPECT_EQ(state_.reasons.back(), "asked for");
  EXPECT_TRUE(agrees());
}

TEST_F(Mirror, KeepsUntouchedRoutesWhileChangesOverlapWithResyncs) {
  two_ports();
  batch("add", 4000);
  ip("-6 route add 2001:db8:f::/48 via 2001:db8::2");
  start_mirror();
  for (int round = 0; round < 6; ++round) {
    into_the_route_dump();
    batch("del", 300);
    ASSERT_TRUE(mirror_->process(64));
    batch("add", 300, "via 198.51.100.2 metric 5");
    ASSERT_TRUE(mirror_->process(64));
    batch("del", 300, "via 198.51.100.2 metric 5");
    batch("add", 300);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(agrees()) << round;
  }
  EXPECT_GT(mirror_->stats().held_peak_bytes, 0U);
}

// After a removal the kernel goes on in an IPv6 dump by skipping as many routes as it had shown.
TEST_F(Mirror, KeepsIpv6RoutesThatADumpSkippedOverRemovals) {
  two_ports();
  const std::string path = "/tmp/" + name_ + ".batch";
  for (const char* verb : {"add", "del"}) {
    const int count = verb[0] == 'a' ? 3000 : 500;
    std::ofstream file(path);
    for (int i = 0; i < count; ++i) {
      file << fmt::format("route {} 2001:db9:{:x}::/48 via 2001:db8::2\n", verb, i);
    }
    file.close();
    if (verb[0] == 'd') into_the_route_dump();
    ip("-6 -batch " + path);
    if (verb[0] == 'a') start_mirror();
  }
  unlink(path.c_str());
  ASSERT_TRUE(settle());
  EXPECT_GE(mirror_->stats().repeated_dumps, 1U);
  EXPECT_EQ(state_.route_names(254, Family::kIpv6), kernel_routes(Family::kIpv6));
}

TEST_F(Mirror, AHundredThousandRoutesConvergeInSmallSteps) {
  two_ports();
  batch("add", 50000);
  start_mirror();
  ASSERT_EQ(state_.route_names(254, Family::kIpv4).size(), 50002U);
  {
    const std::string path = "/tmp/" + name_ + ".batch";
    std::ofstream file(path);
    for (int i = 0; i < 50000; ++i) {
      file << fmt::format("route add 11.{}.{}.0/24 via 198.51.100.2\n", i / 256, i % 256);
    }
    file.close();
    ip("-batch " + path);
    unlink(path.c_str());
  }
  ASSERT_TRUE(settle(60000));
  EXPECT_EQ(state_.route_names(254, Family::kIpv4).size(), 100002U);
  EXPECT_LE(largest_step_, 256U + 700U);  // a budget of 256 and one read of a dump
  const auto start = std::chrono::steady_clock::now();
  mirror_->request_resync("measure");
  ASSERT_TRUE(settle(60000));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("resync of 100,000 routes: %.0f ms (with the test's own model)\n",
              took.count() * 1e3);
  EXPECT_TRUE(agrees());
}

}  // namespace
}  // namespace hecto::router
