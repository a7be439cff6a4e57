// Threads that submit, and a worker with Stage and Decision, on the host device and on scripted ones.
#include "bench/offload/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "bench/offload/worker.hpp"
#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/kernels.hpp"

namespace hecto::bench::test {
namespace {

using gpu_offload::HostDevice;
using gpu_offload::Mode;
using gpu_offload::Status;

OffloadTable hundred_routes() {
  OffloadTable table{.name = "small", .v4 = {}, .v6 = {}};
  for (int i = 1; i <= 100; ++i) {
    const std::string number = std::to_string(i);
    table.add(*lookup::IpPrefix::parse(number + ".0.0.0/8"), 64);
    table.add(*lookup::IpPrefix::parse("2001:" + number + "::/32"), 64);
  }
  return table;
}

TEST(SubmittingThreads, DoTheirBatchesAndAllAnswersAreChecked) {
  HostDevice device(false);
  ASSERT_EQ(device.restart(), Status::kOk);
  auto work = Workload::lookup4(hundred_routes(), 4096, Destinations::kUniform);
  ASSERT_TRUE(work) << work.error();
  EXPECT_EQ(work->name(), "uniform-ipv4");
  auto rows = measure_threads(device, *work, {.threads = {1, 3}, .batch = 64, .seconds = 0.01});
  ASSERT_TRUE(rows) << rows.error();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[1].threads, 3u);
  for (const ThreadsRow& row : *rows) {
    EXPECT_GT(row.items_per_s, 0);
    EXPECT_GT(row.submit_ns, 0);
  }
}

// Its last batch of look-ups is not done.
class ForgetfulDevice : public gpu_offload::Device {
 public:
  const std::string& name() const override { return host_.name(); }
  const std::string& description() const override { return host_.name(); }
  int socket() const override { return -1; }
  Status restart() noexcept override { return host_.restart(); }
  std::unique_ptr<gpu_offload::JobQueue> make_queue(unsigned /*batches*/) override {
    return std::make_unique<Queue>();
  }
  Status pin(void* /*start*/, size_t /*bytes*/) noexcept override { return Status::kOk; }
  void unpin(void* /*start*/) noexcept override {}
  uint32_t* create_arena(size_t words) noexcept override { return host_.create_arena(words); }
  void release_arena(uint32_t* arena) noexcept override { host_.release_arena(arena); }
  Status start_update(uint32_t* arena, const gpu_offload::UpdateView& update) noexcept override {
    return host_.start_update(arena, update);
  }
  Status update_status() noexcept override { return Status::kOk; }

 private:
  struct Queue : gpu_offload::JobQueue {
    Status submit(std::span<const gpu_offload::Job> jobs) noexcept override {
      if (jobs[0].id != 5) gpu_offload::run_on_cpu(jobs[0]);
      done = {jobs[0].id, jobs[0].count, true};
      return std::exchange(full, true) ? Status::kBusy : Status::kOk;
    }
    unsigned poll(std::span<gpu_offload::Completion> completions) noexcept override {
      if (!std::exchange(full, false)) return 0;
      completions[0] = done;
      return 1;
    }
    gpu_offload::Completion done{};
    bool full = false;
  };
  HostDevice host_{false};
};

TEST(SubmittingThreads, TellOfAnswersThatAreNotTheCpus) {
  ForgetfulDevice device;
  ASSERT_EQ(device.restart(), Status::kOk);
  auto work = Workload::lookup4(hundred_routes(), 4096);
  ASSERT_TRUE(work) << work.error();
  auto rows = measure_threads(device, *work, {.threads = {1}, .batch = 64, .seconds = 0.01});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error(), "ipv4, 1 threads: 64 answers are not the CPU's");
}

TEST(OffloadWorker, ComparesNeverAlwaysAndAuto) {
  OffloadTable table = hundred_routes();
  table.v4.clear();
  auto rows = measure_worker(std::make_unique<HostDevice>(false), table,
                             {.offered_pps = {1e5, 0}, .seconds = 0.02, .items = 256});
  ASSERT_TRUE(rows) << rows.error();
  ASSERT_EQ(rows->size(), 6u);
  for (const WorkerRow& row : *rows) {
    EXPECT_EQ(row.kind, "ipv6");
    EXPECT_GT(row.pps, 0);
    const double given = row.device_share + static_cast<double>(row.redone);
    EXPECT_TRUE(row.mode != Mode::kNever || given == 0);
    EXPECT_TRUE(row.mode != Mode::kAlways || given > 0);
  }
}

}  // namespace
}  // namespace hecto::bench::test
