#include "router/process/service/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hecto::router {
namespace {

using namespace std::chrono_literals;

class ServiceReportTest : public testing::Test {
 protected:
  // Ticks of 50 ms, as control's are.
  std::vector<std::string> tell(ServiceReport::State state, std::chrono::milliseconds time) {
    told_.clear();
    for (auto end = now_ + time; now_ < end; now_ += 50ms) report_.tick(state, now_);
    return told_;
  }
  long count(const std::string& line) const { return std::count(told_.begin(), told_.end(), line); }
  ServiceReport::Clock::time_point now_{1h};
  std::vector<std::string> told_;
  std::string status_ = "2 ports";
  ServiceReport report_{[this](const std::string& lines) { told_.push_back(lines); }, 2s,
                        [this] { return status_; }};
};

TEST_F(ServiceReportTest, IsReadyOnceItForwards) {
  EXPECT_EQ(tell({.forwards = false}, 50ms),
            (std::vector<std::string>{"STATUS=2 ports", "WATCHDOG=1"}));
  tell({.forwards = false}, 5s);
  EXPECT_EQ(count("READY=1\nSTATUS=2 ports"), 0);
  EXPECT_EQ(tell({.forwards = true}, 50ms).front(), "READY=1\nSTATUS=2 ports");
  tell({.forwards = true}, 60s);
  EXPECT_EQ(count("READY=1\nSTATUS=2 ports"), 0) << "once";
  EXPECT_EQ(count("STATUS=2 ports"), 6);
}

TEST_F(ServiceReportTest, WhenForwardingEndsTheStatusSaysSoAtOnce) {
  tell({.forwards = true}, 50ms);
  status_ = "not forwarding";
  EXPECT_EQ(tell({.forwards = false}, 50ms), std::vector<std::string>{"STATUS=not forwarding"});
  EXPECT_EQ(tell({.forwards = true}, 50ms), std::vector<std::string>{"STATUS=not forwarding"})
      << "no second READY=1";
}

TEST_F(ServiceReportTest, FeedsTheWatchdogTwiceInItsTime) {
  tell({.forwards = true}, 20s);
  EXPECT_EQ(count("WATCHDOG=1"), 20);
}

TEST_F(ServiceReportTest, WhatIsNotAliveFeedsNothing) {
  tell({.forwards = true, .alive = false}, 19s);
  EXPECT_EQ(count("WATCHDOG=1"), 0);
  EXPECT_EQ(tell({.forwards = true}, 50ms), std::vector<std::string>{"WATCHDOG=1"});
}

TEST(ServiceReport, WithoutAWatchdogNothingIsFed) {
  std::vector<std::string> told;
  ServiceReport report([&](const std::string& lines) { told.push_back(lines); }, 0us,
                       [] { return "fine"; });
  EXPECT_FALSE(report.watched());
  report.tick({.forwards = true}, ServiceReport::Clock::time_point(1h));
  EXPECT_EQ(told, std::vector<std::string>{"READY=1\nSTATUS=fine"});
}

}  // namespace
}  // namespace hecto::router
