#include "router/control/startup.hpp"

#include "router/control/idle_shortfalls.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kTwoPorts = R"(
workers: {0: [1, 2]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, addresses: [10.1.0.1/24], vlans: {7: {addresses: [10.7.0.1/24]}}}
)";
const std::string kRoutedAtStart = std::string(kTwoPorts) + R"(
routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]
neighbors: [{address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}]
)";

TEST(Startup, GoesInOrder) {
  ControlBed bed(kRoutedAtStart, true);
  ASSERT_TRUE(bed.start());
  EXPECT_EQ(bed.said,
            (Said{"probe wan0", "probe lan0", "configure", "add port wan0", "twin wan0",
                  "add port lan0", "twin lan0", "twin lan0.7", "deliver", "address 11 192.0.2.1/24",
                  "neighbor 11 192.0.2.9", "address 12 10.1.0.1/24", "address 13 10.7.0.1/24",
                  "route 203.0.113.0/24", "publish"}));
}

TEST(Startup, ForwardsByTheFile) {
  const auto bed = ControlBed::started(kRoutedAtStart);
  EXPECT_EQ(bed->way("203.0.113.5"), "wan0");
  EXPECT_EQ(bed->way("10.1.0.1"), "local");
  EXPECT_EQ(bed->way("10.7.0.5"), "glean");
  EXPECT_TRUE(bed->plane.interface_up(bed->interface("lan0.7").id));
}

TEST(Startup, PlacesQueuesByWhatThePortsCan) {
  ControlBed bed(R"(
workers: {0: [1, 2]}
ports:
  wan0: {device: eth1, queues: 2, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, queues: 2, addresses: [10.1.0.1/24]}
)");
  for (const config::PortPlacement& port : bed.running.placement.ports)
    ASSERT_EQ(port.rx_queues, 2) << port.port;
  bed.plane.max_rx_queues = 1;
  ASSERT_TRUE(bed.start());
  for (const config::PortPlacement& port : bed.running.placement.ports)
    EXPECT_EQ(port.rx_queues, 1) << port.port;
  EXPECT_EQ(bed.plane.running.at("wan0").rx_queues, 1);
  EXPECT_EQ(bed.running.placement.workers[0].cpu, 1u);
  EXPECT_EQ(bed.running.placement.workers[1].cpu, 2u);
}

TEST(Startup, AMissingDeviceEndsItBeforeAnyPortIsTouched) {
  ControlBed bed(kTwoPorts, true);
  bed.plane.missing = {"lan0"};
  const auto done = bed.start();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "port lan0: there is no device");
  EXPECT_EQ(bed.said, (Said{"probe wan0", "probe lan0"}));
}

TEST(Startup, ARefusedPortEndsIt) {
  ControlBed bed(kTwoPorts, true);
  bed.plane.refused = {"wan0"};
  const auto done = bed.start();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "port wan0: the driver refused");
  EXPECT_EQ(bed.said.back(), "add port wan0");
}

TEST(Startup, ANeighborNeedsItsInterface) {
  ControlBed bed(kTwoPorts);
  bed.running.config.neighbors = {{ip("192.0.2.9"), "wan1", {}}};
  const auto done = bed.start();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "neighbor 192.0.2.9: there is no interface wan1");
  EXPECT_EQ(bed.count("publish"), 0u);
}

TEST(Startup, AMissingRouteFileEndsIt) {
  ControlBed bed(kTwoPorts);
  bed.running.config.route_files = {"/nowhere/table.txt"};
  const auto done = bed.start();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("/nowhere/table.txt"), std::string::npos);
}

TEST(Startup, AMacThatTheDriverDidNotTakeIsSaid) {
  ControlBed bed(R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, mac: "02:00:00:00:00:77"}
  lan0: {device: eth2, mac: "02:00:00:00:00:01"}
)");
  ASSERT_TRUE(bed.start());
  EXPECT_EQ(bed.notes.lines(), Said{"port wan0: mac 02:00:00:00:00:77 is not what it has: net_fake "
                                    "keeps 02:00:00:00:00:00"});
}

TEST(Startup, WorkersKeepTheirNumbersByTheirCores) {
  config::Placement running, placement;
  running.workers = {{0, 5, 0, {}}, {1, 3, 0, {}}};
  placement.workers = {{0, 3, 0, {}}, {1, 5, 0, {}}};
  keep_worker_ids(placement, running);
  EXPECT_EQ(placement.workers[0].cpu, 5u);
  EXPECT_EQ(placement.workers[1].cpu, 3u);
}

TEST(IdleShortfalls, ALineForEachWorkerThatCannotWait) {
  std::vector<WorkerStatus> workers(3);
  workers[1].cpu = 7;
  workers[1].idle = IdleMode::kAdaptive;
  workers[1].no_wakeup = {"lan0: it has none", "wan0: it has none"};
  const auto lines = idle_shortfalls(workers);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(
      lines[0],
      "idle: the worker on cpu 7 was asked for adaptive and sleeps for idle_sleep_us where it "
      "would wait: lan0: it has none; wan0: it has none");
}

}  // namespace
}  // namespace hecto::router::test
