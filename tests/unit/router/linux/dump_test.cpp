#include "router/linux/dump.hpp"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

std::vector<uint8_t> removal_of(const std::string& address, uint8_t length) {
  rtmsg head{};
  head.rtm_family = AF_INET;
  head.rtm_dst_len = length;
  head.rtm_type = RTN_UNICAST;
  head.rtm_table = RT_TABLE_MAIN;
  MessageBuilder builder(RTM_DELROUTE);
  return builder.head(head).address(RTA_DST, address).put(RTA_OIF, 1).bytes();
}

TEST(DumpConsistency, Ipv4SuffersOnlyFromRemovalsWhereAReadStopped) {
  Route last;
  last.prefix = *IpPrefix::parse("10.0.0.0/8");
  DumpConsistency consistency;
  consistency.begin(MessageKind::kRoute4);
  consistency.read_stopped_at(last);
  consistency.removed_meanwhile(message_of(removal_of("10.1.0.0", 16)));
  EXPECT_TRUE(consistency.sound());
  consistency.removed_meanwhile(message_of(removal_of("10.0.0.0", 16)));  // same leaf
  EXPECT_FALSE(consistency.sound());
  consistency.begin(MessageKind::kRoute4);
  EXPECT_TRUE(consistency.sound());
}

TEST(DumpConsistency, OtherKindsSufferFromAnyRemovalOrLoss) {
  for (const MessageKind kind : {MessageKind::kRoute6, MessageKind::kNeighbor}) {
    DumpConsistency consistency;
    consistency.begin(kind);
    EXPECT_TRUE(consistency.sound());
    consistency.removed_meanwhile(message_of(removal_of("10.1.0.0", 16)));
    EXPECT_FALSE(consistency.sound());
    consistency.begin(kind);
    consistency.events_lost();
    EXPECT_FALSE(consistency.sound());
  }
}

TEST(DumpPlan, ReadsLinksFirstAndRoutesAfterNextHopObjects) {
  const auto plan = dump_plan();
  EXPECT_EQ(plan.front().kind, MessageKind::kLink);
  EXPECT_EQ(plan.back().kind, MessageKind::kNeighbor);
  bool objects = false;
  for (const auto& phase : plan) {
    objects |= phase.kind == MessageKind::kNextHop;
    const bool route = phase.kind == MessageKind::kRoute4 || phase.kind == MessageKind::kRoute6;
    EXPECT_TRUE(!route || objects);
    EXPECT_EQ(phase.table, 0u) << "of all tables";
  }
  const auto rules = std::count_if(plan.begin(), plan.end(), [](const DumpPhase& phase) {
    return phase.kind == MessageKind::kRule;
  });
  EXPECT_EQ(rules, 2);
}

}  // namespace
}  // namespace hecto::router
