// What filters do beside their verdict: a trace names the rule, the log and sFlow are told, copies leave.
#include <gtest/gtest.h>

#include "router/dataplane/observe/filter_log.hpp"
#include "router/dataplane/observe/flow_samples.hpp"
#include "router/dataplane/observe/trace.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

using config::FilterRuleConfig;
using config::FiltersConfig;
using config::FilterVerdict;

class FilterBesideTest : public TwoGateways {
 protected:
  // Without IPsec; interfaces "in" and "out", which are ports, too.
  void SetUp() override {
    left_.snapshot().features = 0;
    for (unsigned id = 0; id < 2; ++id) left_.snapshot().interfaces[id].mtu = 1500;
    all_.filters.resize(1);
    all_.filters[0].name = "edge";
    all_.filters[0].in = {"in"};
  }
  FilterRuleConfig& rule(uint8_t protocol, FilterVerdict verdict = FilterVerdict::kAccept) {
    FilterRuleConfig& made = all_.filters[0].rules.emplace_back();
    made.protocol = protocol;
    made.verdict = verdict;
    return made;
  }
  void filter() {
    FilterSurroundings around;
    around.interface = [](const std::string& name) {
      return name == "in" ? InterfaceId(0) : name == "out" ? InterfaceId(1) : kNoInterface;
    };
    around.port = [](const std::string& name) {
      return name == "in" ? PortId(0) : name == "out" ? PortId(1) : kNoPort;
    };
    around.log = log_;
    auto made = FilterTables::compile(all_, around, tables_.get());
    ASSERT_TRUE(made) << made.error().message;
    left_.snapshot().filters = tables_ = *made;
  }
  static Frame of_protocol(uint8_t protocol, bool six = false) {
    FrameOptions options = six ? from_left6() : from_left();
    options.protocol = protocol;
    return six ? ipv6_frame(options) : ipv4_frame(options);
  }
  void send(const std::vector<Frame>& frames) {
    std::vector<rte_mbuf*> packets;
    for (const Frame& frame : frames) packets.push_back(packet(frame));
    left_.run(packets, 0);
  }
  std::vector<Frame> taken(PortId by) {
    std::vector<Frame> frames;
    for (rte_mbuf* each : left_.sent(by)) {
      frames.push_back(bytes_of(each));
      rte_pktmbuf_free(each);
    }
    return frames;
  }
  // Names of filter and rule of each event of a filter, and its reason.
  struct Judged {
    std::string place, filter, rule;
    Reason reason;
    bool operator==(const Judged&) const = default;
  };
  std::vector<Judged> trace(const std::vector<Frame>& frames) {
    left_.snapshot().trace = std::make_shared<TraceSession>(PacketMatch{}, 8u);
    left_.snapshot().observed = true;
    send(frames);
    std::vector<Judged> judged;
    for (const TraceEvent& event : left_.snapshot().trace->events()) {
      if (event.kind != TraceKind::kFiltered) continue;
      const std::string names(reinterpret_cast<const char*>(event.bytes.data()), event.captured);
      judged.push_back({to_string(event.place), names.substr(0, names.find('\0')),
                        names.substr(names.find('\0') + 1), event.reason});
    }
    return judged;
  }
  using Judgments = std::vector<Judged>;
  using Reasons = std::vector<Reason>;

  FiltersConfig all_;
  std::shared_ptr<FilterLogTaps> log_ = std::make_shared<FilterLogTaps>(1u, rte_get_tsc_hz());
  std::shared_ptr<const FilterTables> tables_;
};

// ---- Traces ----

TEST_F(FilterBesideTest, ATraceNamesTheRuleThatDecided) {
  rule(6, FilterVerdict::kDrop).name = "no-tcp";
  rule(17);
  filter();
  EXPECT_EQ(trace({of_protocol(6), of_protocol(17), of_protocol(47), of_protocol(6, true)}),
            (Judgments{{"in", "edge", "no-tcp", Reason::kFilter},
                       {"in", "edge", "2", Reason::kNone},
                       {"in", "edge", "", Reason::kNone},
                       {"in", "edge", "no-tcp", Reason::kFilter}}));
  EXPECT_EQ(taken(1).size(), 2u);
  EXPECT_EQ(left_.refused().size(), 2u);
}

TEST_F(FilterBesideTest, ATraceNamesEachFilterInOrder) {
  rule(17);
  all_.filters.push_back(all_.filters[0]);
  all_.filters[1].name = std::string(config::kMostFilterName, 'x');
  all_.filters[1].in = {};
  all_.filters[1].out = {"out"};
  all_.filters[1].rules[0].name = std::string(config::kMostFilterName, 'y');
  all_.filters[1].rules[0].verdict = FilterVerdict::kDrop;
  filter();
  EXPECT_EQ(trace({of_protocol(17)}),
            (Judgments{{"in", "edge", "1", Reason::kNone},
                       {"out", std::string(63, 'x'), std::string(63, 'y'), Reason::kFilter}}));
  left_.refused();
}

TEST_F(FilterBesideTest, ATraceNamesWhoJudgedWhatIsForTheRouter) {
  all_.filters[0].in = {};
  all_.filters[0].local = true;
  all_.filters[0].otherwise = FilterVerdict::kDrop;
  filter();
  EXPECT_EQ(trace({ipv4_frame(from_host("10.1.0.1", "10.1.0.254"))}),
            (Judgments{{"local", "edge", "", Reason::kFilter}}));
  left_.refused();
}

// ---- Copies ----

TEST_F(FilterBesideTest, AMirrorHasWhatIsDroppedAndWhatGoesOn) {
  rule(6, FilterVerdict::kDrop).mirror = "in";
  rule(17).mirror = "in";
  filter();
  const std::vector<Frame> frames = {of_protocol(6), of_protocol(17), of_protocol(47),
                                     of_protocol(17, true)};
  send(frames);
  const std::vector<Frame> went_on = taken(1);
  ASSERT_EQ(went_on.size(), 3u);
  EXPECT_EQ(went_on[0][kIp + 8], 63) << "the way on is as ever";
  EXPECT_EQ(taken(0), (std::vector<Frame>{frames[0], frames[1], frames[3]}))
      << "as they came: nothing that rewrite did is theirs";
  EXPECT_EQ(left_.refused(), Reasons{Reason::kFilter});
  EXPECT_EQ(left_.reasons().copies.get(), 3u);
}

TEST_F(FilterBesideTest, AMirrorToTheWayOutIsACopyBesideIt) {
  rule(17).mirror = "out";
  filter();
  const std::vector<Frame> frames(300 / 2, of_protocol(17));
  send(frames);
  unsigned as_it_came = 0;
  const std::vector<Frame> all = taken(1);
  for (const Frame& frame : all) as_it_came += frame == frames[0];
  EXPECT_EQ(all.size(), 300u);
  EXPECT_EQ(as_it_came, 150u);
}

TEST_F(FilterBesideTest, AMirrorKeepsSegmentsAndTags) {
  rule(17, FilterVerdict::kDrop).mirror = "out";
  filter();
  const Frame frame = of_protocol(17);
  left_.run({packet(frame, {60, 90})}, 0);
  EXPECT_EQ(taken(1), std::vector<Frame>{frame});
  left_.refused();
}

TEST_F(FilterBesideTest, ACopyThatDoesNotFitIsADropByNameAndThePacketGoesOn) {
  rule(17).mirror = "in";
  filter();
  left_.snapshot().interfaces[0].mtu = 100;
  send({of_protocol(17)});
  EXPECT_EQ(taken(1).size(), 1u);
  EXPECT_TRUE(taken(0).empty());
  EXPECT_EQ(left_.dropped(Reason::kMirrorTooLong), 1u);
  left_.snapshot().ports[0].untagged = kNoInterface;
  left_.snapshot().ports[0].present = false;
  left_.snapshot().interfaces[0].mtu = 1500;
  all_.filters[0].in = {"in", "out"};
  filter();
  FrameOptions back = from_host("10.2.0.1", "192.0.2.2");
  back.to = own_mac(1);
  left_.run({packet(ipv4_frame(back))}, 1);
  EXPECT_EQ(left_.dropped(Reason::kInterfaceDown), 1u) << "its port has gone";
  EXPECT_EQ(left_.reasons().copies.get(), 2u);
  taken(1);
  left_.refused();
}

TEST_F(FilterBesideTest, WithoutBuffersCopiesAreLostAndNothingElse) {
  rule(17).mirror = "in";
  filter();
  rte_mbuf* const last = packet(of_protocol(17));
  std::vector<rte_mbuf*> others;
  while (rte_mbuf* const each = rte_pktmbuf_alloc(pool())) others.push_back(each);
  left_.run({last}, 0);
  EXPECT_EQ(left_.dropped(Reason::kMirrorMbuf), 1u);
  EXPECT_EQ(left_.reasons().copies.get(), 1u);
  rte_pktmbuf_free_bulk(others.data(), static_cast<unsigned>(others.size()));
  EXPECT_EQ(taken(1).size(), 1u);
}

TEST_F(FilterBesideTest, ACopyHasNoMarkOfItsPacket) {
  rule(17).mirror = "in";
  all_.filters[0].rules[0].set_mark = 9;
  filter();
  send({of_protocol(17)});
  for (rte_mbuf* each : left_.sent(0)) {
    EXPECT_EQ(each->ol_flags, 0u);
    rte_pktmbuf_free(each);
  }
  taken(1);
}

TEST_F(FilterBesideTest, NothingIsCopiedBeforeAllIsKnown) {
  rule(17).mirror = "in";
  filter();
  left_.snapshot().closed = true;
  send({of_protocol(17)});
  EXPECT_TRUE(taken(0).empty());
  EXPECT_EQ(left_.refused(), Reasons{Reason::kNotReady});
  EXPECT_EQ(left_.reasons().copies.get(), 0u);
}

// ---- The log ----

TEST_F(FilterBesideTest, TheLogIsToldOfFlowsAndTheirPackets) {
  rule(6).log = true;
  rule(17, FilterVerdict::kDrop).log = true;
  filter();
  Frame udp = of_protocol(17);
  store16_be(&udp[kIp + 20], 4000);
  store16_be(&udp[kIp + 22], 53);
  send({udp, udp, of_protocol(6, true), of_protocol(47)});
  ASSERT_TRUE(left_.pipeline().filter().logs());
  (*log_)[0].report_all();
  std::vector<FilterLogRecord> records;
  CaptureRing& ring = (*log_)[0].ring();
  for (auto entry = ring.front(); !entry.empty(); entry = ring.front()) {
    std::memcpy(&records.emplace_back(), entry.data(), sizeof(FilterLogRecord));
    ring.pop();
  }
  ASSERT_EQ(records.size(), 2u);
  std::ranges::sort(records, {}, [](const auto& record) { return record.packets; });
  const FilterLogKey &tcp = records[0].key, &drop = records[1].key;
  EXPECT_EQ(records[1].packets, 2u);
  EXPECT_EQ(drop.reason, Reason::kFilter);
  EXPECT_EQ(drop.slot, tables_->views(0).filters[0].actions[2].slot);
  EXPECT_EQ(load32_be(drop.source.data()), 0x0a010001u);
  EXPECT_EQ(load32_be(drop.destination.data()), 0x0a020001u);
  EXPECT_EQ(drop.source_port, 4000);
  EXPECT_EQ(drop.destination_port, 53);
  EXPECT_EQ(drop.protocol, 17);
  EXPECT_EQ(drop.bits, FilterLogKey::kPorts);
  EXPECT_EQ(tcp.bits, FilterLogKey::kPorts | FilterLogKey::kSix);
  EXPECT_EQ(tcp.reason, Reason::kNone);
  EXPECT_EQ(tcp.source[0], 0xfd);
  taken(1);
  left_.refused();
}

TEST_F(FilterBesideTest, RulesThatGoTellWhatTheyHad) {
  rule(17).log = true;
  filter();
  send({of_protocol(17)});
  EXPECT_TRUE((*log_)[0].ring().front().empty());
  const auto before = tables_;  // as the snapshot of before, till no worker reads it
  all_.filters[0].rules[0].log = false;
  filter();
  send({of_protocol(17)});
  EXPECT_FALSE(left_.pipeline().filter().logs());
  EXPECT_FALSE((*log_)[0].ring().front().empty());
  taken(1);
}

TEST_F(FilterBesideTest, WithoutSuchRulesThereIsNoTurn) {
  rule(17);
  filter();
  send({of_protocol(17)});
  EXPECT_FALSE(left_.pipeline().filter().logs());
  taken(1);
}

// ---- Samples ----

class FilterSampleTest : public FilterBesideTest {
 protected:
  void sample(const FlowSampling& sampling) {
    taps_ = std::make_shared<FlowTaps>(1);
    left_.snapshot().sampling =
        std::make_shared<const FlowSamplingUse>(FlowSamplingUse{sampling, taps_});
  }
  std::vector<FlowRecord> read() {
    std::vector<FlowRecord> records;
    CaptureRing& ring = (*taps_)[0].ring;
    for (auto entry = ring.front(); !entry.empty(); entry = ring.front()) {
      std::memcpy(&records.emplace_back(), entry.data(), sizeof(FlowRecord));
      ring.pop();
    }
    return records;
  }
  std::shared_ptr<FlowTaps> taps_;
};

TEST_F(FilterSampleTest, WhatARuleChoosesIsTakenWithItsRateAndFate) {
  rule(6, FilterVerdict::kDrop).sample = 1;
  rule(17).sample = 1;
  filter();
  sample({1'000'000, 64, 0, true});
  send({of_protocol(6), of_protocol(17), of_protocol(47), of_protocol(17, true)});
  EXPECT_EQ(taken(1).size(), 3u);
  const auto records = read();
  ASSERT_EQ(records.size(), 3u);
  for (const FlowRecord& record : records) {
    EXPECT_TRUE(record.chosen);
    EXPECT_EQ(record.rate, 1u);
    EXPECT_EQ(record.port, 0);
  }
  std::vector<SampleFate> fates;
  for (const FlowRecord& record : records) fates.push_back(record.fate);
  EXPECT_EQ(std::ranges::count(fates, SampleFate::kForwarded), 2);
  EXPECT_EQ(std::ranges::count(fates, SampleFate::kDropped), 0) << "the bed's sink tells nobody";
  EXPECT_EQ((*taps_)[0].chosen[0].pool.get(), 3u);
  EXPECT_EQ((*taps_)[0].chosen[0].taken.get(), 3u);
  EXPECT_EQ((*taps_)[0].ports[0].pool.get(), 0u);
  left_.refused();
}

TEST_F(FilterSampleTest, ThePortsOwnSampleOfAPacketIsBesideIt) {
  rule(17).sample = 1;
  filter();
  sample({1, 64, 1, true});
  send({of_protocol(17), of_protocol(6)});
  taken(1);
  const auto records = read();
  ASSERT_EQ(records.size(), 3u);
  for (const FlowRecord& record : records) {
    EXPECT_EQ(record.fate, SampleFate::kForwarded);
    EXPECT_EQ(record.egress, 1);
  }
  EXPECT_EQ(std::ranges::count(records, true, &FlowRecord::chosen), 1);
}

TEST_F(FilterSampleTest, WhereSflowIsOffNothingIsTaken) {
  rule(17).sample = 1;
  filter();
  send({of_protocol(17)});
  sample({1, 64, 0, false});  // `hecto top flows` alone
  send({of_protocol(17)});
  EXPECT_EQ(taken(1).size(), 2u);
  EXPECT_TRUE(read().empty());
}

TEST_F(FilterSampleTest, OneInNIsAboutThat) {
  rule(17).sample = 10;
  filter();
  sample({1'000'000, 64, 0, true});
  uint64_t seen = 0;
  for (unsigned round = 0; round < 100; ++round) {
    send(std::vector<Frame>(100, of_protocol(17)));
    taken(1);
    seen += read().size();
  }
  EXPECT_EQ((*taps_)[0].chosen[0].pool.get(), 10'000u);
  EXPECT_NEAR(static_cast<double>(seen), 1000, 180) << "six sigma";
}

TEST_F(FilterSampleTest, MoreThanAChunkHoldsIsLostAndCounted) {
  rule(0).sample = 1;
  all_.filters.push_back(all_.filters[0]);
  all_.filters[1].name = "out";
  all_.filters[1].in = {};
  all_.filters[1].out = {"out"};
  filter();
  sample({1, 64, 1, true});
  send(std::vector<Frame>(200, of_protocol(17)));
  EXPECT_EQ(taken(1).size(), 200u);
  const FlowTap::Counts& chosen = (*taps_)[0].chosen[0];
  EXPECT_EQ(chosen.taken.get(), 400u);
  EXPECT_EQ(read().size(), 256u);
  EXPECT_EQ(chosen.lost.get() + (*taps_)[0].ports[0].lost.get(), 600u - 256u);
}

}  // namespace
}  // namespace hecto::router::test
