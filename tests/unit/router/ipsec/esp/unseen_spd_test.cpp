#include "router/ipsec/esp/unseen_spd.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "tests/beds/qsbr.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

FlowKey flow(Unseen unseen, uint8_t protocol = 6, uint16_t to_port = 0) {
  const IpAddress from = *IpAddress::parse("10.1.0.1"), to = *IpAddress::parse("10.2.0.1");
  return {Family::kIpv4, protocol, 0, to_port, {from.bytes}, {to.bytes}, unseen};
}

class UnseenSpdTest : public testing::Test {
 protected:
  Policy* make(PolicyAction action, uint32_t priority, uint8_t protocol = 0, uint16_t port = 0) {
    policies_.emplace_back();
    Policy& policy = policies_.back();
    policy.action = action;
    policy.priority = priority;
    policy.serial = ++serial_;
    policy.selector.source = *IpPrefix::parse("10.1.0.0/16");
    policy.selector.destination = *IpPrefix::parse("10.2.0.0/16");
    policy.selector.protocol = protocol;
    policy.selector.destination_port = port;
    policy.selector.destination_port_mask = port == 0 ? 0 : 0xffff;
    return &policy;
  }
  Policy* add(PolicyAction action, uint32_t priority, uint8_t protocol = 0, uint16_t port = 0) {
    Policy* const policy = make(action, priority, protocol, port);
    change({policy}, {});
    return policy;
  }
  // As PolicyTable does.
  void change(std::vector<Policy*> inserted, std::vector<Policy*> removed) {
    unseen_.insert(inserted);
    spd_.change(inserted, removed);
    unseen_.remove(removed);
  }
  Judged of(const FlowKey& key) const { return judge(spd_, unseen_, key, 0); }
  bool certain(const FlowKey& key) const { return of(key).certain; }

  std::deque<Policy> policies_;
  uint64_t serial_ = 0;
  lookup::Qsbr readers_;
  Spd spd_{readers_};
  UnseenSpd unseen_{readers_};
};

TEST_F(UnseenSpdTest, AFragmentPastAPolicyWithPortsIsNotCertain) {
  add(PolicyAction::kProtect, 10, 6, 443);
  EXPECT_TRUE(certain(flow(Unseen::kNothing, 6, 80)));
  EXPECT_TRUE(certain(flow(Unseen::kNothing, 6, 443)));
  EXPECT_FALSE(certain(flow(Unseen::kPorts, 6)));
  EXPECT_TRUE(certain(flow(Unseen::kPorts, 17))) << "another protocol, which is seen";
  EXPECT_FALSE(certain(flow(Unseen::kProtocol, 44)));
}

TEST_F(UnseenSpdTest, WhatDiscardsCountsAsWhatProtects) {
  add(PolicyAction::kDiscard, 10, 17, 53);
  EXPECT_FALSE(certain(flow(Unseen::kPorts, 17)));
}

TEST_F(UnseenSpdTest, ABetterPolicyWithoutPortsIsCertainAWorseOneIsNot) {
  add(PolicyAction::kProtect, 10, 6, 443);
  Policy* const best = add(PolicyAction::kProtect, 5);
  EXPECT_EQ(of(flow(Unseen::kPorts)).policy, best);
  EXPECT_TRUE(certain(flow(Unseen::kPorts)));
  change({}, {best});
  add(PolicyAction::kProtect, 20);
  EXPECT_FALSE(certain(flow(Unseen::kPorts)));
}

TEST_F(UnseenSpdTest, APolicyThatBypassesByPortsLeavesTheOneThatProtects) {
  add(PolicyAction::kBypass, 5, 6, 22);
  Policy* const all = add(PolicyAction::kProtect, 10);
  EXPECT_EQ(of(flow(Unseen::kPorts)).policy, all);
  EXPECT_TRUE(certain(flow(Unseen::kPorts)));
}

// Type 0 of ICMP, or port 0: what the key has instead of what it does not see.
TEST_F(UnseenSpdTest, WhatWasFoundByAPortThatNobodySawIsAGuess) {
  Policy* const echo_reply = make(PolicyAction::kBypass, 5, 1);
  echo_reply->selector.source_port_mask = 0xffff;
  change({echo_reply}, {});
  EXPECT_EQ(of(flow(Unseen::kPorts, 1)).policy, echo_reply);
  EXPECT_FALSE(certain(flow(Unseen::kPorts, 1)));
}

TEST_F(UnseenSpdTest, IfIdsAreApart) {
  Policy* const tunnel = make(PolicyAction::kProtect, 5, 6, 443);
  tunnel->if_id = 7;
  change({tunnel}, {});
  EXPECT_TRUE(certain(flow(Unseen::kPorts)));
  EXPECT_FALSE(judge(spd_, unseen_, flow(Unseen::kPorts), 7).certain);
}

TEST_F(UnseenSpdTest, NothingStaysOfWhatIsRemoved) {
  Policy* const policy = add(PolicyAction::kProtect, 10, 6, 443);
  change({}, {policy});
  EXPECT_TRUE(certain(flow(Unseen::kPorts)));
  EXPECT_EQ(unseen_.size(), 0u);
  readers_.quiescent();
  add(PolicyAction::kProtect, 10, 6, 443);
  EXPECT_FALSE(certain(flow(Unseen::kPorts)));
}

// One that protects by port and one that protects all take turns: no moment is without either.
TEST_F(UnseenSpdTest, NoFragmentGoesInClearWhileOneTakesTheOthersPlace) {
  Policy* by_port = add(PolicyAction::kProtect, 10, 6, 443);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> asked{0}, in_clear{0};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const Judged judged = of(flow(Unseen::kPorts));
      in_clear += judged.certain && judged.policy == nullptr;
      ++asked;
    }
  });
  // Nothing is freed while the reader runs: no token passes.
  for (int turn = 0; turn < 2000 || asked.load() < 1000; ++turn) {
    Policy* const all = make(PolicyAction::kProtect, 10);
    change({all}, {by_port});
    by_port = make(PolicyAction::kProtect, 10, 6, 443);
    change({by_port}, {all});
  }
  stop = true;
  reader.join();
  EXPECT_EQ(in_clear.load(), 0u);
}

}  // namespace
}  // namespace hecto::router::esp
