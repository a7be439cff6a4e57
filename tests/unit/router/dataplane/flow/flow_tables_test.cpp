#include "router/dataplane/flow/flow_tables.hpp"

#include <gtest/gtest.h>

#include "config/file/flow_words.hpp"
#include "router/dataplane/flow/flow_compile.hpp"
#include "tests/beds/qsbr.hpp"
#include "tests/unit/router/dataplane/flow/flow_keys.hpp"

namespace hecto::router::test {
namespace {

using lookup::Family;

Result<FlowPlace> two_places(const std::string& name) {
  if (name == "a0") return FlowPlace{1};
  if (name == "b0") return FlowPlace{2};
  return fail("there is no interface " + name);
}
std::string place_name(FlowPlace place) {
  return place == 1 ? "a0" : place == 2 ? "b0" : "?";
}

FlowOrder order(const std::string& words) {
  const auto flow = config::parse_flow(words);
  EXPECT_TRUE(flow) << flow.error();
  const auto made = compile_flow(*flow, two_places);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

struct FlowBed {
  explicit FlowBed(uint32_t entries, unsigned threads = 1)
      : tables(*FlowTables::create({entries, threads, 0, fixed_flow_seed()},
                                   lookup::Memory::system(), readers)) {}
  Result<void> set(const std::vector<std::string>& lines, size_t* which = nullptr) {
    std::vector<FlowOrder> orders;
    for (const std::string& line : lines) orders.push_back(order(line));
    auto done = tables->set(orders, which);
    quiesce();
    return done;
  }
  std::optional<FlowId> find(const std::string& words) { return tables->find(order(words)); }
  void quiesce() {
    readers.quiescent();
    tables->reclaim();
  }
  std::vector<std::string> all() {
    std::vector<std::string> out;
    for (auto id = tables->next({Family::kIpv4, 1}); id;
         id = tables->next({id->family, id->index + 1}))
      out.push_back(to_string(describe_flow(tables->status(*id), place_name)));
    return out;
  }
  void count(const FlowId& id, unsigned thread, uint64_t packets, uint64_t bytes) {
    FlowThread& mine = tables->thread(thread);
    FlowCell& cell = (id.family == Family::kIpv4 ? mine.cells4 : mine.cells6)[id.index];
    cell.packets.add(packets);
    cell.bytes.add(bytes);
  }

  lookup::Qsbr readers;
  std::shared_ptr<FlowTables> tables;
};
using Lines = std::vector<std::string>;

const Lines kMany = {
    "interface a0 from 10.0.0.1 to 10.0.0.0/24 protocol tcp sport 1 dport 65535 tcp_flags syn,!ack "
    "dscp 63 mark 4294967295 priority 7 idle_s 60 hard_s 1000 drop",
    "family ipv4 protocol icmp icmp_type 8 icmp_code 0 accept",
    "family ipv4 accept",
    "to 192.0.2.1 protocol udp set_from 192.0.2.9 set_to 198.51.100.1 set_sport 0 set_dport 53 "
    "set_dscp 46 set_mark 7 ttl decrement mac 02:00:00:00:00:09 output b0",
    "from 2001:db8::/32 protocol icmp6 icmp_type 128 set_to 2001:db8::9 accept",
    "from 2001:db8::1 to 2001:db8::2 protocol tcp dport 80 output a0",
};

TEST(FlowTables, WhatAnEntrySaysIsToldInTheSameWords) {
  FlowBed bed(100);
  ASSERT_TRUE(bed.set(kMany));
  EXPECT_EQ(bed.all(), kMany);
  EXPECT_EQ(bed.tables->size(), kMany.size());
}

TEST(FlowTables, ARequestIsDoneAllOrNotAtAll) {
  FlowBed bed(4);
  ASSERT_TRUE(bed.set({"from 10.0.0.1 priority 1 drop", "from 10.0.0.2 drop"}));
  const auto count = bed.tables->actions_in_use();
  size_t which = 99;
  const auto refused = bed.set({"from 10.0.0.1 priority 2 accept", "from 10.0.0.3 drop",
                                "from 2001:db8::1 drop", "from 10.0.0.4 drop"},
                               &which);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "flows: the table is full: it has 4 entries; raise flows.entries, or delete some");
  EXPECT_EQ(which, 3u);
  EXPECT_EQ(bed.all(), (Lines{"from 10.0.0.1 priority 1 drop", "from 10.0.0.2 drop"}));
  EXPECT_EQ(bed.tables->actions_in_use(), count);
  ASSERT_TRUE(bed.set({"from 10.0.0.3 drop", "from 2001:db8::1 drop"})) << "there is room again";
  ASSERT_TRUE(bed.set({"from 10.0.0.3 priority 9 accept"})) << "in the place of one";
}

TEST(FlowTables, GoesOnWithWhatWasDeletedManyTimesOver) {
  FlowBed bed(64);
  for (unsigned round = 0; round < 3000; ++round) {
    Lines lines;
    for (unsigned i = 0; i < 64; ++i)
      lines.push_back("from 10.0." + std::to_string(i) + "." + std::to_string(round % 256) +
                      " set_mark " + std::to_string(round * 64 + i));
    ASSERT_TRUE(bed.set(lines)) << round;
    ASSERT_EQ(bed.tables->erase_all(), 64u);
    bed.quiesce();
  }
  EXPECT_EQ(bed.tables->size(), 0u);
  EXPECT_EQ(bed.tables->actions_in_use(), 0u);
  EXPECT_LT(bed.tables->bytes(), 2u << 20);
}

TEST(FlowTables, IdleAndHardTimesEndEntries) {
  FlowBed bed(16);
  bed.tables->set_now(1000);
  ASSERT_TRUE(bed.set({"from 10.0.0.1 idle_s 10 drop", "from 10.0.0.2 hard_s 15 drop",
                       "from 10.0.0.3 drop", "from 2001:db8::1 idle_s 10 hard_s 30 drop"}));
  const auto always = [] { return true; };
  const auto at = [&](uint32_t now) {
    bed.tables->set_now(now);
    const size_t gone = bed.tables->expire(always);
    bed.quiesce();
    return gone;
  };
  EXPECT_EQ(at(1009), 0u);
  // A packet comes by.
  const auto used = bed.find("from 2001:db8::1 drop");
  ASSERT_TRUE(used);
  bed.tables->of(static_cast<const FilterKey6*>(nullptr)).entry(used->index).used_s = 1009;
  EXPECT_EQ(at(1010), 1u);
  EXPECT_FALSE(bed.find("from 10.0.0.1 drop"));
  EXPECT_EQ(at(1014), 0u);
  EXPECT_EQ(at(1015), 1u);
  EXPECT_FALSE(bed.find("from 10.0.0.2 drop"));
  EXPECT_EQ(at(1018), 0u);
  EXPECT_EQ(at(1019), 1u);
  EXPECT_EQ(at(100'000), 0u);
  EXPECT_EQ(bed.all(), Lines{"from 10.0.0.3 drop"});
  EXPECT_EQ(bed.tables->expired(), 3u);
}

TEST(FlowTables, ExpiryGoesOnWhereItWasStopped) {
  FlowBed bed(2000);
  Lines lines;
  for (unsigned i = 0; i < 1000; ++i)
    lines.push_back("from 10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) +
                    " hard_s 1 drop");
  bed.tables->set_now(1);
  ASSERT_TRUE(bed.set(lines));
  bed.tables->set_now(2);
  const size_t first = bed.tables->expire([] { return false; });
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, 300u);
  size_t gone = first;
  for (unsigned i = 0; i < 20; ++i) gone += bed.tables->expire([] { return false; });
  EXPECT_EQ(gone, 1000u);
}

TEST(FlowTables, CountsOfAllThreadsAreOneAndBeginAt0Again) {
  FlowBed bed(4, 3);
  ASSERT_TRUE(bed.set({"from 10.0.0.1 drop"}));
  const auto id = bed.find("from 10.0.0.1 drop");
  ASSERT_TRUE(id);
  for (unsigned thread = 0; thread < 3; ++thread) bed.count(*id, thread, 2, 100);
  EXPECT_EQ(bed.tables->count(*id).packets, 6u);
  EXPECT_EQ(bed.tables->count(*id).bytes, 300u);
  ASSERT_EQ(bed.tables->busiest(10).size(), 1u);
  bed.tables->erase(*id);
  bed.tables->commit();
  bed.quiesce();
  ASSERT_TRUE(bed.set({"from 10.0.0.2 drop"}));
  const auto again = bed.find("from 10.0.0.2 drop");
  ASSERT_TRUE(again);
  ASSERT_EQ(again->index, id->index) << "the test asks for the same place";
  EXPECT_EQ(bed.tables->count(*again).packets, 0u);
  bed.count(*again, 1, 1, 7);
  EXPECT_EQ(bed.tables->count(*again).bytes, 7u);
}

TEST(FlowTables, TheBusiestAreToldInOrder) {
  FlowBed bed(100);
  Lines lines;
  for (unsigned i = 1; i <= 50; ++i) lines.push_back("from 10.0.0." + std::to_string(i) + " drop");
  ASSERT_TRUE(bed.set(lines));
  for (unsigned i = 1; i <= 50; ++i)
    bed.count(*bed.find("from 10.0.0." + std::to_string(i) + " drop"), 0, i * 37 % 50, 1);
  const auto top = bed.tables->busiest(10);
  ASSERT_EQ(top.size(), 10u);
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(bed.tables->count(top[i]).packets, 49 - i);
}

TEST(FlowTables, AnInterfaceThatIsNotThereIsRefused) {
  const auto flow = config::parse_flow("from 10.0.0.1 output c0");
  ASSERT_TRUE(flow);
  const auto made = compile_flow(*flow, two_places);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "there is no interface c0");
}

}  // namespace
}  // namespace hecto::router::test
