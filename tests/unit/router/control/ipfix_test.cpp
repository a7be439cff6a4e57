// What collectors of IPFIX get of samples, and of the entries of the flow table.
#include "config/file/flow_words.hpp"
#include "router/control/flow_control.hpp"
#include "tests/unit/router/control/samples_bed.hpp"
#include "tests/unit/router/ipfix/decoder.hpp"

namespace hecto::router::test {
namespace {

constexpr uint16_t kPackets = 2, kOctets = 1, kEndReason = 136, kStatus = 89;

class IpfixTest : public SamplesBed {
 protected:
  IpfixTest() : table_(bed_->interfaces.table(), bed_->routing, bed_->plane, bed_->notes) {
    control_->attach(table_);
  }
  void ipfix(const std::string& keys, const std::string& more = {}) {
    config_ = read(std::string(kSampledPorts) + more + "ipfix: {collectors: [127.0.0.1:" +
                   std::to_string(udp_port_) + "]" + keys + "}\n");
  }
  // Records of flows that came since the last call; options are kept.
  std::vector<IpfixDecoder::Record> records() {
    std::vector<IpfixDecoder::Record> all;
    for (const Bytes& bytes : datagrams()) {
      EXPECT_LE(bytes.size(), kMostIpfixMessage_bytes);
      const auto message = decoder_.decode(bytes);
      EXPECT_EQ(message.sequence, sequence_);
      sequence_ += static_cast<uint32_t>(message.records.size());
      templates_ += message.templates;
      for (const auto& record : message.records)
        if (record.id != 261) (record.id == 260 ? options_ : all).push_back(record);
    }
    return all;
  }
  void ticks(unsigned count, Clock::duration each) {
    for (unsigned i = 0; i < count; ++i) tick(each);
  }

  FlowControl table_;
  IpfixDecoder decoder_;
  uint32_t sequence_ = 0;
  unsigned templates_ = 0;
  std::vector<IpfixDecoder::Record> options_;
};

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

// ---- Entries of the flow table ----

class IpfixEntriesTest : public IpfixTest {
 protected:
  void start(const std::string& keys = ", active_s: 10") {
    ipfix(", records: flow_table" + keys, "flows: {interfaces: [lan0], entries: 100000}\n");
    table_.follow(config_.flows);
    tick();
    records();
  }
  void add(const std::string& line) {
    size_t which = 0;
    const std::vector<config::FlowConfig> flows = {*config::parse_flow(line)};
    const auto done = table_.add(flows, &which);
    ASSERT_TRUE(done) << (done ? "" : done.error().message);
  }
  void erase(const std::string& line) {
    size_t which = 0;
    const std::vector<config::FlowConfig> flows = {*config::parse_flow(line, false)};
    ASSERT_TRUE(table_.erase(flows, &which));
  }
  // Worker 0 has seen so many, of the entry that was added so manieth.
  void hit(uint32_t index, uint64_t packets, bool ipv6 = false) {
    FlowThread& thread = table_.tables()->thread(0);
    FlowCell& cell = (ipv6 ? thread.cells6 : thread.cells4)[index];
    cell.packets.add(packets);
    cell.bytes.add(packets * 100);
  }
  // A round; the time of the table goes on with it.
  std::vector<IpfixDecoder::Record> round() {
    for (int i = 0; i < 240; ++i) {
      tick(50ms);
      if (i % 20 == 0) table_.tick(++now_s_);
    }
    return records();
  }
  uint32_t now_s_ = 100;
};

TEST_F(IpfixEntriesTest, EachTellsWhatItHasCountedSince) {
  start();
  add("interface lan0 from 10.1.0.0/24 to 203.0.113.9 protocol tcp dport 443 output wan0");
  add("from 2001:db8::/32 drop");
  add("from 10.1.0.9 accept");
  hit(1, 1000);
  hit(1, 7, true);
  auto all = round();
  ASSERT_EQ(all.size(), 2u) << "the third has counted nothing";
  const auto& four = all[0];
  EXPECT_EQ(four.id, 258);
  EXPECT_EQ(four.values.at(8), (Bytes{10, 1, 0, 0}));
  EXPECT_EQ(four.number(9), 24u);
  EXPECT_EQ(four.number(13), 32u);
  EXPECT_EQ(four.number(7), 0u) << "any";
  EXPECT_EQ(four.number(11), 443u);
  EXPECT_EQ(four.number(4), 6u);
  EXPECT_EQ(four.number(10), bed_->interface("lan0").id.value() + 1u);
  EXPECT_EQ(four.number(14), bed_->interface("wan0").id.value() + 1u);
  EXPECT_EQ(four.number(kPackets), 1000u);
  EXPECT_EQ(four.number(kOctets), 100'000u);
  EXPECT_EQ(four.number(302), 1u) << "each packet is counted";
  EXPECT_EQ(four.number(kStatus), 64u);
  EXPECT_EQ(four.number(kEndReason), 2u);
  EXPECT_LE(four.number(152), four.number(153));
  EXPECT_EQ(all[1].id, 259);
  EXPECT_EQ(all[1].number(29), 32u);
  EXPECT_EQ(all[1].number(kStatus), 129u);
  hit(1, 5);
  hit(2, 1);
  all = round();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].number(kPackets), 5u) << "and not what was told before";
  EXPECT_EQ(all[1].number(kPackets), 1u);
  EXPECT_TRUE(round().empty());
  EXPECT_EQ(options_[0].number(306), 0u);
}

TEST_F(IpfixEntriesTest, WhoGoesTellsTheRest) {
  start();
  add("from 10.0.0.1 accept");
  add("from 10.0.0.2 accept");
  add("from 10.0.0.3 accept");
  hit(1, 10);
  round();
  hit(1, 3);
  hit(2, 4);
  erase("from 10.0.0.1");
  add("from 10.0.0.2 drop");  // in place of the other
  tick(2s);
  tick(2s);
  auto all = records();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].number(kPackets), 3u);
  EXPECT_EQ(all[0].number(kEndReason), 3u);
  EXPECT_EQ(all[1].number(kPackets), 4u);
  hit(3, 8);
  ASSERT_TRUE(table_.erase_all());
  tick(2s);
  tick(2s);
  all = records();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].number(kPackets), 8u);
}

TEST_F(IpfixEntriesTest, APlaceThatIsUsedAgainBeginsAtNothing) {
  start();
  add("from 10.0.0.1 accept");
  hit(1, 10);
  EXPECT_EQ(round().size(), 1u);
  erase("from 10.0.0.1");
  for (int i = 0; i < 20; ++i) table_.tables()->reclaim();
  add("from 10.0.0.7 accept");
  const auto id = table_.tables()->next({});
  ASSERT_TRUE(id);
  hit(id->index, 10);
  const auto all = round();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].number(kPackets), 10u);
}

TEST_F(IpfixEntriesTest, OfManyThatGoAtOnceSoManyAreToldAndTheRestIsCounted) {
  start();
  std::vector<config::FlowConfig> flows;
  constexpr uint32_t kEntries = 3 * IpfixEntries::kMostGone;
  for (uint32_t i = 0; i < kEntries; ++i)
    flows.push_back(*config::parse_flow(fmt::format("from 10.{}.{}.1 accept", i / 256, i % 256)));
  size_t which = 0;
  ASSERT_TRUE(table_.add(flows, &which));
  tick();
  for (uint32_t i = 1; i <= kEntries; ++i) hit(i, 1);
  ASSERT_TRUE(table_.erase_all());
  tick(2s);
  tick(2s);
  const auto counts = control_->ipfix().counts();
  EXPECT_EQ(counts.records, IpfixEntries::kMostGone);
  EXPECT_EQ(counts.lost, kEntries - IpfixEntries::kMostGone);
}

TEST_F(IpfixEntriesTest, WhatWasCountedWhileItWasOffIsToldOnce) {
  start();
  add("from 10.0.0.1 accept");
  hit(1, 10);
  EXPECT_EQ(round().size(), 1u);
  const config::Config on = config_;
  config_ = read(kSampledPorts);
  tick();
  hit(1, 5);
  config_ = on;
  tick();
  const auto all = round();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].number(kPackets), 5u);
}

}  // namespace
}  // namespace hecto::router::test
