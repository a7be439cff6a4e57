// Tables of routes, neighbors and next hops, and what becomes of a packet: samples of docs/api.md.
#include "tests/unit/router/cli/render_bed.hpp"

namespace hecto::cli {
namespace {

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

TEST(Render, NoNeighborsInWords) {
  EXPECT_EQ(render_neighbors({{"neighbors", json::array()}}, {}),
            "no neighbors: none is in the file, and Linux has told of none\n");
}

TEST(Render, NextHopsByRoutes) {
  EXPECT_EQ(render_nexthops(documented("nexthops"), {}),
            R"(id   routes  does       gateway    interface  mac                 mtu  members
 9  954,000  multipath                                                 7 x2, 8 x1
 7   12,043  forward    192.0.2.0  wan0       02:00:00:00:00:02  9000
)");
}

}  // namespace
}  // namespace hecto::cli
