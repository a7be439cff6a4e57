// What collectors of IPFIX get of the entries of the flow table.
#include "config/file/flow_words.hpp"
#include "tests/unit/router/control/ipfix_bed.hpp"

namespace hecto::router::test {
namespace {

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

// Another one may lie where it did.
TEST_F(IpfixEntriesTest, OfATableThatWasMadeAnewWhileItWasOffNothingIsKnown) {
  start();
  add("from 10.0.0.1 accept");
  hit(1, 10);
  EXPECT_EQ(round().size(), 1u);
  const config::Config on = config_;
  config_ = read(kSampledPorts);
  tick();
  table_.follow({});
  table_.follow(on.flows);
  add("from 10.0.0.7 accept");
  hit(1, 4);
  config_ = on;
  tick();
  const auto all = round();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].number(kPackets), 4u);
}

}  // namespace
}  // namespace hecto::router::test
