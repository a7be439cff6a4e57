#include "router/control/gate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hecto::router::test {
namespace {

using std::chrono::seconds;

class GateTest : public testing::Test {
 protected:
  bool at(int second, Gate::Known known) {
    return gate_.update(known, Gate::Clock::time_point{} + seconds(second));
  }
  std::vector<std::string> lines_;
  Gate gate_{Gate::Clock::time_point{},
             [this](LogLevel, const std::string& line) { lines_.push_back(line); }};
};

TEST_F(GateTest, OpensWithTheFirstFullSetInSilence) {
  EXPECT_FALSE(gate_.open());
  EXPECT_FALSE(at(0, {false, false, true}));
  EXPECT_FALSE(at(0, {true, false, true}));
  EXPECT_FALSE(at(1, {false, true, true}));
  EXPECT_TRUE(at(1, {true, true, true}));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(GateTest, StaysClosedWherePoliciesAreWantedAndSaysSoNowAndThen) {
  for (int second = 0; second <= 95; ++second) EXPECT_FALSE(at(second, {true, false, true}));
  EXPECT_EQ(lines_.size(), 9u);
  EXPECT_NE(lines_.front().find("IPsec policies are not all read, 10 s"), std::string::npos);
  EXPECT_FALSE(at(96, {false, true, true})) << "nor without the routes";
  EXPECT_TRUE(at(97, {true, true, true}));
  EXPECT_EQ(lines_.size(), 10u) << "and that it forwards";
}

TEST_F(GateTest, WithoutPoliciesRoutesAreWaitedForWithinBounds) {
  EXPECT_FALSE(at(29, {false, true, false}));
  EXPECT_TRUE(at(30, {false, true, false}));
  EXPECT_NE(lines_.back().find("those that are known"), std::string::npos);
  EXPECT_TRUE(at(31, {false, true, true})) << "a policy that comes later does not close it";
}

TEST_F(GateTest, ClosesWhereAPolicyMayHaveBeenLostAndOpensWithTheNextFullSet) {
  ASSERT_TRUE(at(0, {true, true, true}));
  EXPECT_FALSE(at(5, {true, false, true}));
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_.back().find("lost"), std::string::npos);
  EXPECT_TRUE(at(6, {true, true, true}));
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(GateTest, AfterARestartItOpensByTheTablesOfTheRunBeforeAndNotWithoutThem) {
  EXPECT_FALSE(at(0, {false, false, true, true})) << "policies are never inherited";
  EXPECT_TRUE(at(0, {false, true, true, true}));
  EXPECT_NE(lines_.back().find("run before"), std::string::npos);
  EXPECT_FALSE(at(1, {false, true, true, false})) << "a port has changed: they are used no more";
  EXPECT_NE(lines_.back().find("until all routes are read"), std::string::npos);
  EXPECT_TRUE(at(2, {true, true, true, false}));
  EXPECT_TRUE(at(3, {false, true, true, false})) << "a later reading does not close it";
}

}  // namespace
}  // namespace hecto::router::test
