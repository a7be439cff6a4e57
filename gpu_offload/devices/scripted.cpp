#include "gpu_offload/devices/scripted.hpp"

#include <algorithm>
#include <cstring>

#include "gpu_offload/kernels.hpp"

namespace hecto::gpu_offload {

class ScriptedDevice::Queue final : public JobQueue {
 public:
  Queue(ScriptedDevice& device, unsigned batches) : device_(device), most_(batches) {}
  ~Queue() override {
    std::erase_if(device_.pending_, [this](const Pending& one) { return one.queue == this; });
  }

  Status submit(std::span<const Job> jobs) noexcept override {
    const Script script = device_.script_(jobs[0]);
    if (script.answer == Answer::kNoMemory) return Status::kNoMemory;
    if (script.answer == Answer::kBroken) return Status::kBroken;
    auto mine = std::count_if(device_.pending_.begin(), device_.pending_.end(),
                              [this](const Pending& one) { return one.queue == this; });
    if (script.answer == Answer::kBusy || mine >= most_) return Status::kBusy;
    uint64_t work_ns = script.batch_ns;
    for (const Job& job : jobs) work_ns += job.count * script.item_ns;
    device_.free_at_ns_ = std::max(device_.free_at_ns_, device_.now_ns_) + work_ns;
    device_.pending_.push_back(
        {this, {jobs.begin(), jobs.end()}, script.answer, device_.free_at_ns_ + script.more_ns});
    ++device_.batches_;
    return Status::kOk;
  }

  unsigned poll(std::span<Completion> completions) noexcept override {
    unsigned n = 0;
    std::erase_if(device_.pending_, [&](const Pending& one) {
      bool due = one.queue == this && one.answer != Answer::kNever &&
                 one.due_ns <= device_.now_ns_ && n + one.jobs.size() <= completions.size();
      if (!due) return false;
      for (const Job& job : one.jobs) completions[n++] = answer(job, one.answer);
      return true;
    });
    return n;
  }

 private:
  static Completion answer(const Job& job, Answer how) {
    if (how == Answer::kError) return {job.id, 0, false};
    if (how == Answer::kNothing) return {job.id, job.count, true};
    if (how == Answer::kShort) return {job.id, job.count - 1, true};
    bool known = run_on_cpu(job);
    if (how == Answer::kGarbage)
      std::memset(job.output, 0xee, size_t{job.count} * output_bytes(job.kind));
    return {job.id, job.count, known};
  }

  ScriptedDevice& device_;
  ptrdiff_t most_;
};

std::unique_ptr<JobQueue> ScriptedDevice::make_queue(unsigned batches) {
  return std::make_unique<Queue>(*this, batches);
}

Status ScriptedDevice::restart() noexcept {
  if (restart_status != Status::kOk) return restart_status;
  ++restarts_;
  pending_.clear();
  arenas_.clear();
  free_at_ns_ = 0;
  used_words_ = 0;
  return Status::kOk;
}

uint32_t* ScriptedDevice::create_arena(size_t words) noexcept {
  if (words > memory_words - used_words_) return nullptr;
  used_words_ += words;
  return arenas_.create(words, 0);
}

Status ScriptedDevice::start_update(uint32_t* arena, const UpdateView& update) noexcept {
  if (update_result != Status::kOk) return update_result;
  ++updates_;
  CpuArenas::apply(arena, update);
  update_due_ns_ = now_ns_ + update_ns;
  return Status::kOk;
}

Status ScriptedDevice::update_status() noexcept {
  return now_ns_ < update_due_ns_ ? Status::kBusy : Status::kOk;
}

}  // namespace hecto::gpu_offload
