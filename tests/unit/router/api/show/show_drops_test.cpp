// What is shown of packets that were not forwarded: drops and punts by reason, punts by class.
#include "router/api/show/advice.hpp"
#include "router/dataplane/balance.hpp"
#include "router/dataplane/punt/sessions.hpp"
#include "tests/unit/router/api/show/show_bed.hpp"

namespace hecto::router::test {
namespace {

TEST(ShowDrops, NamesReasonsAndExamples) {
  const auto bed = ControlBed::started(kBase);
  const auto no_route = static_cast<size_t>(Reason::kNoRoute);
  const auto down = static_cast<size_t>(Reason::kInterfaceDown);
  second(*bed, [&](Totals& t) {
    t.dropped[no_route] = 5;
    t.dropped[down] = 9;
    t.punted[no_route] = 2;
    t.dropped_at[no_route] = {{bed->interface("lan0").id, 1}, {InterfaceId{999}, 4}};
    t.dropped_at[static_cast<size_t>(Reason::kArp)] = {{bed->interface("lan0").id, 8}};
    t.punted_at[no_route] = {{bed->interface("wan0").id, 2}};
    t.received = 20;
  });
  ExamplePacket packet;
  packet.interface = bed->interface("lan0").id;
  packet.ether_type = 0x0008;               // IPv4, network order
  packet.destination = {0x0100000aULL, 0};  // 10.0.0.1
  bed->plane.examples[Reason::kNoRoute] = packet;
  bed->plane.counted["wan0"] = {6, 7, 0, 0};
  Balance balance;
  balance.totals = bed->totals;
  balance.fragments = 4;
  balance.in_flight = 3;
  balance.unaccounted = -2;
  const json answer = show_drops(bed->plane, bed->interfaces.table(), bed->sampler, balance);
  ASSERT_EQ(answer["drops"].size(), 2u);
  EXPECT_EQ(answer["drops"][0]["reason"], "interface_down");  // more of it
  EXPECT_EQ(answer["drops"][0]["example"], nullptr);
  const json& no = answer["drops"][1];
  EXPECT_EQ(no["advice"], advice(Reason::kNoRoute));
  EXPECT_EQ(no["kind"], "punt_limited");
  EXPECT_EQ(no["packets"], 5);
  EXPECT_EQ(no["pps"], 5);
  EXPECT_EQ(
      no["where"],
      json::parse(R"([{"interface": null, "packets": 4}, {"interface": "lan0", "packets": 1}])"));
  EXPECT_EQ(answer["drops"][0]["where"], json::array());
  EXPECT_EQ(answer["punts"][0]["where"], json::parse(R"([{"interface": "wan0", "packets": 2}])"));
  EXPECT_EQ(no["example"], "10.0.0.1 from lan0");
  EXPECT_EQ(answer["punts"][0]["limit_pps"], info(Reason::kNoRoute).default_pps);
  EXPECT_EQ(answer["totals"],
            json::parse(R"({"received": 20, "injected": 0, "fragments": 4, "copies": 0,
    "transmitted": 0, "too_big_answered": 0, "punted": 2, "dropped": 14, "in_flight": 3, "unaccounted": -2, "missed": 6, "no_mbuf": 7})"));
}

// A port goes and another comes, whose interface has the same number.
TEST(ShowDrops, WhatAnInterfaceMetIsNotItsSuccessors) {
  const auto bed = ControlBed::started(kBase);
  const InterfaceId lan = bed->interface("lan0").id;
  const auto no_route = static_cast<size_t>(Reason::kNoRoute);
  const auto count = [&](uint64_t packets) {
    bed->totals.dropped[no_route] += packets;
    bed->totals.dropped_at[no_route][lan] += packets;
    bed->totals.punt_classes[0].dropped_at[lan] += packets;
  };
  const auto where = [&] {
    Balance balance;
    balance.totals = bed->totals;
    const InterfaceTable& table = bed->interfaces.table();
    return json{show_drops(bed->plane, table, bed->sampler, balance)["drops"][0]["where"],
                show_punt(bed->plane, table, bed->sampler)["classes"][0]["where"]};
  };
  count(5);
  EXPECT_EQ(where(), json::parse(R"([[{"interface": "lan0", "packets": 5}],
                                     [{"interface": "lan0", "dropped": 5}]])"));
  config::PortConfig dmz = bed->running.config.ports.back();
  dmz.name = "dmz0";
  bed->interfaces.remove_port("lan0");
  count(1);  // what was under way
  ASSERT_TRUE(bed->interfaces.add_port(dmz, bed->running.placement));
  ASSERT_EQ(bed->interface("dmz0").id, lan);
  EXPECT_EQ(where(), json::parse(R"([[{"interface": null, "packets": 6}],
                                     [{"interface": null, "dropped": 6}]])"));
  count(8);
  EXPECT_EQ(where(), json::parse(R"([
      [{"interface": "dmz0", "packets": 8}, {"interface": null, "packets": 6}],
      [{"interface": "dmz0", "dropped": 8}, {"interface": null, "dropped": 6}]])"));
}

TEST(ShowDrops, SaysWhatToDoAboutEachReason) {
  for (size_t i = 1; i < kReasonCount; ++i) {
    const std::string_view words = advice(static_cast<Reason>(i));
    EXPECT_TRUE(words.ends_with('.')) << info(static_cast<Reason>(i)).name;
    EXPECT_LE(words.size(), 100u) << words;
  }
  EXPECT_EQ(advice(Reason::kNone), "");
}

TEST(ShowPunt, ClassesInTheirOrderAndWhereTheyDrop) {
  const auto bed = ControlBed::started(kBase, true);
  const Interface& wan = bed->interface("wan0");
  json answer = show_punt(bed->plane, bed->interfaces.table(), bed->sampler);
  ASSERT_EQ(answer["classes"].size(), kPuntClassCount);
  EXPECT_EQ(answer["classes"][0]["class"], "sessions");
  EXPECT_EQ(answer["sessions"], nullptr);
  constexpr auto kClosed = static_cast<size_t>(PuntClass::kClosed);
  second(*bed, [&](Totals& t) {
    t.punt_classes[kClosed].passed = 3;
    t.punt_classes[kClosed].dropped = 10;
    t.punt_classes[kClosed].dropped_at = {{wan.id, 4}, {InterfaceId{999}, 6}};
  });
  const std::vector<SocketAddress> peers(2);
  bed->plane.sessions = std::make_shared<const PuntSessions>(std::vector<SocketEntry>(), peers);
  answer = show_punt(bed->plane, bed->interfaces.table(), bed->sampler);
  EXPECT_EQ(answer["classes"][kClosed], json::parse(R"({
    "class": "closed", "priority": 3, "limit_pps": 200, "limit_all_pps": 800, "burst": 20,
    "passed": 3, "pps": 3, "dropped": 10, "drop_pps": 10,
    "where": [{"interface": null, "dropped": 6}, {"interface": "wan0", "dropped": 4}],
    "description": "to ports at which nobody is"})"));
  EXPECT_EQ(answer["sessions"]["peers"], 1);
}

}  // namespace
}  // namespace hecto::router::test
