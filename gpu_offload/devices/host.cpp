#include "gpu_offload/devices/host.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "gpu_offload/kernels.hpp"
#include "gpu_offload/spsc_ring.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr unsigned kIdleTurns = 1000;  // before the thread sleeps

}  // namespace

// submit() ─► jobs_ ─► thread: run_on_cpu ─► done_ ─► poll()
class HostDevice::Queue final : public JobQueue {
 public:
  Queue(HostDevice& device, unsigned batches)
      : device_(device),
        capacity_(size_t{batches} * kMostJobs),
        jobs_(capacity_),
        done_(capacity_) {
    device_.queues_.push_back(this);
    if (device_.threads_) thread_ = std::thread([this] { run(); });
  }
  ~Queue() override {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
    std::erase(device_.queues_, this);
  }

  Status submit(std::span<const Job> jobs) noexcept override {
    if (in_flight_ + jobs.size() > capacity_) return Status::kBusy;
    in_flight_ += jobs.size();
    for (const Job& job : jobs) {
      if (device_.threads_) {
        jobs_.push(job);
      } else {
        done_.push({job.id, job.count, run_on_cpu(job)});
      }
    }
    return Status::kOk;
  }
  unsigned poll(std::span<Completion> completions) noexcept override {
    unsigned n = 0;
    while (n < completions.size() && done_.pop(completions[n])) ++n;
    in_flight_ -= n;
    return n;
  }

  // By control, while no one submits or polls.
  void drain() noexcept {
    while (in_flight_ != 0) {
      Completion completion;
      if (done_.pop(completion)) {
        --in_flight_;
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  void run() noexcept {
    unsigned idle = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      if (const Job* job = jobs_.front()) {
        done_.push({job->id, job->count, run_on_cpu(*job)});
        jobs_.pop();
        idle = 0;
      } else if (++idle < kIdleTurns) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

  HostDevice& device_;
  size_t capacity_;
  SpscRing<Job> jobs_;
  SpscRing<Completion> done_;
  size_t in_flight_ = 0;  // jobs; the submitter's
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

HostDevice::~HostDevice() = default;

std::unique_ptr<JobQueue> HostDevice::make_queue(unsigned batches) {
  return std::make_unique<Queue>(*this, batches);
}

Status HostDevice::restart() noexcept {
  for (Queue* queue : queues_) queue->drain();
  arenas_.clear();
  return Status::kOk;
}

uint32_t* HostDevice::create_arena(size_t words) noexcept {
  return arenas_.create(words, socket_);
}

Status HostDevice::start_update(uint32_t* arena, const UpdateView& update) noexcept {
  CpuArenas::apply(arena, update);
  return Status::kOk;
}

}  // namespace hecto::gpu_offload
