// LACP between two of our own, and what the other end may do wrong.
#include "router/dataplane/ports/lacp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/beds/seed.hpp"

namespace hecto::router {
namespace {

using namespace std::chrono_literals;
using Time = Lacp::Time;

constexpr MacAddress kOne{2, 0, 0, 0, 0, 1}, kTwo{2, 0, 0, 0, 0, 2}, kThree{2, 0, 0, 0, 0, 3};
constexpr uint16_t kKey = 41;

// Ends and the wires between them, ticked as Bond does.
struct Wires {
  struct Wire {
    Lacp *a, *b;
    size_t at_a, at_b;
    bool to_a = true, to_b = true;
  };
  std::vector<Wire> wires;
  std::vector<Lacp*> ends;
  Time now{1000};

  void connect(Lacp& a, size_t at_a, Lacp& b, size_t at_b, uint16_t key_a = kKey) {
    wires.push_back({&a, &b, at_a, at_b});
    a.set_link(at_a, true, key_a, now);
    b.set_link(at_b, true, kKey, now);
    for (Lacp* end : {&a, &b})
      if (std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
  }
  void pass(Time time) {
    for (const Time until = now + time; now < until; now += 100ms) {
      for (Lacp* end : ends) end->tick(now);
      for (Wire& wire : wires) {
        if (auto frame = wire.a->to_send(wire.at_a, now); frame && wire.to_b)
          wire.b->receive(wire.at_b, *frame, now);
        if (auto frame = wire.b->to_send(wire.at_b, now); frame && wire.to_a)
          wire.a->receive(wire.at_a, *frame, now);
      }
    }
  }
};

TEST(Lacp, TwoEndsTakeAllMembersIn) {
  Lacp one({kOne, false}, 2), two({kTwo, false}, 2);
  Wires wires;
  wires.connect(one, 0, two, 1);
  wires.connect(one, 1, two, 0);
  wires.pass(1900ms);
  EXPECT_EQ(one.running(), 0u);  // aggregate_wait_time
  wires.pass(2s);
  EXPECT_EQ(one.running(), 2u);
  EXPECT_EQ(two.running(), 2u);
  const Lacp::Member& member = one.member(0);
  EXPECT_EQ(member.partner.system, kTwo);
  EXPECT_EQ(member.partner.port, 2);
  EXPECT_TRUE(member.partner.has(kLacpCollecting | kLacpDistributing));
  EXPECT_FALSE(member.actor.has(kLacpDefaulted));
  EXPECT_EQ(one.trouble(0), "");
}

TEST(Lacp, AskedSlowlyTheOtherSendsEach30Seconds) {
  Lacp one({kOne, false}, 1), two({kTwo, true}, 1);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.pass(10s);
  const uint64_t slow = two.member(0).sent, fast = one.member(0).sent;
  wires.pass(60s);
  EXPECT_EQ(two.member(0).sent - slow, 2u);
  EXPECT_EQ(one.member(0).sent - fast, 60u);
}

TEST(Lacp, OneWayWireIsLeftBy3SecondsWhenFast) {
  Lacp one({kOne, true}, 2), two({kTwo, true}, 2);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.connect(one, 1, two, 1);
  wires.pass(5s);
  ASSERT_EQ(one.running(), 2u);
  wires.wires[0].to_a = false;
  wires.pass(3900ms);
  // The end that hears nothing expires, and tells the other, which hears it.
  EXPECT_FALSE(one.member(0).running);
  EXPECT_FALSE(two.member(0).running);
  EXPECT_TRUE(one.member(1).running);
  wires.pass(4s);
  EXPECT_NE(one.trouble(0).find("no LACP heard"), std::string::npos);
  wires.wires[0].to_a = true;
  wires.pass(5s);
  EXPECT_EQ(one.running(), 2u);
}

TEST(Lacp, LostLinkIsLeftAtOnce) {
  Lacp one({kOne, false}, 2), two({kTwo, false}, 2);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.connect(one, 1, two, 1);
  wires.pass(5s);
  one.set_link(0, false, 0, wires.now);
  EXPECT_EQ(one.running(), 1u);
  one.tick(wires.now);
  EXPECT_EQ(one.running(), 1u);
  EXPECT_FALSE(one.to_send(0, wires.now).has_value());
}

TEST(Lacp, MemberAtAnotherSystemStaysOut) {
  Lacp one({kOne, false}, 3), two({kTwo, false}, 2), three({kThree, false}, 1);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.connect(one, 1, three, 0);
  wires.connect(one, 2, two, 1);
  wires.pass(6s);
  EXPECT_EQ(one.running(), 2u);
  EXPECT_FALSE(one.member(1).running);
  EXPECT_FALSE(three.member(0).running);
  EXPECT_EQ(one.trouble(1), "leads to system 02:00:00:00:00:03, the others to 02:00:00:00:00:02");
  EXPECT_EQ(one.trouble(0), "");
  EXPECT_EQ(three.trouble(0), "the other end does not take it in");
}

TEST(Lacp, MemberAtAnotherSystemThatIsHeardFirstKeepsNobodyOut) {
  Lacp one({kOne, false}, 3), two({kTwo, false}, 2), three({kThree, false}, 1);
  Wires wires;
  wires.connect(one, 0, three, 0);
  wires.pass(1s);
  wires.connect(one, 1, two, 0);
  wires.connect(one, 2, two, 1);
  wires.pass(8s);
  EXPECT_FALSE(one.member(0).running);
  EXPECT_TRUE(one.member(1).running);
  EXPECT_TRUE(one.member(2).running);
  EXPECT_EQ(one.trouble(0), "leads to system 02:00:00:00:00:03, the others to 02:00:00:00:00:02");
}

// The other end of the larger group never takes it in.
TEST(Lacp, GroupThatNeverRunsKeepsNobodyOut) {
  Lacp one({kOne, true}, 3), two({kTwo, true}, 1), three({kThree, true}, 2);
  Wires wires;
  wires.connect(one, 0, three, 0);
  wires.connect(one, 1, three, 1);
  for (Wires::Wire& wire : wires.wires) wire.to_b = false;  // three hears nothing
  wires.pass(5s);
  ASSERT_EQ(one.running(), 0u);
  wires.connect(one, 2, two, 0);
  wires.pass(8s);
  EXPECT_EQ(one.running(), 1u);
  EXPECT_TRUE(one.member(2).running);
  EXPECT_TRUE(two.member(0).running);
}

TEST(Lacp, RunningGroupStaysWhenALargerOneAppears) {
  Lacp one({kOne, false}, 3), two({kTwo, false}, 2), three({kThree, false}, 1);
  Wires wires;
  wires.connect(one, 0, three, 0);
  wires.pass(5s);
  ASSERT_EQ(one.running(), 1u);
  wires.connect(one, 1, two, 0);
  wires.connect(one, 2, two, 1);
  for (int i = 0; i < 60; ++i) {
    wires.pass(100ms);
    ASSERT_TRUE(one.member(0).running) << i;
    ASSERT_EQ(one.running(), 1u) << i;
  }
  // And with its end the larger one is taken.
  one.set_link(0, false, 0, wires.now);
  wires.pass(5s);
  EXPECT_EQ(one.running(), 2u);
}

TEST(Lacp, MemberOfAnotherSpeedStaysOut) {
  Lacp one({kOne, false}, 3), two({kTwo, false}, 3);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.connect(one, 1, two, 1, kKey + 10);
  wires.connect(one, 2, two, 2);
  wires.pass(6s);
  EXPECT_EQ(one.running(), 2u);
  EXPECT_EQ(one.trouble(1), "has another speed than the others");
}

TEST(Lacp, OwnFramesThatComeBackAreNoPartner) {
  Lacp one({kOne, false}, 2);
  one.set_link(0, true, kKey, 1s);
  one.set_link(1, true, kKey, 1s);
  for (Time now = 1s; now < 8s; now += 100ms) {
    one.tick(now);
    if (auto frame = one.to_send(0, now)) one.receive(1, *frame, now);
    if (auto frame = one.to_send(1, now)) one.receive(0, *frame, now);
  }
  EXPECT_EQ(one.running(), 0u);
  EXPECT_GT(one.member(0).own, 0u);
  EXPECT_NE(one.trouble(0).find("comes back to this router"), std::string::npos);
}

TEST(Lacp, WithoutAPartnerNothingRuns) {
  Lacp one({kOne, false}, 1);
  one.set_link(0, true, kKey, 1s);
  size_t sent = 0;
  for (Time now = 1s; now < 61s; now += 100ms) {
    one.tick(now);
    sent += one.to_send(0, now).has_value();
  }
  EXPECT_EQ(one.running(), 0u);
  EXPECT_NEAR(static_cast<double>(sent), 60, 3);
}

TEST(Lacp, PartnerThatDoesNotAggregateStaysOut) {
  Lacp one({kOne, false}, 1), two({kTwo, false}, 1);
  two.set_link(0, true, kKey, 1s);
  one.set_link(0, true, kKey, 1s);
  for (Time now = 1s; now < 8s; now += 100ms) {
    one.tick(now);
    two.tick(now);
    if (auto frame = two.to_send(0, now)) {
      (*frame)[32] &= static_cast<uint8_t>(~kLacpAggregation);  // the actor's state
      one.receive(0, *frame, now);
    }
  }
  EXPECT_EQ(one.running(), 0u);
  EXPECT_EQ(one.trouble(0), "the other end takes it for a single link");
}

TEST(Lacp, CutAndMalformedFramesAreCountedAndChangeNothing) {
  Lacp one({kOne, false}, 1), two({kTwo, false}, 1);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.pass(5s);
  ASSERT_EQ(one.running(), 1u);
  LacpFrame frame{};
  frame[17] = 20;
  frame[37] = 19;
  one.receive(0, frame, wires.now);
  for (size_t bytes = 0; bytes < kLacpFrameBytes; ++bytes)
    one.receive(0, std::span(frame).first(bytes), wires.now);
  one.tick(wires.now);
  EXPECT_EQ(one.member(0).damaged, 1 + kLacpFrameBytes);
  EXPECT_EQ(one.running(), 1u);
}

// Somebody else on the wire of a member: the others are none of his.
TEST(Lacp, ForgedFramesHarmNoOtherMember) {
  const uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  Lacp one({kOne, true}, 2), two({kTwo, true}, 2);
  Wires wires;
  wires.connect(one, 0, two, 0);
  wires.connect(one, 1, two, 1);
  wires.pass(5s);
  ASSERT_EQ(one.running(), 2u);
  for (int i = 0; i < 2000; ++i) {
    LacpFrame frame;
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
    if (i % 3 != 0) frame[17] = frame[37] = 20;
    if (i % 5 == 0) std::memcpy(&frame[20], kTwo.data(), 6);
    one.receive(0, frame, wires.now);
    wires.pass(100ms);
    ASSERT_TRUE(one.member(1).running) << "seed " << seed << ", frame " << i;
  }
  wires.pass(8s);
  EXPECT_EQ(one.running(), 2u) << "seed " << seed;
}

TEST(Lacp, SendsNoMoreThanThreeASecond) {
  Lacp one({kOne, true}, 1);
  one.set_link(0, true, kKey, 1s);
  LacpFrame frame{};
  frame[17] = frame[37] = 20;
  std::memcpy(&frame[20], kTwo.data(), 6);
  size_t sent = 0;
  for (Time now = 1s; now < 11s; now += 10ms) {
    one.receive(0, frame, now);  // knows nothing of us: an answer is due
    one.tick(now);
    sent += one.to_send(0, now).has_value();
  }
  EXPECT_LE(sent, 33u);
  EXPECT_GE(sent, 28u);
}

}  // namespace
}  // namespace hecto::router
