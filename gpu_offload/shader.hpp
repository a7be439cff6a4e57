// The shader: one thread for a device, which merges the jobs of several workers into batches.
//
//   worker's stage ─ submit ─► ring ─┐                     ┌─► JobQueue of the device
//   worker's stage ─ submit ─► ring ─┴► batches by arena ──┘   several batches in flight
//   worker's stage ◄─ poll ── ring ◄──────── completions ◄─────┘
//
// A batch goes when it is full, when its first job has waited long enough, or at once when the
// device has nothing to do. Rings are bounded; a full one is Status::kBusy. A worker does not
// depend on the shader's life: its stage's deadlines hold anyhow.
//
// The queue of a stage may outlive the shader's thread, but not the shader. Jobs for an earlier
// start of the device (Job::epoch) are dropped.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gpu_offload/count.hpp"
#include "gpu_offload/device.hpp"
#include "gpu_offload/health.hpp"
#include "gpu_offload/spsc_ring.hpp"

namespace hecto::gpu_offload {

struct ShaderOptions {
  uint32_t batch_items = 16384;  // a batch is full with so many
  unsigned batch_jobs = kMostJobs;
  uint64_t close_ns = 10'000;  // or with a job that old
  unsigned in_flight = 8;      // batches
  uint32_t idle_sleep_us = 0;  // 0: yields when there is nothing to do
  bool any_epoch = false;      // jobs are of this start, whatever they say
};

struct ShaderCounters {
  Count jobs;
  Count batches;
  Count dropped;  // jobs for an earlier start of the device
};

class Shader {
 public:
  Shader(const ShaderOptions& options, Device& device, Health& health)
      : Shader(options, device.make_queue(options.in_flight), health) {}
  // `queue` takes options.in_flight batches.
  Shader(const ShaderOptions& options, std::unique_ptr<JobQueue> queue, Health& health);
  ~Shader() { stop(); }
  Shader(const Shader&) = delete;
  Shader& operator=(const Shader&) = delete;

  // Any thread, at any time: a stage's way in, for at most `jobs` at a time.
  std::unique_ptr<JobQueue> make_queue(unsigned jobs);
  // The same by rings that the other end has in memory of its own: room for `jobs` in each.
  void add_rings(void* jobs_memory, void* completions_memory, unsigned jobs);
  // By the shader's own thread: the memory is not looked at any more.
  void remove_rings(const void* jobs_memory) noexcept;
  void start();
  void stop();
  // What the thread does over and over; without a thread, by whoever has it. Whether there was
  // work.
  bool turn(uint64_t now_ns) noexcept;

  // As Stage::holds().
  const std::atomic<bool>& holds() const noexcept { return holds_; }
  const ShaderCounters& counters() const noexcept { return counters_; }

 private:
  struct Ring {
    explicit Ring(unsigned jobs) : in(jobs), out(jobs) {}
    Ring(void* jobs_memory, void* completions_memory, unsigned jobs)
        : in(jobs_memory, jobs), out(completions_memory, jobs), memory(jobs_memory) {}
    SpscRing<Job> in;
    SpscRing<Completion> out;
    const void* memory = nullptr;  // where the jobs lie, if not in the ring's own
    std::atomic<bool> closed{false};
  };
  class Port;
  struct Flight {  // a job at the device or in a batch
    Ring* ring = nullptr;
    uint64_t id = 0;  // the stage's
  };
  struct Batch {
    unsigned count = 0;
    uint32_t items = 0;
    uint64_t opened_ns = 0;
    std::array<Job, kMostJobs> jobs;
  };
  static constexpr unsigned kBatches = 8;  // that are being filled: kinds × copies of tables
  static constexpr uint64_t kIndices = 1u << 16;

  void run() noexcept;
  void add(std::shared_ptr<Ring> ring);
  void take_changes() noexcept;
  bool resume() noexcept;
  void let_go() noexcept;
  bool collect() noexcept;
  bool gather(uint64_t now_ns) noexcept;
  bool add(Ring& ring, const Job& job, uint64_t now_ns) noexcept;
  bool is_full(const Batch& batch) const noexcept;
  bool send(Batch& batch) noexcept;

  ShaderOptions options_;
  Health& health_;
  std::unique_ptr<JobQueue> queue_;
  std::mutex mutex_;  // of all_rings_
  std::vector<std::shared_ptr<Ring>> all_rings_;
  std::atomic<bool> changed_{false};          // all_rings_, since take_changes()
  std::vector<std::shared_ptr<Ring>> rings_;  // the thread's own, as all below
  std::vector<Flight> flights_;
  std::vector<uint16_t> free_flights_;
  size_t at_device_ = 0;  // jobs
  uint64_t serial_ = 0;   // of the device's starts
  std::array<Batch, kBatches> batches_;
  uint8_t epoch_ = 0;
  std::atomic<bool> holds_{false};
  ShaderCounters counters_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace hecto::gpu_offload
