// A device that writes where it likes into the memory that it shares with the router: into what it only
// reads, and into answers that it has given already. No packet sees more of it than a wrong answer.
#include <gtest/gtest.h>

#include <functional>

#include "gpu_offload/devices/host.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

using gpu_offload::Completion;
using gpu_offload::HostDevice;
using gpu_offload::Job;
using gpu_offload::JobQueue;
using gpu_offload::Status;
using gpu_offload::UpdateView;

// The host's, which does the work; its answers come one a poll, the newest first.
class WritingDevice final : public gpu_offload::Device {
 public:
  // Over all jobs that it was given so far, before each answer.
  std::function<void(const Job&)> write;
  bool holds = false;  // its answers

  const std::string& name() const override { return host_.name(); }
  const std::string& description() const override { return host_.description(); }
  int socket() const override { return host_.socket(); }
  Status restart() noexcept override { return host_.restart(); }
  std::unique_ptr<JobQueue> make_queue(unsigned batches) override {
    return std::make_unique<Queue>(*this, host_.make_queue(batches));
  }
  Status pin(void* start, size_t bytes) noexcept override { return host_.pin(start, bytes); }
  void unpin(void* start) noexcept override { host_.unpin(start); }
  uint32_t* create_arena(size_t words) noexcept override { return host_.create_arena(words); }
  void release_arena(uint32_t* arena) noexcept override { host_.release_arena(arena); }
  Status start_update(uint32_t* arena, const UpdateView& update) noexcept override {
    return host_.start_update(arena, update);
  }
  Status update_status() noexcept override { return host_.update_status(); }

 private:
  struct Queue final : JobQueue {
    Queue(WritingDevice& device, std::unique_ptr<JobQueue> queue)
        : device_(device), queue_(std::move(queue)) {}
    Status submit(std::span<const Job> jobs) noexcept override {
      taken_.insert(taken_.end(), jobs.begin(), jobs.end());
      const Status status = queue_->submit(jobs);
      Completion completion;
      while (queue_->poll({&completion, 1}) == 1) answers_.push_back(completion);
      return status;
    }
    unsigned poll(std::span<Completion> completions) noexcept override {
      if (answers_.empty() || device_.holds) return 0;
      if (device_.write) std::ranges::for_each(taken_, device_.write);
      completions[0] = answers_.back();
      answers_.pop_back();
      return 1;
    }
    WritingDevice& device_;
    std::unique_ptr<JobQueue> queue_;
    std::vector<Job> taken_;
    std::vector<Completion> answers_;
  };
  HostDevice host_{false, -1};
};

Offload::Devices one(std::unique_ptr<gpu_offload::Device> device) {
  Offload::Devices devices;
  devices.push_back(std::move(device));
  return devices;
}

// ---- ESP ----

constexpr unsigned kTunnelled = 40;

std::vector<Frame> across_one(Gateway& gateway, const std::vector<rte_mbuf*>& packets, PortId in) {
  gateway.run(packets, in);
  gateway.settle();
  std::vector<Frame> frames;
  for (rte_mbuf* m : gateway.sent(PortId(in == 0 ? 1 : 0))) {
    frames.push_back(bytes_of(m));
    rte_pktmbuf_free(m);
  }
  return frames;
}
std::vector<rte_mbuf*> from_left_of_all_sizes() {
  std::vector<rte_mbuf*> packets;
  for (uint16_t i = 0; i < kTunnelled; ++i)
    packets.push_back(packet(ipv4_frame(from_left(static_cast<uint16_t>(20 + i * 31)))));
  return packets;
}

// What the slot says of its packets is zeros when the answers come: offsets, lengths, keys.
TEST(WritingDevice, EspsBytesComeFromWhereTheRouterPutThem) {
  auto device = std::make_unique<WritingDevice>();
  device->write = [](const Job& job) {
    std::memset(const_cast<void*>(job.input), 0, size_t{job.count} * input_bytes(job.kind));
  };
  Gateway left(1, 1500, one(std::move(device))), right(2);
  left.tunnel();
  right.tunnel();
  left.tick();
  const auto sealed = across_one(left, from_left_of_all_sizes(), 0);
  EXPECT_GT(left.device().esp()->sealing().path(0).stage().counters().completed.get(), 0u);
  std::vector<rte_mbuf*> wire;
  for (const Frame& frame : sealed) wire.push_back(carried(packet(frame)));
  const auto opened = across_one(right, wire, 1);
  EXPECT_TRUE(right.refused().empty()) << "all are authentic";
  EXPECT_EQ(opened.size(), kTunnelled);
  EXPECT_EQ(mbufs_in_use(), 0u);
}

// ---- Look-ups ----

constexpr uint16_t kGroups = 300;  // of the next-hop table
constexpr unsigned kLane = 50;     // packets

class LookupsByWritingDevice : public testing::Test {
 protected:
  LookupsByWritingDevice() {
    pool();  // DPDK
    config::TablesConfig tables;
    tables.groups = kGroups;
    tables.ipv4_engine = config::Ipv4Engine::kCompact;
    tables_ = std::make_unique<Tables>(tables, std::vector<int>{0}, 1,
                                       [](LogLevel, const std::string&) {});
    config::OffloadConfig config;
    config.lookup = config::OffloadMode::kAlways;
    config.ipsec = config::OffloadMode::kNever;
    config.batch = 256;
    config.deadline_us = 100'000'000;
    config::Placement placement;
    placement.workers.resize(1);
    auto device = std::make_unique<WritingDevice>();
    device_ = device.get();
    offload_ = std::move(*Offload::create(config, placement, *tables_, one(std::move(device))));
    while (offload_->tick()) continue;
    poll();
  }
  ~LookupsByWritingDevice() override {
    offload_.reset();
    EXPECT_EQ(mbufs_in_use(), 0u);
  }

  WorkerOffload& worker() { return *offload_->worker(0); }
  const gpu_offload::Stage& stage() { return worker().lookups()->v4.stage(); }
  void poll() {
    Lane4 lane;
    worker().of(lane).poll(lane, tables_->views(0).fib4, worker(), [&] {
      for (unsigned i = 0; i < lane.count; ++i) {
        groups_.push_back(lane.groups[i]);
        rte_pktmbuf_free(lane.packets[i]);
      }
    });
  }
  // One batch more at the device.
  void send() {
    Lane4 lane;
    for (lane.count = 0; lane.count < kLane; ++lane.count) {
      lane.packets[lane.count] = packet(ipv4_frame());
      lane.ingress[lane.count] = {};
      lane.destinations[lane.count] = 0x0a000001 + lane.count;
    }
    ASSERT_TRUE(worker().of(lane).take(lane, gpu_offload::Side::kDevice, worker()));
    const uint64_t before = stage().counters().submitted.get();
    while (stage().counters().submitted.get() == before) poll();
  }
  void expect_all_without_route(unsigned packets) {
    EXPECT_EQ(groups_, std::vector<lookup::GroupId>(packets, lookup::kNoRoute));
  }

  WritingDevice* device_ = nullptr;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Offload> offload_;
  std::vector<lookup::GroupId> groups_;  // of what was delivered
};

void write_groups(const Job& job, uint16_t group) {
  for (uint32_t i = 0; i < job.count; ++i)
    static_cast<uint16_t*>(job.output)[i] = i % 7 == 3 ? group : 0;
}

TEST_F(LookupsByWritingDevice, GroupsThatTheTableHasNotRetireIt) {
  device_->holds = true;
  device_->write = [](const Job& job) { write_groups(job, kGroups); };
  send();
  device_->holds = false;
  while (!worker().empty()) poll();
  EXPECT_EQ(stage().counters().wrong.get(), 1u);
  EXPECT_EQ(offload_->devices()[0].control.health().cause(), gpu_offload::Cause::kWrongAnswer);
  expect_all_without_route(kLane);
}

TEST_F(LookupsByWritingDevice, TheTablesLastGroupIsAnAnswer) {
  device_->holds = true;
  device_->write = [](const Job& job) { write_groups(job, kGroups - 1); };
  send();
  device_->holds = false;
  while (!worker().empty()) poll();
  EXPECT_EQ(stage().counters().completed.get(), 1u);
  EXPECT_EQ(std::ranges::count(groups_, lookup::GroupId(kGroups - 1)), 7);
}

// The second batch was answered, and looked at, while the first was still on its way.
TEST_F(LookupsByWritingDevice, GroupsThatChangeAfterTheAnswerAreLookedUpHere) {
  device_->holds = true;
  send();
  send();
  device_->holds = false;
  poll();
  ASSERT_EQ(stage().counters().completed.get(), 1u);
  ASSERT_TRUE(groups_.empty()) << "it waits for its turn";
  bool answered = false;
  device_->write = [&](const Job& job) {
    if (std::exchange(answered, true)) write_groups(job, kGroups + 1);
  };
  while (!worker().empty()) poll();
  EXPECT_EQ(stage().counters().completed.get(), 2u);
  expect_all_without_route(2 * kLane);
}

}  // namespace
}  // namespace hecto::router::test
