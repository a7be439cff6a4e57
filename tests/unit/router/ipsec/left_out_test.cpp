// Policies of Linux's for which there is no room: what one of them might hold for is not let pass.
#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

class LeftOutTest : public IpsecBed {
 protected:
  void SetUp() override { make(100, 2); }
  void policy(const char* source, const char* destination, uint32_t priority) {
    ipsec->policy(out_policy(source, destination, 1, priority));
  }
  bool left_out(const char* source = "10.7.0.1", const char* destination = "10.8.0.1",
                uint32_t if_id = 0) const {
    const esp::Policy* found = out(source, destination, if_id);
    return found != nullptr && found->left_out;
  }
};

TEST_F(LeftOutTest, WhatFallsBelowTheFirstLeftOutIsDiscarded) {
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.3.0.0/16", "10.4.0.0/16", 30);
  ipsec->commit();
  EXPECT_EQ(out("10.7.0.1", "10.8.0.1"), nullptr);
  policy("10.5.0.0/16", "10.6.0.0/16", 20);
  ipsec->commit();
  EXPECT_TRUE(left_out("10.5.0.1", "10.6.0.1"));
  EXPECT_TRUE(left_out("10.7.0.1", "10.8.0.1")) << "what no policy holds for";
  EXPECT_TRUE(left_out("10.3.0.1", "10.4.0.1")) << "a worse one does";
  EXPECT_TRUE(left_out("10.7.0.1", "10.8.0.1", 5)) << "of any if_id";
  EXPECT_FALSE(left_out("10.1.0.1", "10.2.0.1")) << "a better one does";
  EXPECT_EQ(out("fd00::1", "fd00::2"), nullptr) << "of the other family none was left out";
  EXPECT_EQ(ipsec->view().in->find(flow("10.7.0.1", "10.8.0.1"), 0), nullptr);
  EXPECT_EQ(told("policy_left_out"), 1u);
  EXPECT_EQ(ipsec->statistics().policies, 2u);
}

TEST_F(LeftOutTest, ABetterOneMovesTheLineOfOnePriorityTheOlderWins) {
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.3.0.0/16", "10.4.0.0/16", 10);
  policy("10.5.0.0/16", "10.6.0.0/16", 10);
  ipsec->commit();
  EXPECT_FALSE(left_out("10.3.0.1", "10.4.0.1"));
  policy("10.5.0.0/16", "10.7.0.0/16", 5);
  policy("10.5.0.0/16", "10.8.0.0/16", 7);
  ipsec->commit();
  EXPECT_TRUE(left_out("10.3.0.1", "10.4.0.1"));
  EXPECT_EQ(out("10.3.0.1", "10.4.0.1")->priority, 5u);
}

TEST_F(LeftOutTest, AResyncThatFindsRoomForAllEndsIt) {
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.3.0.0/16", "10.4.0.0/16", 30);
  policy("10.5.0.0/16", "10.6.0.0/16", 20);
  EXPECT_FALSE(ipsec->may_have_room());
  ipsec->policy_removed(out_policy("10.3.0.0/16", "10.4.0.0/16"));
  ipsec->commit();
  EXPECT_TRUE(left_out()) << "until it is known what was left out";
  EXPECT_TRUE(ipsec->may_have_room());
  ipsec->ipsec_resync_begin();
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.5.0.0/16", "10.6.0.0/16", 20);
  ipsec->commit();
  EXPECT_TRUE(left_out()) << "until it has ended";
  ipsec->ipsec_resync_end();
  ipsec->commit();
  EXPECT_FALSE(left_out());
  EXPECT_FALSE(ipsec->may_have_room());
  EXPECT_EQ(out("10.5.0.1", "10.6.0.1")->priority, 20u);
}

TEST_F(LeftOutTest, AResyncThatLeavesOutAWorseOneLowersTheLine) {
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.3.0.0/16", "10.4.0.0/16", 30);
  policy("10.5.0.0/16", "10.6.0.0/16", 20);
  ipsec->commit();
  ASSERT_TRUE(left_out("10.3.0.1", "10.4.0.1"));
  ipsec->ipsec_resync_begin();
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.3.0.0/16", "10.4.0.0/16", 30);
  policy("10.9.0.0/16", "10.6.0.0/16", 40);
  ipsec->ipsec_resync_end();
  ipsec->commit();
  EXPECT_FALSE(left_out("10.3.0.1", "10.4.0.1"));
  EXPECT_TRUE(left_out());
  EXPECT_EQ(out("10.7.0.1", "10.8.0.1")->priority, 40u);
}

TEST_F(LeftOutTest, OneThatIsRemovedWhileItIsNotHereIsLookedFor) {
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  policy("10.3.0.0/16", "10.4.0.0/16", 30);
  policy("10.5.0.0/16", "10.6.0.0/16", 20);
  EXPECT_FALSE(ipsec->may_have_room());
  ipsec->policy_removed(out_policy("10.5.0.0/16", "10.6.0.0/16"));
  EXPECT_TRUE(ipsec->may_have_room());
}

TEST_F(LeftOutTest, AFlushEndsItAndTheStagesRunWhileItLasts) {
  make(100, 0);
  policy("10.1.0.0/16", "10.2.0.0/16", 10);
  ipsec->commit();
  EXPECT_FALSE(ipsec->empty());
  EXPECT_TRUE(left_out());
  ipsec->policies_flushed();
  ipsec->commit();
  EXPECT_TRUE(ipsec->empty());
  EXPECT_FALSE(left_out());
  readers.quiescent();
  ipsec->commit();
}

}  // namespace
}  // namespace hecto::router::test
