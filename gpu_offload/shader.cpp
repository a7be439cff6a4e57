#include "gpu_offload/shader.hpp"

#include <algorithm>
#include <chrono>

namespace hecto::gpu_offload {
namespace {

constexpr unsigned kIdleTurns = 1000;  // before the thread sleeps, if it may

uint64_t clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

// The worker's end of a ring.
class Shader::Port final : public JobQueue {
 public:
  Port(Shader& shader, std::shared_ptr<Ring> ring) : shader_(shader), ring_(std::move(ring)) {}
  ~Port() override {
    ring_->closed.store(true);
    shader_.changed_.store(true);
  }
  Status submit(std::span<const Job> jobs) noexcept override {
    if (ring_->in.room() < jobs.size()) return Status::kBusy;
    for (const Job& job : jobs) ring_->in.push(job);
    return Status::kOk;
  }
  unsigned poll(std::span<Completion> completions) noexcept override {
    unsigned n = 0;
    while (n < completions.size() && ring_->out.pop(completions[n])) ++n;
    return n;
  }

 private:
  Shader& shader_;
  std::shared_ptr<Ring> ring_;
};

Shader::Shader(const ShaderOptions& options, std::unique_ptr<JobQueue> queue, Health& health)
    : options_(options), health_(health), queue_(std::move(queue)) {
  options_.batch_jobs = std::clamp(options.batch_jobs, 1u, kMostJobs);
  flights_.resize((options_.in_flight + kBatches) * kMostJobs);
  for (size_t i = 0; i < flights_.size(); ++i) free_flights_.push_back(static_cast<uint16_t>(i));
}

std::unique_ptr<JobQueue> Shader::make_queue(unsigned jobs) {
  auto ring = std::make_shared<Ring>(jobs);
  add(ring);
  return std::make_unique<Port>(*this, std::move(ring));
}

void Shader::add_rings(void* jobs_memory, void* completions_memory, unsigned jobs) {
  add(std::make_shared<Ring>(jobs_memory, completions_memory, jobs));
}

void Shader::remove_rings(const void* jobs_memory) noexcept {
  for (const auto& ring : all_rings_)
    if (ring->memory == jobs_memory) ring->closed.store(true);
  take_changes();
}

void Shader::add(std::shared_ptr<Ring> ring) {
  std::lock_guard lock(mutex_);
  all_rings_.push_back(std::move(ring));
  changed_.store(true);
}

void Shader::start() {
  stop_.store(false);
  thread_ = std::thread([this] { run(); });
}

void Shader::stop() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void Shader::run() noexcept {
  unsigned idle = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (turn(clock_ns())) {
      idle = 0;
    } else if (options_.idle_sleep_us == 0 || ++idle < kIdleTurns) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(options_.idle_sleep_us));
    }
  }
  let_go();
}

bool Shader::turn(uint64_t now_ns) noexcept {
  if (changed_.load(std::memory_order_relaxed)) take_changes();
  if (!health_.ready()) {
    if (holds_.load(std::memory_order_relaxed)) let_go();
    return false;
  }
  if (!holds_.load(std::memory_order_relaxed) && !resume()) return false;
  bool worked = collect();
  worked |= gather(now_ns);
  for (Batch& batch : batches_) {
    if (batch.count == 0) continue;
    if (is_full(batch) || at_device_ == 0 || now_ns - batch.opened_ns >= options_.close_ns)
      worked |= send(batch);
  }
  return worked;
}

// Rings that came, and those whose stages have gone. The only lock, once a configuration.
void Shader::take_changes() noexcept {
  changed_.store(false);
  std::lock_guard lock(mutex_);
  std::erase_if(all_rings_, [](const auto& ring) { return ring->closed.load(); });
  for (Flight& flight : flights_) {
    if (flight.ring != nullptr && flight.ring->closed.load()) flight.ring = nullptr;
  }
  rings_ = all_rings_;
}

// As Stage::resume().
bool Shader::resume() noexcept {
  epoch_ = health_.epoch();
  holds_.store(true);
  if (health_.ready()) return true;
  holds_.store(false);
  return false;
}

void Shader::let_go() noexcept {
  for (Batch& batch : batches_) batch.count = 0;
  free_flights_.clear();
  for (size_t i = 0; i < flights_.size(); ++i) free_flights_.push_back(static_cast<uint16_t>(i));
  ++serial_;
  at_device_ = 0;
  holds_.store(false);
}

bool Shader::collect() noexcept {
  Completion completions[32];
  const unsigned n = queue_->poll(completions);
  for (unsigned i = 0; i < n; ++i) {
    const auto index = static_cast<uint16_t>(completions[i].id % kIndices);
    if (completions[i].id / kIndices != serial_) continue;  // of an earlier start
    Flight& flight = flights_[index];
    if (flight.ring != nullptr)
      flight.ring->out.push({flight.id, completions[i].count, completions[i].ok});
    flight.ring = nullptr;
    free_flights_.push_back(index);
    --at_device_;
  }
  return n != 0;
}

// As much from each worker as there is room for.
bool Shader::gather(uint64_t now_ns) noexcept {
  bool worked = false;
  for (const auto& ring : rings_) {
    for (unsigned n = 0; n < options_.batch_jobs; ++n) {
      const Job* job = ring->in.front();
      if (job == nullptr) break;
      if (job->epoch != epoch_ && !options_.any_epoch) {
        counters_.dropped.add();
      } else if (!add(*ring, *job, now_ns)) {
        break;
      }
      ring->in.pop();
      worked = true;
    }
  }
  return worked;
}

// Into the batch of its kind and arena, or one that is free.
bool Shader::add(Ring& ring, const Job& job, uint64_t now_ns) noexcept {
  Batch* batch = nullptr;
  for (Batch& one : batches_) {
    if (one.count == 0) {
      if (batch == nullptr) batch = &one;
    } else if (one.jobs[0].kind == job.kind && one.jobs[0].arena == job.arena && !is_full(one)) {
      batch = &one;
      break;
    }
  }
  if (batch == nullptr || free_flights_.empty()) return false;
  const uint16_t index = free_flights_.back();
  free_flights_.pop_back();
  flights_[index] = {&ring, job.id};
  if (batch->count == 0) {
    batch->opened_ns = now_ns;
    batch->items = 0;
  }
  Job& mine = batch->jobs[batch->count++];
  mine = job;
  mine.id = serial_ * kIndices + index;
  batch->items += job.count;
  return true;
}

bool Shader::is_full(const Batch& batch) const noexcept {
  return batch.count == options_.batch_jobs || batch.items >= options_.batch_items;
}

bool Shader::send(Batch& batch) noexcept {
  const Status status = queue_->submit({batch.jobs.data(), batch.count});
  if (status == Status::kBusy) return false;
  if (status == Status::kOk) {
    counters_.jobs.add(batch.count);
    counters_.batches.add();
    at_device_ += batch.count;
  } else {
    health_.retire(status == Status::kNoMemory ? Cause::kNoMemory : Cause::kBroken);
  }
  batch.count = 0;
  return true;
}

}  // namespace hecto::gpu_offload
