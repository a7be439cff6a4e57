// A device whose behavior a test writes down: what each job costs and how it is answered, on a
// clock that the test moves. Jobs run one after the other, as on a device that is busy; the work
// itself is done right (run_on_cpu), at the moment of the answer. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "gpu_offload/device.hpp"
#include "gpu_offload/devices/cpu_arenas.hpp"

namespace hecto::gpu_offload {

enum class Answer : uint8_t {
  kRight,
  kGarbage,   // answers that cannot be
  kNothing,   // says it has done it, and wrote nothing
  kShort,     // says it has done fewer
  kError,     // completes with an error
  kNever,     // until restart()
  kBusy,      // submit() does not take it
  kNoMemory,  // submit() fails so
  kBroken,    // submit() fails so
};

struct Script {
  Answer answer = Answer::kRight;
  uint64_t batch_ns = 0;  // the device is busy with a batch so long,
  uint64_t item_ns = 0;   // and with each item
  uint64_t more_ns = 0;   // the answer takes so much longer, when the device is free again
};

class ScriptedDevice final : public Device {
 public:
  using Write = std::function<Script(const Job&)>;

  // `now_ns` is the test's clock, `script` is asked for each job; for a batch the first one's
  // counts.
  ScriptedDevice(const uint64_t& now_ns, Write script)
      : now_ns_(now_ns), script_(std::move(script)) {}

  const std::string& name() const override { return name_; }
  const std::string& description() const override { return name_; }
  int socket() const override { return -1; }

  Status restart() noexcept override;
  std::unique_ptr<JobQueue> make_queue(unsigned batches) override;
  Status pin(void* /*start*/, size_t /*bytes*/) noexcept override { return pin_status; }
  void unpin(void* /*start*/) noexcept override {}
  uint32_t* create_arena(size_t words) noexcept override;
  void release_arena(uint32_t* arena) noexcept override { used_words_ -= arenas_.release(arena); }
  Status start_update(uint32_t* arena, const UpdateView& update) noexcept override;
  Status update_status() noexcept override;

  // The test sets these at any time.
  Status pin_status = Status::kOk;
  Status restart_status = Status::kOk;
  Status update_result = Status::kOk;
  uint64_t update_ns = 0;
  size_t memory_words = SIZE_MAX;  // for copies of tables

  unsigned restarts() const { return restarts_; }
  unsigned batches() const { return batches_; }  // taken
  unsigned updates() const { return updates_; }  // begun

 private:
  class Queue;
  struct Pending {
    Queue* queue;
    std::vector<Job> jobs;
    Answer answer;
    uint64_t due_ns;
  };

  const uint64_t& now_ns_;
  Write script_;
  std::string name_ = "scripted";
  CpuArenas arenas_;
  std::deque<Pending> pending_;
  uint64_t free_at_ns_ = 0;
  uint64_t update_due_ns_ = 0;
  size_t used_words_ = 0;
  unsigned restarts_ = 0;
  unsigned batches_ = 0;
  unsigned updates_ = 0;
};

}  // namespace hecto::gpu_offload
