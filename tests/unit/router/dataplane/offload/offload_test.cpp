// Which device a worker gets, and what its loop counts of one.
#include "router/dataplane/offload/offload.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "gpu_offload/devices/host.hpp"
#include "router/dataplane/worker.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

using gpu_offload::HostDevice;

// Workers by number on these sockets, and host devices on those (-1: of any).
class OffloadBed {
 public:
  OffloadBed(const std::vector<int>& workers, const std::vector<int>& devices,
             const config::OffloadConfig& config = {}) {
    pool();  // DPDK
    config::TablesConfig compact;
    compact.ipv4_engine = config::Ipv4Engine::kCompact;
    tables_ = std::make_unique<Tables>(compact, std::vector<int>{0}, 1,
                                       [](LogLevel, const std::string&) {});
    config::Placement placement;
    for (const int socket : workers) {
      config::WorkerPlacement worker;
      worker.id = static_cast<unsigned>(placement.workers.size());
      worker.socket = socket;
      placement.workers.push_back(worker);
    }
    Offload::Devices opened;
    for (const int socket : devices) opened.push_back(std::make_unique<HostDevice>(false, socket));
    auto offload = Offload::create(config, placement, *tables_, std::move(opened));
    EXPECT_TRUE(offload) << offload.error().message;
    offload_ = std::move(*offload);
  }
  const std::vector<unsigned>& workers_of(size_t device) const {
    return offload_->devices()[device].workers;
  }
  bool has_device(unsigned worker) { return offload_->worker(worker) != nullptr; }
  Offload& offload() { return *offload_; }
  Tables& tables() { return *tables_; }

 private:
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Offload> offload_;
};

using Workers = std::vector<unsigned>;

TEST(Offload, WorkersOfASocketShareItsDevicesEvenly) {
  OffloadBed bed({0, 0, 0, 0, 0}, {0, 0});
  EXPECT_EQ(bed.workers_of(0), (Workers{0, 2, 4}));
  EXPECT_EQ(bed.workers_of(1), (Workers{1, 3}));
}

TEST(Offload, ADeviceServesItsOwnSocketOnly) {
  OffloadBed bed({0, 1, 0, 2}, {1, 0});
  EXPECT_EQ(bed.workers_of(0), (Workers{1}));
  EXPECT_EQ(bed.workers_of(1), (Workers{0, 2}));
  EXPECT_FALSE(bed.has_device(3)) << "none on socket 2";
}

TEST(Offload, ADeviceOfNoSocketServesAll) {
  OffloadBed bed({0, 1, 1, 0}, {1, -1});
  EXPECT_EQ(bed.workers_of(0), (Workers{1, 2}));
  EXPECT_EQ(bed.workers_of(1), (Workers{0, 3}));
}

TEST(Offload, WhatNeverGoesThereIsNotMade) {
  config::OffloadConfig config;
  config.ipsec = config::OffloadMode::kNever;
  OffloadBed lookups({0}, {0}, config);
  EXPECT_EQ(lookups.offload().keys(), nullptr) << "no key is brought anywhere";
  EXPECT_EQ(lookups.offload().worker(0)->esp(), nullptr);
  EXPECT_TRUE(lookups.offload().worker(0)->has_lookups());
  config.lookup = config::OffloadMode::kNever;
  config.ipsec = config::OffloadMode::kAuto;
  OffloadBed esp({0}, {0}, config);
  EXPECT_NE(esp.offload().keys(), nullptr);
  EXPECT_NE(esp.offload().worker(0)->esp(), nullptr);
  EXPECT_FALSE(esp.offload().worker(0)->has_lookups());
  while (esp.offload().tick()) continue;
  EXPECT_EQ(esp.offload().devices()[0].control.phase(), gpu_offload::DeviceControl::Phase::kReady);
  config.ipsec = config::OffloadMode::kNever;
  config.devices = {"host"};
  std::string found;
  const auto none = Offload::create(config, config::Placement{}, esp.tables(), found);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  EXPECT_EQ(found, "none (offload.lookup and offload.ipsec: never)");
}

// A worker without ports: whatever it moves comes from its device.
class DevicesWorker {
 public:
  DevicesWorker() : bed_({0}, {0}) {
    snapshot_.generation = 1;
    snapshot_.workers.resize(1);
    snapshot_.workers[0].idle = IdleMode::kPoll;
    current_ = &snapshot_;
    while (bed_.offload().tick()) continue;
    Worker::Options options;
    options.tables = bed_.tables().views(0);
    options.qsbr = bed_.tables().qsbr().get();
    options.snapshot = &current_;
    options.offload = &offload();
    worker_ = std::make_unique<Worker>(options);
  }
  // Into a batch that is in flight, or waits to be.
  void send(unsigned count) {
    Lane4 lane;
    for (lane.count = 0; lane.count < count; ++lane.count) {
      lane.packets[lane.count] = packet(ipv4_frame());
      lane.ingress[lane.count] = {};
      lane.destinations[lane.count] = 0x0a000001;
    }
    EXPECT_TRUE(offload().of(lane).take(lane, gpu_offload::Side::kDevice, offload()));
  }
  // Until nothing is in flight and the loop has been round a few times more.
  const PipelineCounters& run() {
    std::thread thread([this] { worker_->run(); });
    const Counter& turns = worker_->counters().cycles.iterations;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while ((offload().held() > 0 || turns.get() < 10) && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    worker_->stop();
    thread.join();
    EXPECT_EQ(offload().held(), 0u);
    return worker_->counters();
  }

 private:
  WorkerOffload& offload() { return *bed_.offload().worker(0); }

  OffloadBed bed_;
  Snapshot snapshot_;
  std::atomic<const Snapshot*> current_{nullptr};
  std::unique_ptr<Worker> worker_;
};

TEST(Offload, ATurnThatDeliversTheDevicesAnswersIsBusy) {
  DevicesWorker test;
  test.send(40);
  const PipelineCounters& counters = test.run();
  EXPECT_GT(counters.cycles.busy.get(), 0u);
  EXPECT_EQ(counters.cycles.packets.get(), 0u) << "they were counted when they were received";
  EXPECT_EQ(counters.reasons.dropped[static_cast<size_t>(Reason::kNoLinux)].get(), 40u)
      << "without a route they are Linux's, and there is none";
  EXPECT_EQ(mbufs_in_use(), 0u);
}

TEST(Offload, ATurnWithoutAnswersIsIdle) {
  DevicesWorker test;
  const CycleCounters& cycles = test.run().cycles;
  EXPECT_EQ(cycles.busy.get(), 0u);
  EXPECT_GT(cycles.idle.get(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
