// Packets that filters lead to other tables, by their rule or by their mark: where they leave, and that
// Linux, which would send them elsewhere, gets none of them.
#include "router/dataplane/stages/filter_lead.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "router/dataplane/explain_packet.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/wanted_neighbors.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "tests/unit/router/dataplane/stages/policy_routing_bed.hpp"

namespace hecto::router::test {
namespace {

using config::FilterRuleConfig;
using config::FiltersConfig;

constexpr uint8_t kTcp = 6, kUdp = 17;
constexpr uint32_t kLedTable = 100;  // a table of Linux

// Main leads to 10.2.0.0/16 and fd00:2::/32 by port 1; table 100, where it leads there, by port 0.
class FilterLeadTest : public PolicyRoutingTest {
 protected:
  void SetUp() override {
    PolicyRoutingTest::SetUp();
    left_.snapshot().features = 0;
    marks_ = true;
  }
  // Of what comes in by port 0 and is TCP.
  void filter(const FilterRuleConfig& wanted) {
    FiltersConfig all;
    all.filters.resize(1);
    all.filters[0].name = "edge";
    all.filters[0].in = {"in"};
    all.filters[0].rules = {wanted};
    all.filters[0].rules[0].protocol = kTcp;
    FilterSurroundings around;
    around.interface = [](const std::string& name) {
      return name == "in" ? InterfaceId(0) : kNoInterface;
    };
    around.table = [this](const FilterRuleConfig& rule) {
      return rule.vrf.empty() ? left_.routing().fib_table(rule.table) : std::nullopt;
    };
    auto made = FilterTables::compile(all, around, filters_.get());
    ASSERT_TRUE(made) << made.error().message;
    left_.snapshot().filters = filters_ = *made;
  }
  static FilterRuleConfig marking(uint32_t mark) {
    FilterRuleConfig rule;
    rule.set_mark = mark;
    return rule;
  }
  static FilterRuleConfig naming(uint32_t table) {
    FilterRuleConfig rule;
    rule.table = table;
    return rule;
  }
  static PolicyRule by_mark(uint32_t mark) {
    PolicyRule made = rule(RuleAction::kTable, kLedTable);
    made.fwmark = mark;
    made.fwmask = 0xff;
    return made;
  }
  struct Left {
    unsigned by_0 = 0, by_1 = 0;
    std::vector<Reason> refused;
    bool operator==(const Left&) const = default;
  };
  Left ways(const std::vector<Frame>& frames) {
    std::vector<rte_mbuf*> packets;
    for (const Frame& frame : frames) packets.push_back(packet(frame));
    left_.run(packets, 0);
    return {taken(0), taken(1), left_.refused()};
  }
  static Frame of(uint8_t protocol, bool six = false, const char* to = nullptr) {
    FrameOptions options = six ? from_left6() : from_left();
    options.protocol = protocol;
    if (to != nullptr) options.destination = to;
    return six ? ipv6_frame(options) : ipv4_frame(options);
  }
  std::vector<WantedNeighbor> wanted() { return filters_->wanted()->take(); }

  std::shared_ptr<const FilterTables> filters_;
};

TEST_F(FilterLeadTest, AMarkIsWhatPolicyRulesAskFor) {
  for (const char* to : {"10.2.0.0/16", "fd00:2::/32"}) route(kLedTable, to);
  rules({by_mark(1)});
  filter(marking(0x301));
  EXPECT_EQ(ways({of(kTcp), of(kUdp), of(kTcp), of(kUdp)}), (Left{2, 2, {}}));
  EXPECT_EQ(ways({of(kTcp, true), of(kUdp, true)}), (Left{1, 1, {}}));
  filter(marking(2));
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{0, 2, {}}));
}

TEST_F(FilterLeadTest, WhereItsTableHasNoRouteTheRulesBehindHold) {
  rules({by_mark(1)});
  filter(marking(1));
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{0, 2, {}})) << "main's";
  route(kLedTable, "0.0.0.0/0", RouteType::kUnreachable);
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{0, 1, {Reason::kFilterLed}}))
      << "Linux, without the mark, would send it by main";
}

TEST_F(FilterLeadTest, WhatAMarkDoesNotLeadIsLinuxsAsEver) {
  rules({by_mark(1)});
  filter(marking(2));
  EXPECT_EQ(ways({of(kTcp, false, "203.0.113.9")}), (Left{0, 0, {Reason::kNoRoute}}));
  filter(marking(1));
  EXPECT_EQ(ways({of(kTcp, false, "203.0.113.9")}), (Left{0, 0, {Reason::kFilterLed}}));
}

// Whatever its mark, Linux would pass the rule by too.
TEST_F(FilterLeadTest, ARuleThatFailsForAnotherReasonLeadsNothing) {
  PolicyRule of_udp = by_mark(1);
  of_udp.ip_protocol = kUdp;
  rules({of_udp});
  filter(marking(1));
  EXPECT_EQ(ways({of(kTcp), of(kTcp, false, "203.0.113.9")}), (Left{0, 1, {Reason::kNoRoute}}));
}

TEST_F(FilterLeadTest, WithoutRulesOfMarksNothingIsLed) {
  rules({rule(RuleAction::kNop)});
  filter(marking(1));
  EXPECT_EQ(ways({of(kTcp), of(kTcp, false, "203.0.113.9")}), (Left{0, 1, {Reason::kNoRoute}}));
}

TEST_F(FilterLeadTest, ARulesTableIsTheOnlyOne) {
  filter(naming(kLedTable));
  EXPECT_EQ(ways({of(kTcp), of(kUdp), of(kTcp, true)}),
            (Left{0, 1, {Reason::kFilterLed, Reason::kFilterLed}}))
      << "never main's, though it has the route";
  for (const char* to : {"10.2.0.0/16", "fd00:2::/32"}) route(kLedTable, to);
  EXPECT_EQ(ways({of(kTcp), of(kUdp), of(kTcp, true), of(kTcp)}), (Left{3, 1, {}}));
  rules({rule(RuleAction::kBlackhole)});
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{1, 0, {Reason::kBlackhole}}))
      << "policy rules are not asked for it";
}

TEST_F(FilterLeadTest, MainMayBeNamedToPassPolicyRulesBy) {
  filter(naming(254));
  rules({rule(RuleAction::kBlackhole)});
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{0, 1, {Reason::kBlackhole}}));
}

TEST_F(FilterLeadTest, InAVrfToo) {
  vrf_members_ = {{InterfaceId(0), "red", 10}};
  route(10, "10.2.0.0/16");
  rules({of_members()});
  EXPECT_EQ(ways({of(kTcp)}), (Left{1, 0, {}}));
  filter(naming(254));
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{1, 1, {}})) << "out of the VRF";
}

TEST_F(FilterLeadTest, ATableThatIsNotThereDrops) {
  FilterRuleConfig rule;
  rule.vrf = "blue";
  filter(rule);
  EXPECT_EQ(ways({of(kTcp), of(kUdp)}), (Left{0, 1, {Reason::kFilterNoTable}}));
  EXPECT_EQ(filters_->status()[0].notes,
            std::vector<std::string>{"rule 1: there is no VRF blue (now), or no room for it: its "
                                     "packets are dropped (filter_no_table)"});
}

TEST_F(FilterLeadTest, WhatIsForTheRouterStaysSo) {
  filter(naming(kLedTable));
  route(kLedTable, "0.0.0.0/0");
  EXPECT_EQ(ways({of(kTcp, false, "10.1.0.254")}), (Left{0, 0, {Reason::kLocal}}));
  EXPECT_EQ(ways({of(kTcp, false, "224.0.0.5")}), (Left{0, 0, {Reason::kMulticast}}));
}

// Of what a tunnel or an SA has brought, and of nothing else, what was named for the outer packet is
// forgotten; what its own interface's filter names outlives the filters of VRFs.
TEST_F(FilterLeadTest, WhatWasOpenedGoesByTheTableThatItsOwnInterfaceNames) {
  FiltersConfig all;
  all.filters.resize(2);
  all.filters[0].name = "edge";
  all.filters[0].in = {"in"};
  all.filters[0].rules = {naming(kLedTable)};
  all.filters[1].name = "tenant";
  all.filters[1].vrfs = {"red"};
  FilterSurroundings around;
  around.interface = [](const std::string&) { return InterfaceId(0); };
  around.members = [](const std::string&) { return std::vector<InterfaceId>{0, 1}; };
  around.table = [this](const FilterRuleConfig& rule) {
    return left_.routing().fib_table(rule.table);
  };
  filters_ = FilterTables::compile(all, around).value();
  const FilterLead& lead = filters_->views(0).lead;
  const auto stage = std::make_unique<FilterStage>();
  stage->use(filters_.get(), 0, 0, nullptr);
  const auto chunk = std::make_unique<Chunk>();
  constexpr uint64_t kOpened = uint64_t{1} << 40;
  constexpr lookup::TableId kOuter = 7;
  const auto came = [&](bool opened, bool six = false) {
    rte_mbuf* const made = packet(of(kTcp, six));
    if (opened) made->ol_flags |= kOpened;
    lead.name(made, kOuter);
    return made;
  };
  const Ingress by_in(0, kEthernetBytes), by_other(1, kEthernetBytes);
  const auto put = [](auto& lane, rte_mbuf* each, Ingress ingress) {
    lane.packets[lane.count] = each;
    lane.ingress[lane.count++] = ingress;
  };
  put(chunk->v4, came(true), by_in);
  put(chunk->v4, came(true), by_other);
  put(chunk->v4, came(false), by_in);
  put(chunk->v6, came(true, true), by_in);
  chunk->refuse(came(true), Reason::kOptions, InterfaceId(0));
  stage->opened(*chunk, kOpened);
  ASSERT_EQ(chunk->v4.count + chunk->v6.count + chunk->refused_count, 5u);
  const auto table_of = [&](const rte_mbuf* each) {
    return lead.is_named(each) ? std::optional(lead.table(each)) : std::nullopt;
  };
  const auto named = left_.routing().fib_table(kLedTable);
  EXPECT_EQ(table_of(chunk->v4.packets[0]), named);
  EXPECT_EQ(table_of(chunk->v4.packets[1]), std::nullopt);
  EXPECT_EQ(table_of(chunk->v4.packets[2]), kOuter) << "it came in by no tunnel";
  EXPECT_EQ(table_of(chunk->v6.packets[0]), named);
  EXPECT_EQ(table_of(chunk->refused[0].packet), named);
  for (unsigned i = 0; i < 3; ++i) rte_pktmbuf_free(chunk->v4.packets[i]);
  rte_pktmbuf_free(chunk->v6.packets[0]);
  rte_pktmbuf_free(chunk->refused[0].packet);
}

// Linux forwards what has options, by its own tables.
TEST_F(FilterLeadTest, OptionsAreNoWayAroundIt) {
  filter(naming(kLedTable));
  route(kLedTable, "0.0.0.0/0");
  const auto with_option = [](const char* to) {
    Frame frame = of(kTcp, false, to);
    frame.insert(frame.begin() + kIp + 20, {1, 1, 1, 0});
    frame[kIp] = 0x46;
    store16_be(&frame[kIp + 2], load16_be(&frame[kIp + 2]) + 4u);
    fix_checksum(frame);
    return frame;
  };
  EXPECT_EQ(ways({with_option("10.2.0.1")}), (Left{0, 0, {Reason::kFilterLed}}));
  EXPECT_EQ(ways({with_option("10.1.0.254")}), (Left{0, 0, {Reason::kOptions}}));
  filter(marking(1));
  EXPECT_EQ(ways({with_option("10.2.0.1")}), (Left{0, 0, {Reason::kOptions}}));
}

TEST_F(FilterLeadTest, ExpiredPacketsAreLinuxsToTellOf) {
  filter(naming(kLedTable));
  route(kLedTable, "0.0.0.0/0");
  FrameOptions expired = from_left();
  expired.protocol = kTcp;
  expired.ttl = 1;
  EXPECT_EQ(ways({ipv4_frame(expired)}), (Left{0, 0, {Reason::kTtlExpired}}));
}

TEST_F(FilterLeadTest, ANeighborThatIsNotKnownIsAskedFor) {
  filter(naming(kLedTable));
  Route made;
  made.prefix = *IpPrefix::parse("10.2.0.0/16");
  made.origin = RouteOrigin::kFile;
  made.table = kLedTable;
  NextHop hop;
  hop.gateway = IpAddress::parse("10.1.0.99");  // never seen
  hop.interface = 0;
  made.next_hops = {hop};
  ASSERT_TRUE(left_.routing().add(made));
  left_.routing().commit();
  EXPECT_EQ(ways({of(kTcp), of(kTcp)}),
            (Left{0, 0, {Reason::kFilterUnresolved, Reason::kFilterUnresolved}}));
  const std::vector<WantedNeighbor> asked = wanted();
  ASSERT_EQ(asked.size(), 1u) << "once";
  EXPECT_EQ(asked[0].destination, *IpAddress::parse("10.2.0.1"));
  EXPECT_EQ(asked[0].table, left_.routing().fib_table(kLedTable));
  EXPECT_TRUE(wanted().empty());
}

TEST_F(FilterLeadTest, AFloodOfUnknownNeighborsIsBounded) {
  filter(naming(254));
  for (unsigned i = 0; i < 100; ++i)
    ways({of(kTcp, false, fmt::format("10.1.0.{}", i + 10).c_str())});
  EXPECT_EQ(wanted().size(), WantedNeighbors::kMost);
}

TEST_F(FilterLeadTest, TheExplanationFollows) {
  left_.snapshot().linux_side = true;
  PacketQuestion question;
  question.destination = *IpAddress::parse("10.2.0.1");
  question.source = IpAddress::parse("10.1.0.1");
  question.interface = 0;
  const auto explained = [&] {
    return explain_packet(question, left_.snapshot(), left_.tables(), std::nullopt);
  };
  FilterRuleConfig rule = naming(kLedTable);
  filter(rule);
  // The question's packet is of UDP.
  EXPECT_FALSE(explained().led_table);
  FiltersConfig all;
  all.filters.resize(1);
  all.filters[0].name = "edge";
  all.filters[0].in = {"in"};
  all.filters[0].rules = {rule};
  FilterSurroundings around;
  around.interface = [](const std::string&) { return InterfaceId(0); };
  around.table = [this](const FilterRuleConfig& each) {
    return left_.routing().fib_table(each.table);
  };
  left_.snapshot().filters = filters_ = FilterTables::compile(all, around).value();
  EXPECT_EQ(explained().led_table, left_.routing().fib_table(kLedTable));
  EXPECT_EQ(explained().reason, Reason::kFilterLed);
  route(kLedTable, "10.2.0.0/16");
  EXPECT_EQ(explained().reason, Reason::kNone);
}

}  // namespace
}  // namespace hecto::router::test
