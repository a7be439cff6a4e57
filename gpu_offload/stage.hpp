// The shading stage of one worker for one kind of work: what is gathered, what is in flight, and
// the order in which it comes back.
//
//   room() ─► gather into the slot ─► add() … ─► closed (full, old, another table or side)
//                                                   │ device                      │ CPU
//                                                   ▼                             ▼
//                                     submit, answer or deadline              its turn
//                                                   └──────────► FIFO ◄───────────┘
//                                                                 ▼
//                           poll() ─► deliver(slot, outcome), strictly in the order of the slots
//
// Whatever becomes of a job, its slot is delivered once and in its turn: with the device's answers,
// or to be done on the CPU (the worker's callback), from the same input. A slot whose job is
// late stays away (quarantine) until the device has answered it or was restarted.
//
// While anything is in flight, work for the CPU goes through a slot too (Side::kCpu): it is done
// when all before it is. That is how a switch drains without a wait.
//
// One thread. The calls of the data path are noexcept, allocate nothing and do not wait. Time is
// the caller's clock in nanoseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu_offload/count.hpp"
#include "gpu_offload/device.hpp"
#include "gpu_offload/device_table.hpp"
#include "gpu_offload/health.hpp"
#include "lookup/fib.hpp"
#include "lookup/memory_block.hpp"

namespace hecto::gpu_offload {

enum class Side : uint8_t { kCpu, kDevice };
enum class Outcome : uint8_t {
  kShaded,  // slot.output holds the answers, which were sound when they came
  kRedo,    // to be done on the CPU
};

struct StageOptions {
  JobKind kind = JobKind::kLookup4;
  unsigned slots = 8;                // in the FIFO at most
  unsigned spares = 4;               // further ones, for those in quarantine
  uint32_t items = 4096;             // a slot holds
  uint32_t payload_bytes = 0;        // a slot holds; look-ups have none
  uint64_t close_ns = 20'000;        // a slot waits for more work no longer than that
  uint64_t deadline_ns = 2'000'000;  // an answer not there by then is no longer waited for
  unsigned late_limit = 3;           // so many in a row retire the device
  // Of a look-up each answer is below that.
  uint32_t groups = lookup::kMaxGroupId + 1;
  int socket = 0;
};

// The worker's side may keep what belongs to a slot (packets) in an array, by index.
struct Slot {
  unsigned index = 0;  // below slots + spares
  Side side = Side::kCpu;
  uint16_t table = 0;
  uint32_t count = 0;         // items gathered
  uint32_t payload_used = 0;  // bytes gathered
  char* input = nullptr;      // as job.hpp says
  char* output = nullptr;
  char* payload = nullptr;
  char* result = nullptr;
  uint64_t opened_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t answered_ns = 0;

  void add(uint32_t items, uint32_t payload_bytes = 0) noexcept {
    count += items;
    payload_used += payload_bytes;
  }
};

// Jobs, if not said otherwise. Read by any thread.
struct StageCounters {
  Count submitted;
  Count submitted_items;
  Count completed;      // with good answers
  Count late;           // done again on the CPU: not answered in time,
  Count failed;         // answered with an error, or not taken,
  Count wrong;          // answered with what cannot be,
  Count abandoned;      // in flight when the device was retired, or without a table there
  Count in_turn;        // slots of the CPU's side
  Count answered_late;  // out of quarantine
};

// The device's tables that look-ups of this kind read: of table 0 and of the others (VRFs), which
// are the same but for IPv4's DIR-24-8. ESP: security associations, both the same.
struct StageTables {
  DeviceTable* main = nullptr;
  DeviceTable* others = nullptr;
};

class Stage {
 public:
  // Control. Takes its memory from the device's or, where any will do, from `memory`, and pins it.
  // Whether that worked is told by ok(); without it room() gives nothing. The queue is the stage's
  // alone.
  Stage(const StageOptions& options, Device& device, Health& health, StageTables tables,
        std::unique_ptr<JobQueue> queue, lookup::Memory& memory);
  // Nothing may be in flight: the stage is idle(), or the device has been restarted since it let
  // go.
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  bool ok() const { return ok_; }

  // A slot with room for that much more work, open for gathering; nullptr when all are in use.
  // Side::kDevice becomes the CPU's while the device is not ready.
  Slot* room(Side side, uint16_t table, uint32_t items, uint32_t payload_bytes,
             uint64_t now_ns) noexcept;
  // Sends the open slot on its way, if there is one.
  void close(uint64_t now_ns) noexcept;
  // Takes answers, finds what is late, and delivers what has come to its turn:
  // deliver(Slot&, Outcome) noexcept, which must not call the stage. The number of slots delivered.
  template <typename Deliver>
  unsigned poll(uint64_t now_ns, Deliver&& deliver) noexcept {
    advance(now_ns);
    unsigned delivered = 0;
    Outcome outcome;
    while (Slot* slot = take_head(now_ns, outcome)) {
      deliver(*slot, outcome);
      free_head();
      ++delivered;
    }
    return delivered;
  }
  // Nothing gathered, in flight or waiting for its turn.
  bool empty() const noexcept { return fifo_count_ == 0; }
  // Nor in quarantine.
  bool idle() const noexcept { return empty() && in_quarantine_ == 0; }
  bool ready() const noexcept { return ok_ && health_.ready(); }
  // Whether poll() would do anything: also to take up a device, or to let go of one.
  bool needs_poll() const noexcept {
    return !idle() || holds_.load(std::memory_order_relaxed) != ready();
  }

  // Whether the stage holds anything of the device: control restarts it when no user does.
  const std::atomic<bool>& holds() const noexcept { return holds_; }
  const StageCounters& counters() const noexcept { return counters_; }
  const StageOptions& options() const noexcept { return options_; }

 private:
  enum class State : uint8_t {
    kFree,
    kOpen,
    kWaiting,  // for the queue to take it
    kFlying,
    kShaded,
    kRedo,
    kQuarantine,  // delivered, and the device still has it
  };
  struct Work {  // the stage's own half of a slot
    State state = State::kFree;
    bool lent = false;    // the device may read and write its buffers and read the copy
    bool in_use = false;  // its answers may come from the copy, and are not delivered yet
    uint64_t id = 0;      // of the job: serial and slot
    uint64_t deadline_ns = 0;
    DeviceTable* table = nullptr;  // where `copy` was acquired
    DeviceTable::Copy copy;
  };
  static constexpr unsigned kMostSlots = 256;
  // A copy that a job in quarantine may be reading cannot be brought up to date: after so many
  // deadlines without an answer the device is retired.
  static constexpr uint64_t kQuarantineDeadlines = 16;

  bool fits(const Slot& slot, uint32_t items, uint32_t payload_bytes) const noexcept;
  void advance(uint64_t now_ns) noexcept;
  void submit(Slot& slot, uint64_t now_ns) noexcept;
  void collect(uint64_t now_ns) noexcept;
  void answer(const Completion& completion, uint64_t now_ns) noexcept;
  bool answers_are_sound(const Slot& slot) const noexcept;
  void retire_if_stuck(uint64_t now_ns) noexcept;
  void abandon() noexcept;
  bool resume() noexcept;
  void redo(Work& work, Count& reason) noexcept;
  void end_loan(Work& work) noexcept;
  void redo_late(Work& work) noexcept;
  Slot* take_head(uint64_t now_ns, Outcome& outcome) noexcept;
  void free_head() noexcept;
  unsigned in_fifo(unsigned i) const noexcept { return fifo_[(fifo_first_ + i) % fifo_.size()]; }

  StageOptions options_;
  Device& device_;
  Health& health_;
  StageTables tables_;
  std::unique_ptr<JobQueue> queue_;
  lookup::MemoryBlock buffers_;
  bool ok_ = false;
  std::vector<Slot> slots_;
  std::vector<Work> work_;      // by slot
  std::vector<unsigned> fifo_;  // slots in their order, a ring
  unsigned fifo_first_ = 0;
  unsigned fifo_count_ = 0;
  Slot* open_ = nullptr;
  uint64_t serial_ = 0;
  uint8_t epoch_ = 0;
  unsigned late_in_a_row_ = 0;
  unsigned in_quarantine_ = 0;
  std::atomic<bool> holds_{false};
  StageCounters counters_;
};

}  // namespace hecto::gpu_offload
