// What collectors of IPFIX get of samples.
#include "tests/unit/router/control/ipfix_bed.hpp"

namespace hecto::router::test {
namespace {

TEST_F(IpfixTest, WorkersSampleForItAlone) {
  tick();
  EXPECT_EQ(bed_->plane.sampling, nullptr);
  ipfix(", sampling: 7, ports: [lan0]");
  tick();
  ASSERT_NE(bed_->plane.sampling, nullptr);
  EXPECT_EQ(told(), (FlowSampling{7, 128, uint64_t{1} << id("lan0")}));
  EXPECT_FALSE(control_->all_ports_sampled());
  ipfix(", sampling: 1000", "sflow: {collectors: [127.0.0.1:9], header_bytes: 14}\n");
  tick();
  EXPECT_EQ(told().header_bytes, 128) << "addresses and ports are behind the 14 that sFlow gets";
  ipfix(", records: flow_table", "flows: {interfaces: [lan0]}\n");
  tick();
  EXPECT_EQ(bed_->plane.sampling, nullptr);
}

TEST_F(IpfixTest, SamplesAddUpToFlows) {
  ipfix(", sampling: 1000, active_s: 60, idle_s: 10");
  tick();
  records();
  EXPECT_EQ(templates_, 6u) << "at the start";
  ASSERT_EQ(options_.size(), 1u);
  EXPECT_EQ(options_[0].number(302), 1000u);
  EXPECT_EQ(options_[0].number(306), 999u);
  FlowRecord r = record("lan0", "wan0");
  r.length = 60;  // padded: 28 bytes are IP's
  for (int i = 0; i < 5; ++i) taken(i % 2, r, udp4("10.1.0.5", "203.0.113.9", 1000, 53));
  taken(0, record("lan0", "wan0"), udp4("10.1.0.6", "203.0.113.9", 1000, 53));
  Bytes arp = udp4("10.1.0.5", "203.0.113.9", 1, 2);
  arp[13] = 6;
  taken(0, r, arp);
  ticks(100, 50ms);
  auto counts = control_->ipfix().counts();
  EXPECT_EQ(std::tuple(counts.read, counts.told, counts.under_way, counts.no_flow),
            std::tuple(7u, 0u, 6u, 1u));
  EXPECT_EQ(counts.flows, 2u);
  EXPECT_TRUE(records().empty()) << "they are not over";
  ticks(130, 50ms);
  const auto all = records();
  ASSERT_EQ(all.size(), 2u);
  const auto& flow = all[0].number(kPackets) == 5 ? all[0] : all[1];
  EXPECT_EQ(flow.values.at(8), (Bytes{10, 1, 0, 5}));
  EXPECT_EQ(flow.values.at(12), (Bytes{203, 0, 113, 9}));
  EXPECT_EQ(flow.number(7), 1000u);
  EXPECT_EQ(flow.number(11), 53u);
  EXPECT_EQ(flow.number(4), 17u);
  EXPECT_EQ(flow.number(10), bed_->interface("lan0").id.value() + 1u);
  EXPECT_EQ(flow.number(14), bed_->interface("wan0").id.value() + 1u);
  EXPECT_EQ(flow.number(kPackets), 5u) << "of samples; the selector says what each stands for";
  EXPECT_EQ(flow.number(kOctets), 5u * 28);
  EXPECT_EQ(flow.number(302), 1000u);
  EXPECT_EQ(flow.number(kStatus), 64u);
  EXPECT_EQ(flow.number(kEndReason), 1u);
  const uint64_t unix_ms = static_cast<uint64_t>(std::time(nullptr)) * 1000;
  EXPECT_LT(flow.number(152), unix_ms + 3'600'000);
  EXPECT_GT(flow.number(152), unix_ms - 3'600'000);
  counts = control_->ipfix().counts();
  EXPECT_EQ(std::tuple(counts.told, counts.under_way, counts.records), std::tuple(6u, 0u, 2u));
}

TEST_F(IpfixTest, WhatWasNotForwardedSaysWhy) {
  ipfix(", sampling: 1, idle_s: 1");
  tick();
  const std::tuple<SampleFate, Reason, unsigned> cases[] = {
      {SampleFate::kForwarded, Reason::kNone, 64},   {SampleFate::kUnknown, Reason::kNone, 0},
      {SampleFate::kDropped, Reason::kFilter, 129},  {SampleFate::kDropped, Reason::kNoRoute, 131},
      {SampleFate::kDropped, Reason::kPoliced, 138}, {SampleFate::kDropped, Reason::kUrpf, 140},
      {SampleFate::kDropped, Reason::kTapFull, 128}, {SampleFate::kPunted, Reason::kLocal, 195},
      {SampleFate::kPunted, Reason::kNoRoute, 192},  {SampleFate::kPunted, Reason::kGlean, 194},
  };
  for (const auto& [fate, reason, status] : cases) {
    FlowRecord r = record("lan0", "wan0");
    r.rate = 1;
    r.fate = fate;
    r.reason = reason;
    taken(0, r, udp4("10.1.0.5", "203.0.113.9", 1, 2));
    ticks(80, 50ms);
    const auto all = records();
    ASSERT_EQ(all.size(), 1u) << status;
    EXPECT_EQ(all[0].number(kStatus), status);
    EXPECT_EQ(all[0].number(14) != 0, fate == SampleFate::kForwarded) << status;
  }
}

// Nothing is read beyond what was captured, and each is of a flow or of none.
TEST_F(IpfixTest, FramesThatAreCutAreCounted) {
  ipfix(", sampling: 1");
  tick();
  Bytes whole = udp4("10.1.0.5", "203.0.113.9", 1, 2);
  unsigned all = 0;
  for (const uint8_t protocol : {17, 6, 1})
    for (const uint8_t header : {0x45, 0x4f, 0x40})
      for (size_t length = 0; length <= whole.size(); ++length, ++all) {
        whole[23] = protocol;
        whole[14] = header;
        taken(0, record("lan0", "wan0"),
              Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
      }
  Bytes six(74, 0);
  six[12] = 0x86;
  six[13] = 0xdd;
  six[14] = 0x60;
  for (const uint8_t next : {6, 58, 0, 44, 60})
    for (size_t length = 14; length <= six.size(); ++length, ++all) {
      six[20] = next;
      taken(0, record("lan0", "wan0"), Bytes(six.begin(), six.begin() + static_cast<long>(length)));
    }
  ticks(3, 50ms);
  const auto counts = control_->ipfix().counts();
  EXPECT_EQ(counts.read, all);
  EXPECT_EQ(counts.read, counts.under_way + counts.no_flow + counts.told);
  EXPECT_GT(counts.under_way, 0u);
}

TEST_F(IpfixTest, FlagsAndTypesAreThoseOfTheHeaders) {
  ipfix(", sampling: 1, idle_s: 1");
  tick();
  Bytes tcp = udp4("10.1.0.5", "203.0.113.9", 1, 2);
  tcp.resize(54);
  tcp[17] = 40;
  tcp[15] = 0xb8;
  tcp[23] = 6;
  tcp[47] = 0x02;
  taken(0, record("lan0", "wan0"), tcp);
  tcp[47] = 0x11;
  taken(0, record("lan0", "wan0"), tcp);
  Bytes icmp = udp4("10.1.0.5", "203.0.113.9", 0x0303, 0);
  icmp[23] = 1;
  taken(0, record("lan0", "wan0"), icmp);
  Bytes later = icmp;
  later[21] = 9;  // of a fragment: no header of ICMP
  taken(0, record("lan0", "wan0"), later);
  ticks(60, 50ms);
  const auto all = records();
  ASSERT_EQ(all.size(), 3u);
  for (const auto& flow : all) {
    if (flow.number(4) == 6) {
      EXPECT_EQ(flow.number(6), 0x13u);
      EXPECT_EQ(flow.number(5), 0xb8u);
      EXPECT_EQ(flow.number(kPackets), 2u);
    } else {
      EXPECT_TRUE(flow.number(32) == 0x0303 || flow.number(32) == 0) << flow.number(32);
    }
  }
  EXPECT_NE(all[1].number(32), all[2].number(32));
}

TEST_F(IpfixTest, TemplatesComeAgainAndSamplingIsToldBeforeItIsUsed) {
  ipfix(", sampling: 1000, templates_s: 10, idle_s: 1");
  ticks(2, 50ms);
  records();
  EXPECT_EQ(templates_, 6u);
  ticks(199, 50ms);
  records();
  EXPECT_EQ(templates_, 10 * 6u) << "each second at first";
  ticks(201, 50ms);
  records();
  EXPECT_EQ(templates_, 11 * 6u);
  FlowRecord r = record("lan0", "wan0");
  r.rate = 77;  // taken before a reload, read behind it
  taken(0, r, udp4("10.1.0.5", "203.0.113.9", 1, 2));
  ticks(60, 50ms);
  const auto all = records();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].number(302), 77u);
  bool told = false;
  for (const auto& option : options_) told |= option.number(302) == 77 && option.number(306) == 76;
  EXPECT_TRUE(told);
}

TEST_F(IpfixTest, AReloadLosesNoFlow) {
  ipfix(", sampling: 10, flows: 100, idle_s: 600, active_s: 600");
  tick();
  for (uint16_t i = 0; i < 50; ++i)
    taken(0, record("lan0", "wan0"), udp4("10.1.0.5", "203.0.113.9", i, 2));
  tick();
  ipfix(", sampling: 10, flows: 20, idle_s: 600, active_s: 600");
  tick();
  EXPECT_EQ(control_->ipfix().counts().flows, 20u);
  EXPECT_EQ(control_->ipfix().counts().before_time, 30u);
  config_ = read(kSampledPorts);
  tick();
  const auto all = records();
  EXPECT_EQ(all.size(), 50u) << "with what was under way when it was turned off";
  const auto counts = control_->ipfix().counts();
  EXPECT_EQ(counts.read, counts.told);
  EXPECT_EQ(bed_->plane.sampling, nullptr);
}

// However many they are, control's turn is short; till all are told nothing else begins.
TEST_F(IpfixTest, ManyFlowsUnderWayEndOverSeveralTicks) {
  ipfix(", sampling: 10, idle_s: 600, active_s: 600");
  tick();
  constexpr uint16_t kFlows = 2 * IpfixExport::kMostATick + 100;
  for (uint16_t i = 0; i < kFlows; ++i) {
    taken(i % 2, record("lan0", "wan0"), udp4("10.1.0.5", "203.0.113.9", i, 2));
    if (i % 100 == 99) tick();
  }
  tick();
  const auto counts = [&] { return control_->ipfix().counts(); };
  ASSERT_EQ(counts().under_way, kFlows);
  config_ = read(kSampledPorts);
  tick();
  EXPECT_EQ(counts().told, IpfixExport::kMostATick);
  EXPECT_EQ(control_->ipfix().collectors().size(), 1u);
  taken(0, record("lan0", "wan0"), udp4("10.1.0.6", "203.0.113.9", 1, 2));
  tick();
  EXPECT_EQ(counts().told, 2 * IpfixExport::kMostATick);
  EXPECT_TRUE(control_->ipfix().on());
  tick();
  EXPECT_EQ(counts().told, kFlows);
  EXPECT_EQ(counts().read, kFlows) << "what is sampled meanwhile is for nobody";
  EXPECT_FALSE(control_->ipfix().on());
}

}  // namespace
}  // namespace hecto::router::test
