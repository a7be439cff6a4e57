// Neighbors, next hops, routes, and what becomes of packets to an address: shapes of docs/api.md.
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/explain_packet.hpp"
#include "tests/unit/router/api/scratch.hpp"
#include "tests/unit/router/api/show/show_bed.hpp"

namespace hecto::router::test {
namespace {

TEST(ShowNeighbors, ThoseThatAreMissedFirst) {
  const auto bed = ControlBed::started(kBase, true);
  bed->events.neighbor({12, ip("10.1.0.7"), {}, 0x20, false}, false);
  const json list = show_neighbors(bed->routing)["neighbors"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["address"], "10.1.0.7");
  EXPECT_EQ(list[0]["state"], "failed");
  EXPECT_EQ(list[0]["origin"], "linux");
  EXPECT_EQ(list[1]["address"], "192.0.2.9");
  EXPECT_EQ(list[1]["interface"], "wan0");
  EXPECT_EQ(list[1]["mac"], "02:00:00:00:00:09");
  EXPECT_EQ(list[1]["state"], "permanent");
  EXPECT_EQ(list[1]["usable"], true);
}

TEST(ShowNextHops, NamesPortsAndMembers) {
  const auto bed = ControlBed::started(kBase);
  const TableUse tables{{}, {}, 5, 512};
  const json answer = show_next_hops(bed->routing, tables, bed->plane);
  EXPECT_EQ(answer["groups_used"], 5);
  EXPECT_EQ(answer["groups_max"], 512);
  const json& single = row(answer["nexthops"], "gateway", "192.0.2.9");
  EXPECT_EQ(single["kind"], "forward");
  EXPECT_EQ(single["port"], "wan0");
  EXPECT_EQ(single["interface"], "wan0");
  EXPECT_EQ(single["mac"], "02:00:00:00:00:09");
  EXPECT_EQ(single["vlan"], nullptr);
  EXPECT_EQ(single["mtu"], 1500);
  const json& both = row(answer["nexthops"], "kind", "multipath");
  EXPECT_EQ(both["members"].size(), 2u);
  EXPECT_EQ(both["gateway"], nullptr);
  EXPECT_EQ(row(answer["nexthops"], "reason", "blackhole")["kind"], "drop");
}

TEST(ShowRoutes, APageAndWhereItGoesOn) {
  const auto bed = ControlBed::started(kBase);
  const json first = show_page(bed->routing, bed->routing.routes({}, 2), nothing_kept(*bed));
  const json& counts = first["counts"];
  EXPECT_EQ(counts["by_origin"]["neighbor"], 1);  // the host route of the file's neighbor
  EXPECT_EQ(counts["by_origin"]["file"].get<int>() + 1, counts["total"].get<int>());
  EXPECT_EQ(first["counts"]["ipv6"], 0);
  EXPECT_NE(first["next"], nullptr);
  const json all = show_page(bed->routing, bed->routing.routes({}, 100), nothing_kept(*bed));
  EXPECT_EQ(all["next"], nullptr);
  const json& route = row(all["routes"], "prefix", "198.51.100.0/24");
  EXPECT_EQ(route["type"], "unicast");
  EXPECT_EQ(route["origin"], "file");
  EXPECT_EQ(route["protocol"], "static");
  EXPECT_EQ(route["selected"], true);
  EXPECT_EQ(route["next_hops"], json::parse(R"([{"gateway": "192.0.2.9", "interface": "wan0",
                                                 "labels": [], "weight": 1, "dead": false}])"));
}

TEST(ShowRoutes, WhatIsKeptSaysSo) {
  const auto bed = ControlBed::started(kBase);
  const Scratch scratch;
  PersistControl persist(scratch / "state", "/s", bed->routes, bed->routing, bed->ipsec);
  const config::RouteConfig kept{
      net("192.88.99.0/24"), RouteType::kUnicast, {{ip("192.0.2.9"), "", 1}}, 5};
  config::RouteConfig other = kept;
  other.metric = 6;
  ASSERT_TRUE(persist.add_route(kept, true));
  ASSERT_TRUE(persist.add_route(other, false));
  const json routes = show_page(bed->routing, bed->routing.routes({}, 100), persist)["routes"];
  EXPECT_EQ(row(routes, "metric", 5)["persist"], true);
  EXPECT_EQ(row(routes, "metric", 6)["persist"], false);
  EXPECT_EQ(row(routes, "prefix", "198.51.100.0/24")["persist"], false);  // of the file
}

TEST(ShowExplanation, ForwardDropAndNothing) {
  const auto bed = ControlBed::started(kBase);
  const auto explain = [&](const std::string& address, Reason reason = Reason::kNone) {
    PacketAnswer packet;
    packet.source = ip("192.0.2.1");
    packet.reason = reason;
    packet.punts = info(reason).punt;
    return show_explanation(bed->plane, bed->routing, bed->routing.explain(ip(address)), packet,
                            nothing_kept(*bed));
  };
  const json forward = explain("198.51.100.7");
  EXPECT_EQ(forward["verdict"], "forward");
  EXPECT_EQ(forward["reason"], nullptr);
  EXPECT_EQ(forward["match"]["prefix"], "198.51.100.0/24");
  const json& member = forward["next_hop"]["members"][0];
  EXPECT_EQ(member["port"], "wan0");
  EXPECT_EQ(member["rewrite"]["header"], "0200000000090200000000000800");
  EXPECT_EQ(member["neighbor"]["state"], "permanent");
  EXPECT_EQ(explain("203.0.113.7")["verdict"], "forward");
  const json blackhole = explain("198.18.0.7", Reason::kBlackhole);
  EXPECT_EQ(blackhole["verdict"], "drop");
  EXPECT_EQ(blackhole["reason"], "blackhole");
  EXPECT_EQ(blackhole["why"].size(), 1u) << "the route says it: " << blackhole["why"];
  const json nothing = explain("8.8.8.8", Reason::kNoRoute);
  EXPECT_EQ(nothing["verdict"], "punt");
  EXPECT_EQ(nothing["reason"], "no_route");
  EXPECT_EQ(nothing["match"], nullptr);
}

TEST(ShowExplanation, FiltersAreNamedWithTheirRules) {
  const auto bed = ControlBed::started(kBase);
  PacketAnswer packet;
  packet.source = ip("192.0.2.1");
  packet.filters = {{"in", "edge", "web", Reason::kNone, "slow"},
                    {"out", "far", "", Reason::kFilter, ""},
                    {"out", "far", "", Reason::kFilter, ""}};
  packet.filters_unasked = true;
  packet.reason = Reason::kFilter;
  const json answer =
      show_explanation(bed->plane, bed->routing, bed->routing.explain(ip("198.51.100.7")), packet,
                       nothing_kept(*bed));
  EXPECT_EQ(answer["filters"], json::parse(R"([
      {"where": "in", "filter": "edge", "rule": "web", "verdict": "accept", "policer": "slow"},
      {"where": "out", "filter": "far", "rule": null, "verdict": "drop", "policer": null}])"));
  const std::string why = answer["why"].dump();
  EXPECT_NE(why.find("filter edge (in), rule web: accept, within the rate of policer slow"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("filter far (out), otherwise: drop"), std::string::npos);
  EXPECT_NE(why.find("filters of where it comes in were not asked"), std::string::npos);
  EXPECT_NE(why.find("filters were asked for UDP from 192.0.2.1"), std::string::npos);
}

TEST(ShowExplanation, ThePacketsWayBeforeItsRoute) {
  const auto bed = ControlBed::started(kBase);
  PacketAnswer packet;
  packet.source = ip("192.0.2.1");
  packet.reason = Reason::kMartianDestination;
  const auto explain = [&] {
    return show_explanation(bed->plane, bed->routing, bed->routing.explain(ip("198.51.100.7")),
                            packet, nothing_kept(*bed));
  };
  json answer = explain();
  EXPECT_EQ(answer["verdict"], "drop");
  EXPECT_EQ(answer["reason"], "martian_destination");
  EXPECT_EQ(answer["stage"], "classify");
  EXPECT_EQ(answer["from"], "192.0.2.1");
  EXPECT_EQ(answer["why"].back(), "refused at classify, whatever the route: martian_destination, " +
                                      std::string(info(Reason::kMartianDestination).description));
  packet = {};
  packet.source = ip("192.0.2.1");
  packet.spi = 0x1001;
  packet.policies = true;
  bed->plane.feature_bits = kFeatureUrpf;
  answer = explain();
  EXPECT_EQ(answer["verdict"], "forward");
  EXPECT_EQ(answer["spi"], "0x00001001");
  EXPECT_EQ(answer["stage"], nullptr);
  const json why = {"a policy protects it: it leaves as ESP, SPI 0x00001001",
                    "policies were asked for UDP from 192.0.2.1 port 49152 to port 33434",
                    "uRPF was not asked: it needs to know from whom and where it comes in"};
  EXPECT_EQ(json(answer["why"].end() - 3, answer["why"].end()), why);
  packet = {};
  packet.urpf = true;
  packet.buckets = 4;
  packet.refusing = 1;
  packet.refused_by = Reason::kGlean;
  EXPECT_EQ(explain()["why"].back(), "its flow decides: 1 of 4 buckets end as glean");
}

TEST(ShowExplanation, LengthTtlAndRedirect) {
  const auto bed = ControlBed::started(kBase);
  PacketAnswer packet;
  packet.source = ip("192.0.2.1");
  packet.length = 1501;
  const auto explain = [&] {
    return show_explanation(bed->plane, bed->routing, bed->routing.explain(ip("198.51.100.7")),
                            packet, nothing_kept(*bed));
  };
  packet.redirects = true;
  json answer = explain();
  EXPECT_EQ(answer["verdict"], "forward");
  EXPECT_EQ(answer["redirect"], true);
  EXPECT_EQ(answer["length"], 1501);
  EXPECT_NE(answer["why"].back().get<std::string>().find("a better first hop (redirect)"),
            std::string::npos);
  packet.redirects = false;
  packet.mtu = 1500;
  packet.cut = true;
  EXPECT_EQ(
      explain()["why"].back(),
      "1501 bytes are too big for the MTU 1500: it is cut into fragments; with DF its sender is "
      "told (ICMP fragmentation needed)");
  packet.cut = false;
  packet.reason = Reason::kTooBig;
  packet.punts = true;
  answer = explain();
  EXPECT_EQ(answer["verdict"], "punt");
  EXPECT_EQ(answer["reason"], "too_big");
  EXPECT_EQ(answer["why"].back(),
            "1501 bytes are too big for the MTU 1500: Linux cuts it into fragments; with DF its "
            "sender is told (ICMP fragmentation needed)");
  packet.source = ip("2001:db8::1");
  EXPECT_EQ(explain()["why"].back(),
            "1501 bytes are too big for the MTU 1500: its sender is told (ICMPv6 packet too big)");
  packet.reason = Reason::kTtlExpired;
  packet.mtu = 0;
  EXPECT_EQ(explain()["why"].back(), "refused at classify, whatever the route: ttl_expired, " +
                                         std::string(info(Reason::kTtlExpired).description));
  packet.reason = Reason::kNone;
  packet.spi = 0x1001;
  packet.mtu = 1438;
  packet.cut = true;
  answer = explain();
  const json why = {
      "1501 bytes are too big for the tunnel, which takes 1438: it is cut into "
      "fragments, each leaves as ESP",
      "a policy protects it: it leaves as ESP, SPI 0x00001001"};
  EXPECT_EQ(json(answer["why"].end() - 2, answer["why"].end()), why);
}

}  // namespace
}  // namespace hecto::router::test
