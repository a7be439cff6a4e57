#include "router/control/offload_watch.hpp"

#include <gtest/gtest.h>

#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

class OffloadWatchTest : public testing::Test {
 protected:
  std::vector<std::string> second(uint64_t coalesced, uint64_t unfinished) {
    TrafficTotals& port = bed_->totals.ports[bed_->plane.running.at("wan0").id];
    port.rx_coalesced = coalesced;
    port.rx_unfinished = unfinished;
    port.rx_checked = 1000;
    bed_->totals.time += std::chrono::seconds(1);
    bed_->sampler.sample();
    now_ += std::chrono::seconds(1);
    return watch_.sampled(bed_->plane, bed_->sampler, now_);
  }
  std::unique_ptr<ControlBed> bed_ = ControlBed::started(R"(
ports: {wan0: {device: eth1, addresses: [192.0.2.1/24]}})");
  OffloadWatch watch_;
  OffloadWatch::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(OffloadWatchTest, SaysOnceInTheLogWhatMendsItAndShowsItWhileItGoesOn) {
  EXPECT_TRUE(second(0, 0).empty());
  EXPECT_TRUE(watch_.troubles("wan0").empty());
  const auto lines = second(7, 0);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("port wan0: 7 packets came in longer than a frame of its MTU 1500"), 0u);
  EXPECT_NE(lines[0].find("\"ethtool -K eth1 gro off lro off\""), std::string::npos) << lines[0];
  EXPECT_TRUE(second(9, 0).empty()) << "said already";
  ASSERT_EQ(watch_.troubles("wan0").size(), 1u);
  EXPECT_EQ(watch_.troubles("wan0")[0].find("9 packets"), 0u);
  for (int i = 1; i < 60; ++i) EXPECT_TRUE(second(9, 0).empty());
  EXPECT_EQ(watch_.troubles("wan0").size(), 1u);
  EXPECT_TRUE(second(9, 0).empty());
  EXPECT_TRUE(watch_.troubles("wan0").empty()) << "a minute behind the last";
  EXPECT_TRUE(second(10, 0).empty());
  EXPECT_EQ(watch_.troubles("wan0").size(), 1u) << "it is there again";
  EXPECT_TRUE(watch_.troubles("lan0").empty());
}

TEST_F(OffloadWatchTest, AFewUnfinishedChecksumsAreAnAccident) {
  EXPECT_TRUE(second(0, 2).empty());
  EXPECT_TRUE(watch_.troubles("wan0").empty());
  const auto lines = second(0, 3);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("unfinished TCP or UDP checksums, 3 of 1000 packets"), std::string::npos);
  EXPECT_NE(lines[0].find("\"ethtool -K DEVICE tx off\""), std::string::npos);
}

}  // namespace
}  // namespace hecto::router::test
