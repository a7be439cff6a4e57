// Golden outputs, from the samples of docs/api.md where they show enough.
#include "router/cli/render.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/unit/router/api/documented.hpp"

namespace hecto::cli {
namespace {

using hecto::test::documented;
using hecto::test::documented_samples;

const char* kWalk = "A walk: `?prefix=&limit=&after=`";
const char* kAddress = "One address: `?address=`";

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), kWidth) << line;
}

TEST(Documentation, HasOnlyValidJson) {
  size_t blocks = 0;
  for (const auto& [heading, samples] : documented_samples()) {
    for (const std::string& sample : samples) {
      EXPECT_TRUE(json::accept(sample)) << heading << ":\n" << sample;
      ++blocks;
    }
  }
  EXPECT_GE(blocks, 20u);
}

TEST(Documentation, ShowsTotalsThatBalance) {
  const json totals = documented("drops").at("totals");
  EXPECT_EQ(totals.at("received").get<int>() + totals.at("injected").get<int>(),
            totals.at("transmitted").get<int>() + totals.at("punted").get<int>() +
                totals.at("dropped").get<int>() + totals.at("in_flight").get<int>() +
                totals.at("unaccounted").get<int>());
}

TEST(Render, Summary) {
  EXPECT_EQ(render_summary(documented("summary"), {}),
            R"(router    hectod 0.1.0, DPDK 22.11.11, up 1d 00:00:23, pid 4711
config    /etc/hecto/hecto.yaml
linux     namespace hecto, mirror in sync, resyncs 1, the last: start
workers   4 on sockets 0 1, control on core 1
ports     2 of 2 up
ipv4      954,201 prefixes, dir-24-8, 32.5 MiB on each of 2 sockets, avx2, generation 812
ipv6      201,377 prefixes, trie, 3.5 MiB on each of 2 sockets, avx2, generation 240
next hops 41 of 16,384 groups
in        36.1 Mpps, 96.2 Gb/s
out       36.1 Mpps, 96.2 Gb/s, punted 12 pps, dropped 3 pps
! lan0: the driver ixgbe refused 16 receive queues: using 8
)");
}

TEST(Render, PortsWithTroubleOnTop) {
  json answer = documented("ports");
  json lossy = answer["ports"][0], down = answer["ports"][0];
  lossy["name"] = "lan0";
  lossy["rx"]["missed"] = 1204;
  lossy["refused"] = json::array();
  down["name"] = "lan1";
  down["link"] = {{"up", false}, {"speed_mbps", nullptr}};
  answer["ports"].push_back(lossy);
  answer["ports"].push_back(down);
  const std::string text = render_ports(answer, {});
  EXPECT_EQ(text.substr(0, text.find("\n\nlan0")),
            R"(port  link       mtu  queues         rx                     tx               lost
lan1  down      9000     4/5  18.2 Mpps   48.1 Gb/s  18.2 Mpps   48.1 Gb/s      0
lan0  100 Gb/s  9000     4/5  18.2 Mpps   48.1 Gb/s  18.2 Mpps   48.1 Gb/s  1,204
wan0  100 Gb/s  9000     4/5  18.2 Mpps   48.1 Gb/s  18.2 Mpps   48.1 Gb/s      0
all                           54.6 Mpps  144.3 Gb/s  54.6 Mpps  144.3 Gb/s  1,204

lan1: 0000:17:00.0, net_ice, socket 0, 02:00:00:00:00:01
  total    rx 1,204,332 packets, 861.4 MiB; tx 1,204,320 packets, 861.4 MiB
  asked    rss rss_hash fast_free
  given    rss fast_free
  rx path  Vector AVX512
  tx path  Vector AVX512
  refused  rss_hash: the driver net_ice does not give it; flows are hashed in software)");
  EXPECT_NE(text.find("  lost     1,204 missed: no free descriptor, the workers were too slow\n"),
            std::string::npos)
      << text;
}

TEST(Render, InterfacesWithEveryAddressAndTheCountersThatAreOn) {
  EXPECT_EQ(
      render_interfaces(documented("interfaces"), {}),
      R"(interface  state  vlan   mtu  mac                urpf    linux                   addresses
wan0.100   up      100  1500  02:00:00:00:00:01  strict  wan0.100 in hecto (12)  192.0.2.1/31
                                                                                 2001:db8::1/127

interface  rx packets     rx           tx packets     tx
wan0.100           10  1 pps  672 b/s          12  1 pps  672 b/s
)");
}

TEST(Render, RoutesWithTheirCounts) {
  const json answer = documented(kWalk);
  EXPECT_EQ(
      render_route_counts(answer, {}) + render_route_page(answer, {}),
      R"(1,155,580 routes: IPv4 954,202, IPv6 201,378; linux 1,155,570, file 8, neighbor 2; bgp 1,155,558,
kernel 12, static 8
   prefix          via              interface  from       metric  next hop
*  203.0.113.0/24  192.0.2.0 x2     wan0       linux bgp      20         7
                   198.51.100.9 x1  lan0
)");
}

TEST(Render, LongIpv6RoutesWithinTheWidthAndTheirPrefixesWhole) {
  json answer = documented(kWalk);
  json& route = answer["routes"][0];
  const std::string prefix = "2001:0db8:1111:2222:3333:4444:5555:6666/128";
  route["prefix"] = prefix;
  route["next_hops"][0]["gateway"] = "fe80::1111:2222:3333:4444";
  route["next_hops"][0]["interface"] = "a-long-port.4094";
  const std::string text = render_route_page(answer, {});
  expect_narrow(text);
  EXPECT_NE(text.find(prefix), std::string::npos) << text;
}

TEST(Render, Explanation) {
  EXPECT_EQ(render_explanation(documented(kAddress), {}),
            R"(203.0.113.9: forward, route 203.0.113.0/24, next hop 7
  203.0.113.0/24 is the longest of 2 prefixes that hold 203.0.113.9
  of its 2 routes, linux bgp metric 20 has the lowest metric

share  next hop  does     gateway    interface  port   mtu  neighbor           state
 100%         7  forward  192.0.2.0  wan0       wan0  9000  02:00:00:00:00:02  reachable
rewrite 7: 02:00:00:00:00:01 > 02:00:00:00:00:02, 0200000000020200000000010800

   prefix          via        interface  from       metric  next hop  why
*  203.0.113.0/24  192.0.2.0  wan0       linux bgp      20         7  selected
*  0.0.0.0/0       192.0.2.0  wan0       file            0         2  a shorter prefix
)");
}

TEST(Render, ExplanationOfNoRoute) {
  const json answer = {{"address", "203.0.113.9"},
                       {"match", nullptr},
                       {"verdict", "punt"},
                       {"reason", "no_route"},
                       {"why", {"no prefix holds 203.0.113.9"}},
                       {"candidates", json::array()},
                       {"next_hop", nullptr}};
  EXPECT_EQ(render_explanation(answer, {}),
            "203.0.113.9: punt (no_route)\n  no prefix holds 203.0.113.9\n");
}

TEST(Render, NeighborsUnusableFirst) {
  json answer = documented("neighbors");
  answer["neighbors"].push_back({{"address", "198.51.100.9"},
                                 {"interface", "lan0"},
                                 {"mac", nullptr},
                                 {"state", "failed"},
                                 {"usable", false},
                                 {"origin", "linux"},
                                 {"group", nullptr}});
  EXPECT_EQ(render_neighbors(answer, {}),
            R"(address       interface  mac                state      from   next hop
198.51.100.9  lan0       -                  failed     linux
192.0.2.0     wan0       02:00:00:00:00:02  reachable  linux         7
)");
}

TEST(Render, NextHopsByRoutes) {
  EXPECT_EQ(render_nexthops(documented("nexthops"), {}),
            R"(id   routes  does       gateway    interface  mac                 mtu  members
 9  954,000  multipath                                                 7 x2, 8 x1
 7   12,043  forward    192.0.2.0  wan0       02:00:00:00:00:02  9000
)");
}

TEST(Render, WorkersBusiestFirst) {
  json answer = documented("workers");
  json idle = answer["workers"][0], remote = answer["workers"][0];
  idle["cpu"] = 3;
  idle["pps"] = 0;
  idle["load_percent"] = 0;
  idle["idle_percent"] = 100;
  idle["cycles_per_packet"] = nullptr;
  idle["burst_fill"] = nullptr;
  for (auto& stage : idle["stages"]) stage = nullptr;
  remote["cpu"] = 4;
  remote["load_percent"] = 97;
  remote["idle_percent"] = 3;
  remote["remote_queues"] = 1;
  answer["workers"].insert(answer["workers"].begin(), idle);
  answer["workers"].push_back(remote);
  EXPECT_EQ(render_workers(answer, {}),
            R"(socket  core  queues         load  Mpps  cycles/packet  burst  idle
     0     4  wan0:0 lan0:0   97%  18.2           58.1   41.7    3%
     0     2  wan0:0 lan0:0   71%  18.2           58.1   41.7   29%
     0     3  wan0:0 lan0:0    0%   0.0              -      -  100%

cycles per packet by stage
core  receive  classify  lookup  rewrite  transmit  isa   when idle  features
   4     11.0       9.2    20.3      7.1      10.5  avx2  sleep      vlan urpf counters
   2     11.0       9.2    20.3      7.1      10.5  avx2  sleep      vlan urpf counters
   3        -         -       -        -         -  avx2  sleep      vlan urpf counters
core 4: wan0:0 is spread by flow, 33 % here, the rest to core 3 (spread: always)
core 2: wan0:0 is spread by flow, 33 % here, the rest to core 3 (spread: always)
core 3: wan0:0 is spread by flow, 33 % here, the rest to core 3 (spread: always)
! core 4 polls 1 queue of another socket; see hecto plan
)");
}

TEST(Render, DropsAndTheBalance) {
  EXPECT_EQ(render_drops(documented("drops"), {}),
            R"(reason        packets   rate  where
no_route        1,204  3 pps  lookup (punted, over the bucket)  e.g. 203.0.113.77 from wan0
bad_checksum        7  0 pps  classify                          IPv4 header checksum

punted to Linux  packets   rate     limit
arp                   31  0 pps  1.0 kpps  RFC 826

received 1,300,000 + from Linux 640 = transmitted 1,298,640 + punted 789 + dropped 1,211
)");
}

TEST(Render, DropsSayWhenPacketsAreUnaccountedFor) {
  json answer = documented("drops");
  json& totals = answer["totals"];
  totals["received"] = 1300256;
  totals["in_flight"] = 256;  // under load
  EXPECT_EQ(render_drops(answer, {}).find('!'), std::string::npos) << render_drops(answer, {});
  EXPECT_NE(render_drops(answer, {}).find("in flight\n256"), std::string::npos);
  totals["unaccounted"] = 5;
  EXPECT_NE(render_drops(answer, {})
                .find("! the sum does not fit: 5 packets are unaccounted for: a fault"),
            std::string::npos)
      << render_drops(answer, {});
  totals["unaccounted"] = -5;
  EXPECT_NE(render_drops(answer, {}).find("5 packets are counted twice"), std::string::npos);
}

TEST(Render, WorkersThatWaitForTheirCpu) {
  json answer = documented("workers");
  EXPECT_EQ(render_workers(answer, {}).find("waits"), std::string::npos);
  json& worker = answer["workers"][0];
  worker["load_percent"] = 0.0;
  worker["idle_percent"] = 100.0;
  worker["cpu_percent"] = 0.3;
  worker["waiting_percent"] = 99.4;
  const std::string text = render_workers(answer, {});
  EXPECT_NE(text.find("idle  waits\n"), std::string::npos) << text;
  EXPECT_NE(text.find("! core 2: the worker waits for its CPU 99% of the time and runs <1%"),
            std::string::npos)
      << text;
}

TEST(Render, WorkersThatCannotWaitAsTheyWereAsked) {
  json answer = documented("workers");
  answer["workers"][0]["idle"] = "interrupt";
  answer["workers"][0]["no_wakeup"] = {"lan0: the driver net_memif has no receive interrupts"};
  const std::string text = render_workers(answer, {});
  EXPECT_NE(
      text.find("! core 2: idle: interrupt, but it sleeps where it would wait: lan0: the driver"),
      std::string::npos)
      << text;
}

TEST(Render, QueuesThatGoOverSeveralWorkers) {
  json answer = documented("workers");
  const std::string text = render_workers(answer, {});
  EXPECT_NE(text.find("core 2: wan0:0 is spread by flow, 33 % here, the rest to core 3"),
            std::string::npos)
      << text;
  answer["workers"][0]["spread"] = json::array();
  EXPECT_EQ(render_workers(answer, {}).find("spread"), std::string::npos);
}

TEST(Render, NoNeighborsInWords) {
  EXPECT_EQ(render_neighbors({{"neighbors", json::array()}}, {}),
            "no neighbors: none is in the file, and Linux has told of none\n");
}

TEST(Render, ExplanationOfAMartian) {
  json answer = documented(kAddress);
  answer["address"] = "240.0.0.1";
  answer["verdict"] = "drop";
  answer["reason"] = "martian_destination";
  answer["stage"] = "classify";
  const std::string text = render_explanation(answer, {});
  EXPECT_EQ(
      text.rfind("240.0.0.1: drop (martian_destination) at classify, route 203.0.113.0/24", 0), 0u)
      << text;
  answer = documented(kAddress);
  answer["spi"] = "0x00001001";
  EXPECT_EQ(
      render_explanation(answer, {}).rfind("203.0.113.9: forward as ESP, SPI 0x00001001, ", 0), 0u);
}

TEST(Render, ARouteThatIsThereTwiceIsOneRow) {
  json answer = documented(kWalk);
  answer["routes"][0]["origin"] = "file";
  answer["routes"][0]["also"] = {"linux"};
  EXPECT_NE(render_route_page(answer, {}).find("  file, linux  "), std::string::npos)
      << render_route_page(answer, {});
}

TEST(Render, ARouteThatIsKeptSaysSo) {
  json answer = documented(kWalk);
  answer["routes"][0]["origin"] = "api";
  answer["routes"][0]["persist"] = true;
  EXPECT_NE(render_route_page(answer, {}).find("  api (persist)  "), std::string::npos)
      << render_route_page(answer, {});
}

TEST(Render, PuntClassesAndWhereTheyDrop) {
  json answer = documented("punt");
  EXPECT_EQ(render_punt(answer, {}),
            R"(class     order      limit  passed     rate    dropped        rate  where
sessions      0  20.0 kpps  81,204   12 pps          0       0 pps
closed        3    200 pps   2,210  200 pps  9,120,450  361.0 kpps  lan0 9,120,450

the router itself: 4 connections, 3 TCP and 2 UDP ports, 2 known peers
)");
  for (const char* name : {"lan1", "lan2", "lan3", "lan4"})
    answer["classes"][1]["where"].push_back({{"interface", name}, {"dropped", 1}});
  answer["sessions"] = nullptr;
  const std::string text = render_punt(answer, {});
  EXPECT_NE(text.find("  lan0 9,120,450, lan1 1, 3 more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no port counts as closed"), std::string::npos) << text;
}

TEST(Render, Pools) {
  EXPECT_EQ(render_pools(documented("pools"), {}),
            R"(pool         socket   mbufs  in use       available  data room  exhausted  ports
pool_0_2176       0  65,535   8,200  13%     57,335    2,176 B          0  wan0
)");
}

TEST(Render, MtuOfInterfacesAndOnTheWayToAnAddress) {
  EXPECT_EQ(render_mtu(documented("mtu"), {}),
            R"(interface   mtu  file  port  at most  device  linux  mss
wan0       1500  9000  1500     1766    1500   1500
wan0.7     1400        1500     1766    1500   1400  clamped

wan0: the file says 9000, it has 1500: driver and buffers take 1766 at most as they were set up
wan0.7: twin wan0.7 has 1400, the port's interface 1500: Linux and the fast path send at most 1400

to 203.0.113.9 (203.0.113.0/24): 1338 bytes at most
  via 192.0.2.9 on wan0: 1480 by its route, the interface takes 1500
  SPI 0x00001001 to 198.51.100.1: 1338 inside, the next hop takes 1500, the path told 1400
  the route says mtu 1480, wan0 has 1500
  a router on the way to 198.51.100.1 has told 1400 (ICMP), the next hop takes 1500
  as ESP to 198.51.100.1 1338 bytes become 1400 at most
)");
  json answer = documented("mtu");
  answer["path"]["mtu"] = nullptr;
  answer["path"]["tunnel"] = nullptr;
  EXPECT_NE(render_mtu(answer, {}).find("to 203.0.113.9 (203.0.113.0/24): nothing goes there\n"),
            std::string::npos);
  answer["path"] = nullptr;
  EXPECT_EQ(render_mtu(answer, {}).find("to 203"), std::string::npos);
}

TEST(Render, ConfigIsAFileThatCanBeLoaded) {
  EXPECT_EQ(render_config(documented("config"), {}),
            "# auto: workers: {0: [2, 3]}\nworkers: {0: [2, 3]}\nports:\n  …\n");
}

TEST(Render, Bonds) {
  EXPECT_EQ(
      render_bonds(documented("bonds"), {}),
      R"(uplink: lacp, layer3+4, LACPDUs fast, up, 1 of 2 active (min_links 1), 02:00:00:00:00:05
member  state     speed  partner            key  port  we                  rx      tx  lost  changes
eth1    active  25 Gb/s  02:00:00:00:99:01    7    11  sync coll dist  90,211  71,042
eth2    waits   25 Gb/s                                -                   12      31     3        4
! eth2: no LACP heard: is its other end a member of a bond with LACP?
)");
  EXPECT_EQ(render_bonds({{"bonds", json::array()}}, {}), "no port is a bond\n");
}

TEST(Render, Bridges) {
  json answer = documented("bridges");
  EXPECT_EQ(render_bridges(answer, {}),
            R"(lan: up, 02:00:00:00:00:01, MTU 1500, 214 stations, filters VLANs
port  state      MTU  stations
eth1  forwards  1500       200
eth2  blocked   1400        14
! MTU below the bridge's: what is longer does not leave by eth2
)");
  answer["bridges"][0]["trouble"] = "its VLANs are those of 802.1ad";
  EXPECT_NE(
      render_bridges(answer, {}).find("! Linux switches and routes it, at its speed: its VLANs"),
      std::string::npos);
  EXPECT_EQ(render_bridges({{"bridges", json::array()}}, {}), "Linux has no bridge\n");
}

TEST(Render, PlanAsItIs) {
  EXPECT_EQ(render_plan({{"text", "a → b\n! short"}}, {}), "a → b\n! short\n");
  EXPECT_EQ(render_plan({{"text", "! short"}}, Style{true}), "\033[33m! short\033[0m\n");
}

TEST(Render, Trace) {
  const json answer = documented("Trace", 2);
  EXPECT_EQ(render_trace(answer["traces"][0], {}),
            R"(#1 IPv4 192.0.2.9 > 203.0.113.9 ICMP echo request, 84 bytes, TTL 64
   receive   wan0 queue 0, worker 0, 98 bytes
   classify  interface wan0, IPv4                  41
   lookup    203.0.113.0/24, next hop 7            60
   rewrite   via 198.51.100.9 on lan0, TTL 63      22
   transmit  lan0 queue 1                          30
   = transmitted on lan0
)");
}

// Another version of the router, or none at all: nothing may throw.
TEST(Render, SurvivesMissingKeysAndWrongTypes) {
  using Render = std::string (*)(const json&, Style);
  const std::pair<const char*, Render> renders[] = {
      {"summary", render_summary},
      {"ports", render_ports},
      {"bonds", render_bonds},
      {"bridges", render_bridges},
      {"interfaces", render_interfaces},
      {"neighbors", render_neighbors},
      {"rules", render_rules},
      {"nexthops", render_nexthops},
      {"tables", render_tables},
      {"workers", render_workers},
      {"drops", render_drops},
      {"pools", render_pools},
      {"punt", render_punt},
      {"config", render_config},
      {"plan", render_plan},
      {"mtu", render_mtu},
      {kWalk, render_route_counts},
      {kWalk, render_route_page},
      {kAddress, render_explanation},
  };
  for (const auto& [heading, render] : renders) {
    for (const json& top : {json(), json::array(), json(5), json::object()}) {
      EXPECT_NO_THROW(render(top, {})) << heading;
    }
    const json flat = documented(heading).flatten();
    for (const auto& [path, value] : flat.items()) {
      for (const json& other : {json(), json("text"), json(-1), json::array({1}), json(1e300)}) {
        json changed = documented(heading);
        changed[json::json_pointer(path)] = other;
        EXPECT_NO_THROW(render(changed, {})) << heading << path;
      }
    }
  }
  EXPECT_NO_THROW(render_trace(json::array(), {}));
}

TEST(Render, StaysWithinAHundredColumnsWithLongNames) {
  const std::string name = "a-rather-long-name-of-something.4094";
  using Render = std::string (*)(const json&, Style);
  const std::pair<const char*, Render> renders[] = {
      {"ports", render_ports},         {"interfaces", render_interfaces},
      {"neighbors", render_neighbors}, {"nexthops", render_nexthops},
      {"workers", render_workers},     {"pools", render_pools}};
  for (const auto& [heading, render] : renders) {
    json answer = documented(heading);
    for (auto& item : answer[heading]) {
      for (const char* key : {"interface", "tap", "namespace"}) {
        if (item.contains(key)) item[key] = name;
      }
      if (item.contains("queues") && item["queues"].is_array()) {
        for (int i = 0; i < 30; ++i) item["queues"].push_back({{"port", "wan0"}, {"queue", i}});
      }
      if (item.contains("ports")) item["ports"] = json(std::vector<std::string>(20, "wan0"));
    }
    expect_narrow(render(answer, {}));
  }
}

}  // namespace
}  // namespace hecto::cli
