// Golden outputs, from the samples of docs/api.md where they show enough.
#include "tests/unit/router/cli/render_bed.hpp"

namespace hecto::cli {
namespace {

using hecto::test::documented_samples;

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

TEST(Render, InterfacesWithAllTheirTags) {
  json answer = documented("interfaces");
  json& interface = answer["interfaces"][0];
  EXPECT_NE(render_interfaces(answer, {}).find(" 100 "), std::string::npos);
  interface["outer_vlan"] = 7;
  EXPECT_NE(render_interfaces(answer, {}).find(" 7.100 "), std::string::npos);
  interface["tag_protocol"] = "802.1ad";
  EXPECT_NE(render_interfaces(answer, {}).find(" 802.1ad 7.100 "), std::string::npos);
  interface.erase("tag_protocol");  // an older router
  interface.erase("outer_vlan");
  EXPECT_EQ(render_interfaces(answer, {}).find("802.1ad"), std::string::npos);
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
lan        1500        1400                    1500

wan0: the file says 9000, it has 1500: driver and buffers take 1766 at most as they were set up
wan0.7: twin wan0.7 has 1400, the port's interface 1500: Linux and the fast path send at most 1400
lan: port lan1 of the bridge has 1400: frames longer than that are lost there (bridge_too_long)

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
TCP in, a sample: 9 of 48,210 segments out of order in the last minute (0.02 %)
! eth2: no LACP heard: is its other end a member of a bond with LACP?
)");
  EXPECT_EQ(render_bonds({{"bonds", json::array()}}, {}), "no port is a bond\n");
}

TEST(Render, Nat) {
  EXPECT_EQ(render_nat(documented("nat"), {}),
            R"(inside       becomes               out
10.1.0.0/24  203.0.113.0/24 (1:1)  wan0
10.2.0.0/16  pool homes            wan0

pool   addresses          blocks  hosts  sessions       of  new/s  refused
homes  198.51.100.0/28  812/2016    640    41,210  131,072    310    1,207
homes: 3 nat_limit
homes: 1,204 nat_no_session
)");
  EXPECT_EQ(render_nat({{"rules", json::array()}}, {}),
            "nothing is translated: the file has no nat\n");
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

TEST(Render, Filters) {
  json answer = documented("filters");
  EXPECT_EQ(render_filters(answer, {}),
            R"(edge: in wan0
rule       action  packets    bytes    rate  of
spoofed    drop         12   1008 B   2 pps  {name: spoofed, from: bogons, action: drop}
2          accept   48,210  3.9 MiB  10 pps  {protocol: icmp, police: pings}
otherwise  drop          3    180 B   0 pps  what no rule holds for
! out: there is no interface lan9 (now)

policer      green  yellow    red
pings       48,000       0    210
customers  910,000       0  5,204

policer       of  exceeding           red    bytes  set
customers  2,048  198.51.100.64/26  5,200  4.5 MiB  homes
customers  2,048  2001:db8:7::/48       4  3.5 KiB  homes

set     prefixes
bogons         2
)");
  answer["filters"][0]["left_out"] = 1200;
  EXPECT_NE(render_filters(answer, {}).find("1,200 more rules"), std::string::npos);
  EXPECT_EQ(render_filters({{"filters", json::array()}}, {}), "no filters\n");
}
TEST(Render, Sflow) {
  EXPECT_EQ(render_sflow(documented("sflow"), {}),
            R"(agent 192.0.2.1, by the routes of the router
one packet in 1,000, 128 bytes of each; counters each 20 s
samples: 18,204 taken, 18,190 exported in 2,599 datagrams, 14 waiting, 0 dropped

collector           datagrams    bytes  refused  failed
192.0.2.5:6343          2,599  3.3 MiB
[2001:db8::5]:6343      2,580  3.3 MiB    2,580      19

port  ifindex     packets  samples
wan0       11  18,204,551   18,204
! nobody listens at collector [2001:db8::5]:6343
)");
  EXPECT_EQ(render_sflow({{"on", false}}, {}), "sflow is off: the file names no collector\n");
}

TEST(Render, Ipfix) {
  json answer = documented("ipfix");
  EXPECT_EQ(render_ipfix(answer, {}),
            R"(domain 1, by the routes of the router; one packet in 1,000
flows that go on are told after 60 s, such as rest after 15 s; templates each 60 s
samples: 182,040 read, 170,000 told, 12,000 under way, 40 of no flow, 0 dropped
flows: 22,904 told in 1,204 messages, 0 of them for want of room; 1,804 under way, room for 65,536
       (225.6 KiB)

collector           messages    bytes  refused  failed
192.0.2.5:4739         1,204  1.5 MiB
[2001:db8::5]:4739     1,200  1.5 MiB    1,200       4
! nobody listens at collector [2001:db8::5]:4739
)");
  answer["records"] = "flow_table";
  answer["samples"] = nullptr;
  answer["flows"]["lost"] = 7;
  const std::string text = render_ipfix(answer, {});
  EXPECT_NE(text.find("all packets of the entries of the flow table"), std::string::npos) << text;
  EXPECT_NE(text.find("7 lost: too many entries went at once"), std::string::npos) << text;
  EXPECT_EQ(text.find("samples:"), std::string::npos) << text;
  EXPECT_EQ(render_ipfix({{"on", false}}, {}), "ipfix is off: the file names no collector\n");
}

TEST(Render, TopFlows) {
  EXPECT_EQ(
      render_top_flows(documented("flows/top"), {}),
      R"(source            destination        protocol  in        out                rate        rate   error
198.51.100.7:443  203.0.113.9:51514  tcp       wan0      lan0           6.9 Gb/s  924.0 kpps   ± 3 %
-                 -                  0x0806    wan0.100  Linux (arp)  300.0 Mb/s   60.0 kpps  ± 12 %
1,204 flows seen; all: 12.4 Gb/s, 1.8 Mpps; not shown: 5.2 Gb/s
the last 5 s, of one packet in 1,000; error: of 100 such numbers 95 are within it
)");
  EXPECT_EQ(render_top_flows({{"seconds", 0}}, {}), "flows: samples are being taken\n");
  json none = documented("flows/top");
  none["flows"] = json::array();
  EXPECT_EQ(render_top_flows(none, {}), "flows: nothing came in\n");
}
TEST(Render, Flows) {
  EXPECT_EQ(render_flows(documented("flows"), {}),
            R"(on wan0; 2 of 1,048,576 entries (IPv4 1, IPv6 1), 0.3 MB; without one: route
1,250 packets by an entry, 17 without; 3 entries gone by their time

family  fields                              entries  priority
ipv4    from/32 to/32 protocol sport dport        1        10
ipv6    protocol dport                            1         5

       packets  by the busiest
         1,250  dport 2 from 10.0.0.1 protocol udp sport 1 to 10.0.0.2 priority 10: mac
                02:00:00:00:00:09 output lan0
)");
  EXPECT_EQ(render_flows({{"on", false}}, {}),
            "the flow table is off: the file's `flows` names no interface\n");
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

TEST(Render, LabelsSayWhatIsDoneAndByWhom) {
  const std::string text = render_labels(documented("labels"), {});
  EXPECT_NE(text.find("swap 200"), std::string::npos) << text;
  EXPECT_NE(text.find("10.0.0.2"), std::string::npos) << text;
  EXPECT_NE(text.find("it puts on more than 4 labels"), std::string::npos) << text;
  EXPECT_EQ(render_labels({{"platform_labels", 0}, {"labels", json::array()}}, {}),
            "Linux forwards no labels (MPLS) here\n");
}

// Another version of the router, or none at all: nothing may throw.
TEST(Render, SurvivesMissingKeysAndWrongTypes) {
  using Render = std::string (*)(const json&, Style);
  const std::pair<const char*, Render> renders[] = {
      {"summary", render_summary},
      {"ports", render_ports},
      {"bonds", render_bonds},
      {"filters", render_filters},
      {"nat", render_nat},
      {"bridges", render_bridges},
      {"flows", render_flows},
      {"interfaces", render_interfaces},
      {"neighbors", render_neighbors},
      {"rules", render_rules},
      {"nexthops", render_nexthops},
      {"tables", render_tables},
      {"labels", render_labels},
      {"workers", render_workers},
      {"drops", render_drops},
      {"pools", render_pools},
      {"punt", render_punt},
      {"sflow", render_sflow},
      {"ipfix", render_ipfix},
      {"flows/top", render_top_flows},
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
