// What control does with samples: what workers are told, what collectors get, and the largest flows.
#include "tests/unit/router/control/samples_bed.hpp"

namespace hecto::router::test {
namespace {

using SamplesTest = SamplesBed;

TEST_F(SamplesTest, WorkersAreToldOnlyWhatTheFileSays) {
  tick();
  EXPECT_EQ(bed_->plane.sampling, nullptr);
  configure(", sampling: 7, header_bytes: 99, ports: [lan0]");
  tick();
  ASSERT_NE(bed_->plane.sampling, nullptr);
  EXPECT_EQ(told(), (FlowSampling{7, 99, uint64_t{1} << id("lan0")}));
  const auto before = bed_->plane.sampling;
  for (int i = 0; i < 100; ++i) tick();
  EXPECT_EQ(bed_->plane.sampling, before) << "nothing has changed";
  configure(", sampling: 8, header_bytes: 99");
  tick();
  EXPECT_EQ(told(), (FlowSampling{8, 99, uint64_t{1} << id("lan0") | uint64_t{1} << id("wan0")}));
  EXPECT_EQ(bed_->plane.sampling->taps, before->taps) << "what is in them is not lost";
  config_ = read(kSampledPorts);
  tick();
  EXPECT_EQ(bed_->plane.sampling, nullptr);
}

TEST_F(SamplesTest, ASampleHasItsPortsItsRouteAndItsPool) {
  configure(", polling_s: 0");
  tick();
  taken(0, record("lan0", "wan0"), udp4("10.1.0.5", "203.0.113.9", 1, 2));
  taken(1, record("lan0", "wan0"), udp4("10.1.0.5", "192.0.2.9", 1, 2));
  tick();
  EXPECT_TRUE(datagrams().empty());
  tick(1s);
  const auto all = datagrams();
  ASSERT_EQ(all.size(), 1u);
  const Bytes& d = all[0];
  EXPECT_EQ(word(d, 2), 0xc0000201u) << "the first of the file";
  EXPECT_EQ(word(d, 6), 2u);
  const uint32_t lan = bed_->interface("lan0").id.value() + 1u;
  const uint32_t wan = bed_->interface("wan0").id.value() + 1u;
  // type, length; sequence, class, index, rate, pool, drops; in, out; records
  EXPECT_EQ(word(d, 7), 3u);
  EXPECT_EQ(word(d, 9), 1u);
  EXPECT_EQ(word(d, 11), lan);
  EXPECT_EQ(word(d, 12), 1000u);
  EXPECT_EQ(word(d, 13), 2000u) << "of both workers";
  EXPECT_EQ(word(d, 16), lan);
  EXPECT_EQ(word(d, 18), wan);
  EXPECT_EQ(word(d, 19), 2u);
  // Behind the header's 2 + 4 + 11 words the router: next hop, lengths of source and destination.
  EXPECT_EQ(word(d, 20 + 2 + 4 + 11), 1002u);
  EXPECT_EQ(word(d, 20 + 2 + 4 + 11 + 3), 0xc0000209u);
  EXPECT_EQ(word(d, 20 + 2 + 4 + 11 + 4), 24u);
  EXPECT_EQ(word(d, 20 + 2 + 4 + 11 + 5), 24u);
  const auto counts = control_->counts();
  EXPECT_EQ(counts.taken, 2u);
  EXPECT_EQ(control_->sflow().exported(), 2u);
  EXPECT_EQ(counts.waiting + counts.lost, 0u);
}

TEST_F(SamplesTest, WhatIsNotForwardedHasItsReason) {
  configure(", polling_s: 0");
  tick();
  FlowRecord r = record("lan0", "wan0");
  const std::pair<Reason, std::pair<uint32_t, uint32_t>> cases[] = {
      {Reason::kTtlExpired, {1, 257}},   {Reason::kFilter, {1, 258}},
      {Reason::kTransmitFull, {1, 259}}, {Reason::kTooBig, {1, 262}},
      {Reason::kNoRoute, {1, 0}},        {Reason::kBadChecksum, {1, 256}}};
  for (const auto& [reason, way] : cases) {
    r.fate = SampleFate::kDropped;
    r.reason = reason;
    taken(0, r, udp4("10.1.0.5", "203.0.113.9", 1, 2));
    tick(1s);
    tick(1s);
    const auto all = datagrams();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(std::pair(word(all[0], 17), word(all[0], 18)), way) << info(reason).name;
    EXPECT_EQ(word(all[0], 19), 1u) << "no route of it";
  }
  r.fate = SampleFate::kPunted;
  taken(0, r, udp4("10.1.0.5", "10.1.0.1", 1, 2));
  r.fate = SampleFate::kUnknown;
  taken(0, r, udp4("10.1.0.5", "10.1.0.1", 1, 2));
  tick(1s);
  tick(1s);
  const auto all = datagrams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(std::pair(word(all[0], 17), word(all[0], 18)), std::pair(0u, kNoSflowInterface));
}

// Whatever a frame is: nothing is read beyond what was captured.
TEST_F(SamplesTest, FramesThatAreCutAreExportedAsTheyAre) {
  configure(", polling_s: 0");
  tick();
  const Bytes whole = udp4("10.1.0.5", "203.0.113.9", 1, 2);
  for (size_t length = 0; length <= whole.size(); ++length)
    taken(0, record("lan0", "wan0"),
          Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
  Bytes tagged = whole;
  for (const uint8_t type : {0x00, 0xa8}) {
    tagged[12] = type == 0 ? 0x81 : 0x88;
    tagged[13] = type;
    for (size_t length = 12; length <= 30; ++length)
      taken(0, record("lan0", "wan0"),
            Bytes(tagged.begin(), tagged.begin() + static_cast<long>(length)));
  }
  control_->want_flows(now_);
  tick();
  EXPECT_EQ(control_->sflow().exported(), whole.size() + 1 + 2 * 19);
}

TEST_F(SamplesTest, ATickTakesSoManyAndNoMoreAndNothingIsUncounted) {
  configure(", polling_s: 0");
  tick();
  const Bytes frame = udp4("10.1.0.5", "203.0.113.9", 1, 2);
  constexpr unsigned kTaken = 8000;
  for (unsigned i = 0; i < kTaken; ++i) taken(i % 2, record("lan0", "wan0"), frame);
  tick();
  EXPECT_EQ(control_->sflow().exported(), kMostSamplesATick);
  auto counts = control_->counts();
  EXPECT_EQ(counts.taken, kTaken);
  EXPECT_EQ(counts.taken, control_->sflow().exported() + counts.lost + counts.waiting);
  for (int i = 0; i < 10; ++i) tick();
  counts = control_->counts();
  EXPECT_EQ(counts.waiting, 0u);
  EXPECT_EQ(counts.taken, control_->sflow().exported() + counts.lost);
  // Of a port that is not there any more.
  FlowRecord gone = record("lan0", "wan0");
  gone.port = 60;
  taken(0, gone, frame);
  tick();
  const auto after = control_->counts();
  EXPECT_EQ(after.lost, counts.lost + 1);
  EXPECT_EQ(after.taken, control_->sflow().exported() + after.lost);
}

TEST_F(SamplesTest, CountersComeOnceAnInterval) {
  configure(", polling_s: 2");
  for (int i = 0; i < 1200; ++i) tick();  // a minute
  unsigned samples = 0;
  for (const Bytes& datagram : datagrams()) samples += word(datagram, 6);
  EXPECT_NEAR(samples, 60, 2) << "two ports";
}

TEST_F(SamplesTest, CollectorsThatStayKeepTheirCounts) {
  configure(", polling_s: 0");
  tick();
  taken(0, record("lan0", "wan0"), udp4("10.1.0.5", "203.0.113.9", 1, 2));
  tick();
  configure(", polling_s: 0, sampling: 5, agent: 192.0.2.77");
  tick();
  EXPECT_EQ(datagrams().size(), 1u) << "what was there leaves by what was said then";
  ASSERT_EQ(control_->sflow().collectors().size(), 1u);
  EXPECT_EQ(control_->sflow().collectors()[0].counts().datagrams, 1u);
  taken(0, record("lan0", "wan0"), udp4("10.1.0.5", "203.0.113.9", 1, 2));
  tick();
  tick(1s);
  const auto all = datagrams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(word(all[0], 2), 0xc000024du);
  EXPECT_EQ(word(all[0], 4), 2u) << "datagrams are numbered on";
}

// ---- hecto top flows ----

TEST_F(SamplesTest, FlowsAreSampledWhileSomebodyAsks) {
  tick();
  EXPECT_EQ(bed_->plane.sampling, nullptr);
  control_->want_flows(now_);
  tick();
  ASSERT_NE(bed_->plane.sampling, nullptr);
  EXPECT_EQ(told().rate, 1u) << "nothing comes in";
  tick(9s);
  EXPECT_NE(bed_->plane.sampling, nullptr);
  tick(2s);
  EXPECT_EQ(bed_->plane.sampling, nullptr) << "nobody has asked again";
  bed_->totals.received = 0;
  bed_->totals.time = {};
  bed_->sampler.sample();
  bed_->totals.received = 10'000'000;
  bed_->totals.time += 1s;
  bed_->sampler.sample();
  control_->want_flows(now_);
  tick();
  ASSERT_NE(bed_->plane.sampling, nullptr);
  EXPECT_EQ(told().rate, 4096u) << "10 Mpps";
  EXPECT_EQ(datagrams().size(), 0u);
}

TEST_F(SamplesTest, SflowsOwnSamplesServeForFlows) {
  configure(", sampling: 77, ports: [lan0]");
  tick();
  const auto before = bed_->plane.sampling;
  control_->want_flows(now_);
  for (int i = 0; i < 300; ++i) tick();
  EXPECT_EQ(bed_->plane.sampling, before);
  EXPECT_FALSE(control_->all_ports_sampled());
}

TEST_F(SamplesTest, FlowsAreSummedOverWholeSecondsTheLargestFirst) {
  control_->want_flows(now_);
  tick();
  now_ = Clock::time_point(std::chrono::ceil<std::chrono::seconds>(now_.time_since_epoch()) + 1s);
  FlowRecord large = record("lan0", "wan0"), small = large;
  large.rate = small.rate = 10;
  large.length = 1500;
  small.length = 100;
  for (int second = 0; second < 4; ++second) {
    for (int i = 0; i < 5; ++i) taken(0, large, udp4("10.1.0.5", "203.0.113.9", 1, 2));
    for (int i = 0; i < 20; ++i) taken(1, small, udp4("10.1.0.6", "203.0.113.9", 3, 4));
    control_->want_flows(now_);
    tick(0s);
    now_ += 1s;
  }
  auto top = control_->flows().top(3, false, 10, now_);
  EXPECT_EQ(top.seconds, 3u);
  ASSERT_EQ(top.flows.size(), 2u);
  EXPECT_EQ(top.flows[0].flow.source_address()->to_string(), "10.1.0.5");
  EXPECT_EQ(top.flows[0].sum.packets, 3u * 5 * 10);
  EXPECT_EQ(top.flows[0].sum.bytes, 3u * 5 * 10 * 1500);
  EXPECT_EQ(top.flows[0].flow.destination_port, 2);
  EXPECT_NEAR(top.flows[0].sum.error_percent(), 196 / std::sqrt(15.0), 0.1);
  EXPECT_EQ(top.all.samples, 75u);
  top = control_->flows().top(30, true, 1, now_);
  EXPECT_EQ(top.seconds, 3u) << "the first was not whole";
  ASSERT_EQ(top.flows.size(), 1u);
  EXPECT_EQ(top.flows[0].flow.source_address()->to_string(), "10.1.0.6");
  EXPECT_EQ(top.known, 2u);
}

// A scan: each packet a flow of its own.
TEST(TopFlows, IsBounded) {
  TopFlows flows;
  const TopFlows::Clock::time_point start(100s);
  FlowRecord record;
  record.rate = 1;
  record.length = 100;
  for (int second = 0; second < 40; ++second)
    for (unsigned i = 0; i < 3 * kMostFlows; ++i) {
      const Bytes frame =
          udp4("10.1.0.5", fmt::format("203.0.{}.{}", i / 256 % 256, i % 256).c_str(), 1, 2);
      flows.add(record, std::as_bytes(std::span(frame)), start + std::chrono::seconds(second));
    }
  const auto top = flows.top(kMostFlowSeconds, false, 5, start + 40s);
  EXPECT_EQ(top.seconds, kMostFlowSeconds);
  EXPECT_EQ(top.known, kMostFlows);
  EXPECT_EQ(top.flows.size(), 5u);
  EXPECT_EQ(top.all.samples, 30u * 3 * kMostFlows) << "what found no room is counted with all";
}

}  // namespace
}  // namespace hecto::router::test
