// `spread: auto`: which queues go over several workers, and when.
#include <gtest/gtest.h>

#include "router/control/spread_control.hpp"
#include "router/dataplane/sampler.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

// Two workers of a socket and one of another; wan0 is the first one's, and waits to be spread.
class SpreadControlTest : public testing::Test {
 protected:
  SpreadControlTest() {
    plane_.worker_list.resize(3);
    for (unsigned id = 0; id < 3; ++id) plane_.worker_list[id].id = plane_.worker_list[id].cpu = id;
    plane_.worker_list[2].socket = 1;
    plane_.worker_list[0].queues = {{"wan0", 0, "", true}, {"lan0", 0, "", false}};
  }
  // In which the workers were busy for so much of it; with 100 cycles a packet, 30 of them to receive it.
  void second(const std::array<unsigned, 3>& busy_percent) {
    totals_.time += std::chrono::seconds(1);
    for (size_t i = 0; i < 3; ++i) {
      WorkerTotals& worker = totals_.workers[i];
      worker.busy += busy_percent[i] * 1000;
      worker.idle += (100 - busy_percent[i]) * 1000;
      worker.packets += busy_percent[i] * 10;
      worker.sampled_packets += 10;
      worker.stage_cycles[0] += 300;
    }
    sampler_.sample();
    control_.sampled();
  }

  Totals totals_ = [] {
    Totals totals;
    totals.workers.resize(3);
    return totals;
  }();
  Said said_;
  FakePlane plane_{said_};
  Sampler sampler_{[this] { return totals_; }};
  SpreadControl control_{plane_, sampler_};
};

TEST_F(SpreadControlTest, BelowItsLimitNothingHappens) {
  second({89, 0, 0});
  second({0, 100, 100});
  EXPECT_TRUE(said_.empty());
}

TEST_F(SpreadControlTest, AWorkerAtItsLimitIsRelievedOfWhatMayBeSpread) {
  second({0, 0, 0});
  second({91, 20, 0});
  EXPECT_EQ(said_, (Said{"spread wan0:0 at 30 and 70, free 0.00 0.70 0.90"}));
}

// Up to its limit, and no less than none.
TEST_F(SpreadControlTest, SaysWhatTimeEachMayGive) {
  second({100, 95, 89});
  EXPECT_EQ(said_, (Said{"spread wan0:0 at 30 and 70, free 0.00 0.00 0.01"}));
}

// A second one at its limit is relieved when it is seen what the first one's takers do.
TEST_F(SpreadControlTest, OneQueueIsSpreadAtATime) {
  plane_.worker_list[1].queues = {{"wan1", 0, "", true}};
  plane_.worker_list[0].queues.push_back({"wan2", 0, "", true});
  second({100, 100, 0});
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(said_[0].starts_with("spread wan0:0")) << said_[0];
}

TEST_F(SpreadControlTest, OneThatGainsNothingLeavesItToTheNext) {
  plane_.worker_list[1].queues = {{"wan1", 0, "", true}};
  plane_.worker_list[0].queues.push_back({"wan2", 0, "", true});
  plane_.refused = {"wan0", "wan2"};
  second({100, 100, 0});
  ASSERT_EQ(said_.size(), 3u);
  EXPECT_TRUE(said_[2].starts_with("spread wan1:0")) << said_[2];
}

}  // namespace
}  // namespace hecto::router::test
