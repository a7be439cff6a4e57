// Filters where packets meet them: each is judged once at each place, and what refuses it is counted.
#include "router/dataplane/stages/filter.hpp"

#include <gtest/gtest.h>

#include "router/dataplane/explain_packet.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

using config::FilterConfig;
using config::FilterRuleConfig;
using config::FiltersConfig;
using config::FilterVerdict;

FilterRuleConfig rule(uint8_t protocol, FilterVerdict verdict) {
  FilterRuleConfig made;
  made.protocol = protocol;
  made.verdict = verdict;
  return made;
}

class FilterStageTest : public TwoGateways {
 protected:
  // Without IPsec; interfaces "in" and "out", and VRF "red", which has the first.
  void SetUp() override { left_.snapshot().features = 0; }
  void filter(const FiltersConfig& config, Gateway& gateway) {
    FilterSurroundings around;
    around.interface = [](const std::string& name) {
      return name == "in" ? InterfaceId(0) : name == "out" ? InterfaceId(1) : kNoInterface;
    };
    around.members = [](const std::string& vrf) {
      return vrf == "red" ? std::vector<InterfaceId>{0} : std::vector<InterfaceId>();
    };
    auto made = FilterTables::compile(config, around, tables_.get());
    ASSERT_TRUE(made) << made.error().message;
    gateway.snapshot().filters = tables_ = *made;
  }
  void filter(const FiltersConfig& config) { filter(config, left_); }
  static FiltersConfig one(std::vector<FilterRuleConfig> rules,
                           FilterVerdict otherwise = FilterVerdict::kAccept) {
    FiltersConfig all;
    all.filters.resize(1);
    all.filters[0].name = "edge";
    all.filters[0].rules = std::move(rules);
    all.filters[0].otherwise = otherwise;
    return all;
  }
  // How many leave by the port.
  unsigned sent(std::vector<Frame> frames, PortId by = 1) {
    std::vector<rte_mbuf*> packets;
    for (const Frame& frame : frames) packets.push_back(packet(frame));
    left_.run(packets, 0);
    return taken(by);
  }
  unsigned taken(PortId by) {
    frames_.clear();
    for (rte_mbuf* each : left_.sent(by)) {
      frames_.push_back(bytes_of(each));
      rte_pktmbuf_free(each);
    }
    return static_cast<unsigned>(frames_.size());
  }
  using Reasons = std::vector<Reason>;
  uint64_t counted(size_t filter, size_t rule) {
    return tables_->status()[filter].rules[rule].count.packets;
  }
  uint64_t otherwise(size_t filter) { return tables_->status()[filter].otherwise.packets; }
  static Frame of_protocol(uint8_t protocol, bool six = false) {
    FrameOptions options = six ? from_left6() : from_left();
    options.protocol = protocol;
    return six ? ipv6_frame(options) : ipv4_frame(options);
  }

  std::shared_ptr<const FilterTables> tables_;
  std::vector<Frame> frames_;
};

TEST_F(FilterStageTest, InDropsWhatItsRulesSayAndCountsAllThatItJudged) {
  FiltersConfig all = one({rule(6, FilterVerdict::kDrop), rule(17, FilterVerdict::kAccept)});
  all.filters[0].in = {"in"};
  filter(all);
  EXPECT_EQ(sent({of_protocol(6), of_protocol(17), of_protocol(47), of_protocol(6, true),
                  of_protocol(17, true)}),
            3u);
  EXPECT_EQ(left_.refused(), (Reasons{Reason::kFilter, Reason::kFilter}));
  EXPECT_EQ(counted(0, 0), 2u);
  EXPECT_EQ(counted(0, 1), 2u);
  EXPECT_EQ(otherwise(0), 1u);
  EXPECT_EQ(tables_->status()[0].otherwise.bytes, 120u) << "of the IP packet";
}

TEST_F(FilterStageTest, NothingPassesADropAtTheEnd) {
  FiltersConfig all = one({rule(6, FilterVerdict::kAccept)}, FilterVerdict::kDrop);
  all.filters[0].in = {"in"};
  filter(all);
  EXPECT_EQ(sent({of_protocol(6), of_protocol(17), of_protocol(17, true)}), 1u);
  EXPECT_EQ(left_.refused().size(), 2u);
  EXPECT_EQ(otherwise(0), 2u);
}

TEST_F(FilterStageTest, OfAnInterfaceWithoutFilterNothingIsAsked) {
  FiltersConfig all = one({}, FilterVerdict::kDrop);
  all.filters[0].in = {"out"};
  filter(all);
  EXPECT_EQ(sent({of_protocol(17)}), 1u);
  EXPECT_EQ(otherwise(0), 0u);
}

TEST_F(FilterStageTest, VrfsComeBehindTheInterfacesOwn) {
  FiltersConfig all = one({rule(6, FilterVerdict::kDrop)});
  all.filters[0].in = {"in"};
  all.filters.push_back(all.filters[0]);
  all.filters[1] = {.name = "tenant",
                    .in = {},
                    .out = {},
                    .vrfs = {"red"},
                    .local = false,
                    .otherwise = FilterVerdict::kAccept,
                    .rules = {rule(17, FilterVerdict::kDrop)}};
  filter(all);
  EXPECT_EQ(sent({of_protocol(6), of_protocol(17), of_protocol(47)}), 1u);
  EXPECT_EQ(left_.refused().size(), 2u);
  EXPECT_EQ(otherwise(1), 1u);
  EXPECT_EQ(counted(1, 0), 1u);
}

// In order of the wire: a packet meets `in`, and `out` of where it goes.
TEST_F(FilterStageTest, OutIsThatOfTheNextHopsInterface) {
  FiltersConfig all = one({rule(6, FilterVerdict::kDrop)});
  all.filters[0].out = {"out"};
  filter(all);
  FrameOptions back = from_host("10.1.0.77", "10.1.0.1");
  back.protocol = 6;
  EXPECT_EQ(sent({of_protocol(6), of_protocol(17), ipv4_frame(back)}), 1u);
  EXPECT_EQ(taken(0), 1u);
  EXPECT_EQ(left_.refused(), Reasons{Reason::kFilter});
  EXPECT_EQ(counted(0, 0), 1u) << "what goes back by port 0 is not asked";
  EXPECT_EQ(otherwise(0), 1u);
}

TEST_F(FilterStageTest, OutHoldsForWhatWaitsForItsNeighbor) {
  FiltersConfig all = one({}, FilterVerdict::kDrop);
  all.filters[0].out = {"in"};
  filter(all);
  EXPECT_EQ(sent({ipv4_frame(from_host("10.2.0.1", "10.1.0.99"))}), 0u);
  EXPECT_EQ(left_.refused(), Reasons{Reason::kFilter}) << "Linux would send it";
}

TEST_F(FilterStageTest, LocalHoldsForWhatIsForTheRouterAlone) {
  FiltersConfig all = one({rule(6, FilterVerdict::kDrop)});
  all.filters[0].local = true;
  filter(all);
  FrameOptions ours = from_host("10.1.0.1", "10.1.0.254");
  ours.protocol = 6;
  FrameOptions other = ours;
  other.protocol = 17;
  EXPECT_EQ(sent({ipv4_frame(ours), ipv4_frame(other), of_protocol(6)}), 1u);
  EXPECT_EQ(left_.refused(), (Reasons{Reason::kFilter, Reason::kLocal}));
  EXPECT_EQ(counted(0, 0), 1u);
  EXPECT_EQ(otherwise(0), 1u);
}

// An option makes it no other packet: with one it would come to Linux's sockets past the filter.
TEST_F(FilterStageTest, LocalIsNotPassedByIpOptions) {
  FiltersConfig all = one({}, FilterVerdict::kDrop);
  all.filters[0].local = true;
  filter(all);
  for (const char* to : {"10.1.0.254", "10.2.0.1"}) {
    Frame frame = ipv4_frame(from_host("10.1.0.1", to));
    frame.insert(frame.begin() + kIp + 20, {1, 1, 1, 0});
    frame[kIp] = 0x46;
    store16_be(&frame[kIp + 2], load16_be(&frame[kIp + 2]) + 4u);
    fix_checksum(frame);
    sent({frame});
    const Reason expected = to[3] == '1' ? Reason::kFilter : Reason::kOptions;
    EXPECT_EQ(left_.refused(), Reasons{expected}) << to;
  }
}

TEST_F(FilterStageTest, WhatClassifyLeavesToLinuxIsJudgedOnce) {
  FiltersConfig all = one({rule(89, FilterVerdict::kDrop)});
  all.filters[0].in = {"in"};
  all.filters[0].local = true;
  filter(all);
  FrameOptions hello = from_host("10.1.0.1", "224.0.0.5");
  hello.protocol = 89;
  FrameOptions other = hello;
  other.protocol = 2;
  Frame arp = ipv4_frame(hello);
  arp[12] = 0x08;
  arp[13] = 0x06;
  sent({ipv4_frame(hello), ipv4_frame(other), arp});
  EXPECT_EQ(left_.refused(), (Reasons{Reason::kFilter, Reason::kMulticast, Reason::kArp}));
  EXPECT_EQ(counted(0, 0), 1u);
  EXPECT_EQ(otherwise(0), 2u) << "by in and by local, once each";
}

TEST_F(FilterStageTest, RejectTellsTheSender) {
  FiltersConfig all = one({rule(17, FilterVerdict::kReject)});
  all.filters[0].in = {"in"};
  filter(all);
  left_.snapshot().punt_pps[static_cast<size_t>(Reason::kProhibit)] = 1000;
  EXPECT_EQ(sent({of_protocol(17), of_protocol(6), of_protocol(17, true)}), 1u);
  ASSERT_EQ(taken(0), 2u);
  EXPECT_TRUE(left_.refused().empty());
  for (const Frame& frame : frames_) {
    const bool four = frame[kIp] >> 4 == 4;
    EXPECT_EQ(load16_be(&frame[kIp + (four ? 20 : 40)]), four ? 0x030du : 0x0101u);
    EXPECT_EQ(frame[kIp + (four ? 8 : 7)], 64);
  }
  EXPECT_EQ(left_.pipeline().rejects().made(), 2u);
}

TEST_F(FilterStageTest, RejectOfWhatIsForTheRouterTellsTheSender) {
  FiltersConfig all = one({}, FilterVerdict::kReject);
  all.filters[0].local = true;
  filter(all);
  left_.snapshot().punt_pps[static_cast<size_t>(Reason::kProhibit)] = 1000;
  EXPECT_EQ(sent({ipv4_frame(from_host("10.1.0.1", "10.1.0.254")),
                  ipv4_frame(from_host("10.1.0.1", "224.0.0.5"))},
                 0),
            1u);
  EXPECT_EQ(left_.refused(), Reasons{Reason::kFilterRejected}) << "nobody answers to a group";
}

TEST_F(FilterStageTest, RejectOfAFloodTellsOfSoMany) {
  FiltersConfig all = one({}, FilterVerdict::kReject);
  all.filters[0].in = {"in"};
  filter(all);
  left_.snapshot().punt_pps[static_cast<size_t>(Reason::kProhibit)] = 1000;
  unsigned told = 0, dropped = 0;
  for (int i = 0; i < 300; ++i) {
    told += sent({of_protocol(17)}, 0);
    dropped += static_cast<unsigned>(left_.refused().size());
  }
  EXPECT_GE(told, 10u);
  EXPECT_LT(told, 60u);
  EXPECT_EQ(told + dropped, 300u);
}

TEST_F(FilterStageTest, PolicersDropWhatIsTooMuch) {
  FiltersConfig all = one({rule(17, FilterVerdict::kAccept)});
  all.filters[0].in = {"in"};
  all.filters[0].rules[0].police = "slow";
  config::PolicerConfig slow;
  slow.name = "slow";
  slow.rate_bps = 8;
  slow.burst_bytes = 360;
  all.policers = {slow};
  filter(all);
  EXPECT_EQ(sent(std::vector<Frame>(10, of_protocol(17))), 3u);
  EXPECT_EQ(left_.refused(), Reasons(7, Reason::kPoliced));
  const PolicerStatus status = tables_->policers()[0];
  EXPECT_EQ(status.green.packets, 3u);
  EXPECT_EQ(status.green.bytes, 360u);
  EXPECT_EQ(status.red.packets, 7u);
  EXPECT_EQ(counted(0, 0), 10u) << "the rule held for all";
  filter(all);
  EXPECT_EQ(sent({of_protocol(17), of_protocol(6)}), 1u) << "tokens go on over a compilation";
  EXPECT_EQ(left_.refused().size(), 1u);
}

config::PolicerConfig slow_policer(uint64_t burst_bytes) {
  config::PolicerConfig slow;
  slow.name = "slow";
  slow.rate_bps = 8;
  slow.burst_bytes = burst_bytes;
  return slow;
}

// Packets of 120 bytes; each interface has a bucket of its own.
TEST_F(FilterStageTest, AnInterfaceIsHeldToARateByNoRule) {
  FiltersConfig all;
  all.policers = {slow_policer(360)};
  all.policers[0].in = {"in", "elsewhere"};
  all.policers[0].out = {"out"};
  EXPECT_FALSE(all.empty());
  filter(all);
  EXPECT_EQ(sent({of_protocol(17), of_protocol(6), of_protocol(17)}), 3u);
  EXPECT_EQ(sent({of_protocol(17), of_protocol(17, true)}), 0u);
  EXPECT_EQ(left_.refused(), Reasons(2, Reason::kPoliced));
  const std::vector<PolicerStatus> status = tables_->policers();
  ASSERT_EQ(status.size(), 3u) << "and none that no rule names";
  EXPECT_EQ(status[0].name, "slow in in");
  EXPECT_EQ(status[0].green, (FilterCount{3, 360}));
  EXPECT_EQ(status[0].red.packets, 2u);
  EXPECT_EQ(status[1].name, "slow in elsewhere");
  EXPECT_EQ(status[1].note, "there is no interface elsewhere (now)");
  EXPECT_EQ(status[2].name, "slow out out");
  EXPECT_EQ(status[2].green.packets, 3u) << "what the first has refused does not reach it";
  // Another interface beside it leaves its tokens and counts.
  all.policers[0].in = {"in"};
  all.policers[0].out.clear();
  filter(all);
  EXPECT_EQ(sent({of_protocol(17)}), 0u);
  left_.refused();
  EXPECT_EQ(tables_->policers()[0].red.packets, 3u);
  all.policers[0].burst_bytes = 480;
  filter(all);
  EXPECT_EQ(sent(std::vector<Frame>(5, of_protocol(17))), 4u) << "one that is changed begins full";
  left_.refused();
}

TEST_F(FilterStageTest, WhatLeavesByAnInterfaceIsHeldToItsRate) {
  FiltersConfig all;
  all.policers = {slow_policer(240)};
  all.policers[0].out = {"out"};
  filter(all);
  EXPECT_EQ(sent({of_protocol(17), ipv4_frame(from_host("10.1.0.77", "10.1.0.1")), of_protocol(17),
                  of_protocol(17)}),
            2u);
  EXPECT_EQ(taken(0), 1u) << "by another one";
  EXPECT_EQ(left_.refused(), Reasons{Reason::kPoliced});
}

// A flood at the router itself, too, and frames that are none of IP's.
TEST_F(FilterStageTest, WhatGoesToLinuxIsHeldToTheRateOfWhereItCameIn) {
  FiltersConfig all;
  all.policers = {slow_policer(240)};
  all.policers[0].in = {"in"};
  filter(all);
  const Frame ours = ipv4_frame(from_host("10.1.0.1", "224.0.0.5"));
  Frame arp = ours;
  arp[12] = 0x08;
  arp[13] = 0x06;
  sent({ours, ours, ours, arp});
  EXPECT_EQ(left_.refused(),
            (Reasons{Reason::kMulticast, Reason::kMulticast, Reason::kPoliced, Reason::kArp}));
}

TEST_F(FilterStageTest, RulesThatDifferMayHaveOnePolicer) {
  FiltersConfig all = one({rule(17, FilterVerdict::kAccept), rule(6, FilterVerdict::kAccept)});
  all.filters[0].in = {"in"};
  all.filters[0].rules[0].police = all.filters[0].rules[1].police = "slow";
  all.policers = {slow_policer(480)};
  filter(all);
  EXPECT_EQ(sent({of_protocol(17), of_protocol(6), of_protocol(47)}), 3u);
  EXPECT_EQ(sent({of_protocol(6), of_protocol(17), of_protocol(6), of_protocol(47)}), 3u);
  EXPECT_EQ(left_.refused(), Reasons{Reason::kPoliced});
  EXPECT_EQ(tables_->policers()[0].green.packets, 4u);
  EXPECT_EQ(tables_->policers()[0].red.packets, 1u);
  EXPECT_EQ(counted(0, 0) + counted(0, 1), 5u);
}

TEST_F(FilterStageTest, YellowGetsItsDscp) {
  FiltersConfig all = one({rule(0, FilterVerdict::kAccept)});
  all.filters[0].in = {"in"};
  all.filters[0].rules[0].police = "p";
  config::PolicerConfig policer;
  policer.name = "p";
  policer.rate_bps = 8;
  policer.burst_bytes = 120;
  policer.excess_bytes = 120;
  policer.yellow_dscp = 10;
  all.policers = {policer};
  filter(all);
  ASSERT_EQ(sent(std::vector<Frame>(3, of_protocol(17))), 2u);
  EXPECT_EQ(frames_[0][kIp + 1], 0);
  EXPECT_EQ(frames_[1][kIp + 1], 10 << 2);
  EXPECT_EQ(left_.refused(), Reasons{Reason::kPoliced});
}

TEST_F(FilterStageTest, DscpIsWrittenAndTheChecksumHolds) {
  FiltersConfig all = one({rule(0, FilterVerdict::kAccept)});
  all.filters[0].in = {"in"};
  for (unsigned dscp : {46u, 0u, 63u}) {
    all.filters[0].rules[0].set_dscp = static_cast<uint8_t>(dscp);
    filter(all);
    Frame with_ecn = of_protocol(17), six = of_protocol(17, true);
    with_ecn[kIp + 1] = 0xfd;
    fix_checksum(with_ecn);
    six[kIp] = 0x6f;
    six[kIp + 1] = 0xda;  // and of the flow label ten
    ASSERT_EQ(sent({with_ecn, six}), 2u);
    EXPECT_EQ(frames_[0][kIp + 1], dscp << 2 | 1);
    EXPECT_EQ(full_checksum(&frames_[0][kIp], 20), 0);
    EXPECT_EQ(load16_be(&frames_[1][kIp]), 0x601au | dscp << 6);
  }
}

TEST_F(FilterStageTest, AMarkIsReadByTheNextFilter) {
  FiltersConfig all = one({rule(6, FilterVerdict::kAccept)});
  all.filters[0].in = {"in"};
  all.filters[0].rules[0].set_mark = 7;
  FilterConfig behind;
  behind.name = "behind";
  behind.out = {"out"};
  behind.rules = {rule(0, FilterVerdict::kDrop)};
  behind.rules[0].mark = 7;
  all.filters.push_back(behind);
  filter(all);
  EXPECT_EQ(sent({of_protocol(6), of_protocol(17), of_protocol(6, true)}), 1u);
  EXPECT_EQ(left_.refused().size(), 2u);
}

// What an SA has opened is judged as it was judged closed, and nothing else twice.
TEST_F(FilterStageTest, WhatAnSaHasOpenedIsJudgedAgain) {
  left_.snapshot().features = right_.snapshot().features = kFeatureIpsec;
  left_.tunnel();
  right_.tunnel();
  FiltersConfig all = one({rule(50, FilterVerdict::kAccept), rule(17, FilterVerdict::kAccept)});
  all.filters[0].in = {"out"};
  filter(all, right_);
  auto through = across({packet(of_protocol(17)), packet(of_protocol(17))});
  EXPECT_EQ(through.size(), 2u);
  for (rte_mbuf* each : through) rte_pktmbuf_free(each);
  EXPECT_EQ(counted(0, 0), 2u);
  EXPECT_EQ(counted(0, 1), 2u);
  EXPECT_EQ(otherwise(0), 0u);
  all.filters[0].rules[1].verdict = FilterVerdict::kDrop;
  filter(all, right_);
  EXPECT_TRUE(across({packet(of_protocol(17))}).empty());
  EXPECT_EQ(right_.refused(), Reasons{Reason::kFilter});
}

TEST_F(FilterStageTest, ExplainNamesTheRuleAndCountsNothing) {
  FiltersConfig all = one({rule(6, FilterVerdict::kDrop), rule(17, FilterVerdict::kDrop)});
  all.filters[0].rules[1].name = "no-udp";
  all.filters[0].in = {"in"};
  filter(all);
  PacketQuestion question;
  question.destination = *IpAddress::parse("10.2.0.1");
  question.source = IpAddress::parse("10.1.0.1");
  question.interface = 0;
  const PacketAnswer answer =
      explain_packet(question, left_.snapshot(), left_.tables(), std::nullopt);
  EXPECT_EQ(answer.reason, Reason::kFilter);
  ASSERT_EQ(answer.filters.size(), 1u);
  EXPECT_EQ(answer.filters[0].filter, "edge");
  EXPECT_EQ(answer.filters[0].rule, "no-udp");
  EXPECT_EQ(counted(0, 1), 0u);
}

// Lanes of several interfaces: each packet by its own filter, and the others stay in order.
TEST_F(FilterStageTest, PacketsOfSeveralInterfacesInOneLane) {
  FiltersConfig all = one({rule(6, FilterVerdict::kDrop)});
  all.filters[0].in = {"in"};
  all.filters.push_back(one({rule(17, FilterVerdict::kDrop)}).filters[0]);
  all.filters[1].name = "far";
  all.filters[1].in = {"out"};
  filter(all);
  const auto chunk = std::make_unique<Chunk>();
  const auto stage = std::make_unique<FilterStage>();
  stage->use(tables_.get(), 0, 0, nullptr);
  std::vector<uint32_t> expected;
  for (unsigned i = 0; i < 200; ++i) {
    const uint8_t protocol = i % 3 == 0 ? 6 : 17;
    const InterfaceId interface(static_cast<uint16_t>(i / 2 % 3));
    chunk->v4.packets[i] = packet(of_protocol(protocol));
    chunk->v4.destinations[i] = i;
    chunk->v4.ingress[i] = {interface, kEthernetBytes};
    const bool dropped = (interface == 0 && protocol == 6) || (interface == 1 && protocol == 17);
    if (!dropped) expected.push_back(i);
  }
  chunk->v4.count = 200;
  stage->in(*chunk);
  EXPECT_EQ(std::vector<uint32_t>(chunk->v4.destinations, chunk->v4.destinations + chunk->v4.count),
            expected);
  EXPECT_EQ(chunk->refused_count + chunk->v4.count, 200u);
  for (unsigned i = 0; i < chunk->v4.count; ++i) rte_pktmbuf_free(chunk->v4.packets[i]);
  for (unsigned i = 0; i < chunk->refused_count; ++i) rte_pktmbuf_free(chunk->refused[i].packet);
}

}  // namespace
}  // namespace hecto::router::test
