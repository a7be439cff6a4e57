#include "router/control/reorder_watch.hpp"

#include <gtest/gtest.h>

#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

class ReorderWatchTest : public testing::Test {
 protected:
  ReorderWatchTest() { set_bond(config::BondMode::kLacp, 2); }

  void set_bond(config::BondMode mode, size_t active) {
    BondStatus bond;
    bond.name = "uplink";
    bond.config.mode = mode;
    bond.active = active;
    bed_->plane.bond_list = {bond};
  }
  std::vector<std::string> second(uint64_t segments, uint64_t reordered) {
    TrafficTotals& port = bed_->totals.ports[bed_->plane.running.at("uplink").id];
    port.rx_segments += segments;
    port.rx_reordered += reordered;
    bed_->totals.time += std::chrono::seconds(1);
    bed_->sampler.sample();
    now_ += std::chrono::seconds(1);
    return watch_.sampled(bed_->plane, bed_->sampler, now_);
  }
  Reorder seen() const { return watch_.of("uplink"); }

  std::unique_ptr<ControlBed> bed_ = ControlBed::started(R"(
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  uplink: {bond: {members: [eth2, eth3]}, addresses: [10.1.0.1/24]})");
  ReorderWatch watch_;
  ReorderWatch::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(ReorderWatchTest, SaysOnceInTheLogWhoSpreadsFlowsAndShowsItWhileItGoesOn) {
  EXPECT_TRUE(second(0, 0).empty());
  EXPECT_EQ(seen().segments, 0u);
  const auto lines = second(1000, 250);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("port uplink: 25.0 % of the TCP segments that come in are out of order"),
            0u)
      << lines[0];
  EXPECT_NE(lines[0].find("choose a hash of flows there"), std::string::npos);
  EXPECT_EQ(seen().segments, 1000u);
  EXPECT_EQ(seen().reordered, 250u);
  EXPECT_EQ(seen().percent(), 25.0);
  EXPECT_TRUE(second(1000, 250).empty()) << "said already";
  EXPECT_FALSE(seen().trouble.empty());
  EXPECT_EQ(watch_.of("wan0").segments, 0u);
}

TEST_F(ReorderWatchTest, CountsTheLastMinuteAlone) {
  (void)second(1000, 500);
  for (int i = 0; i < 59; ++i) (void)second(100, 0);
  EXPECT_EQ(seen().segments, 1000u + 59 * 100);
  EXPECT_FALSE(seen().trouble.empty());
  (void)second(100, 0);
  EXPECT_EQ(seen().segments, 60u * 100);
  EXPECT_EQ(seen().reordered, 0u);
  EXPECT_TRUE(seen().trouble.empty()) << "the other end has been mended";
}

TEST_F(ReorderWatchTest, AFewSegmentsOrAFewThatAreLateAreNoTrouble) {
  (void)second(199, 199);
  EXPECT_TRUE(seen().trouble.empty());
  (void)second(1, 0);
  EXPECT_FALSE(seen().trouble.empty());
  (void)second(100'000, 0);
  EXPECT_EQ(seen().reordered, 199u);
  EXPECT_TRUE(seen().trouble.empty());
}

TEST_F(ReorderWatchTest, WithOneMemberThePartnerSpreadsNothing) {
  set_bond(config::BondMode::kLacp, 1);
  EXPECT_TRUE(second(1000, 500).empty());
  EXPECT_EQ(seen().reordered, 500u);
  EXPECT_TRUE(seen().trouble.empty());
  set_bond(config::BondMode::kActiveBackup, 2);
  EXPECT_TRUE(second(1000, 500).empty());
  set_bond(config::BondMode::kBalanceXor, 2);
  EXPECT_FALSE(second(1000, 500).empty());
}

TEST_F(ReorderWatchTest, AnotherPortOfItsNameBeginsAnew) {
  (void)second(1000, 500);
  bed_->totals.ports[bed_->plane.running.at("uplink").id] = {};
  (void)second(10, 1);
  EXPECT_EQ(seen().segments, 10u);
  EXPECT_EQ(seen().reordered, 1u);
  bed_->plane.running.erase("uplink");
  (void)watch_.sampled(bed_->plane, bed_->sampler, now_);
  EXPECT_EQ(seen().segments, 0u);
}

}  // namespace
}  // namespace hecto::router::test
