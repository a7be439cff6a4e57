#include "gpu_offload/stage.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::gpu_offload {
namespace {

constexpr size_t kAlignment = 256;  // of each buffer: whole lines and whole GPU transactions

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Of one slot's four buffers, one behind the other.
struct SlotBytes {
  explicit SlotBytes(const StageOptions& options)
      : input(aligned(size_t{options.items} * input_bytes(options.kind))),
        output(aligned(size_t{options.items} * output_bytes(options.kind))),
        payload(aligned(options.payload_bytes)) {}
  size_t all() const { return input + output + 2 * payload; }

  size_t input;
  size_t output;
  size_t payload;
};

// What output is filled with before a job goes, so that an answer never given shows.
constexpr int poison(JobKind kind) {
  return is_lookup(kind) ? 0xff : 0;  // no group id; EspVerdict::kPending
}
// The largest sound answer.
constexpr unsigned kLastVerdict = 3;

}  // namespace

Stage::Stage(const StageOptions& options, Device& device, Health& health, StageTables tables,
             std::unique_ptr<JobQueue> queue, lookup::Memory& memory)
    : options_(options),
      device_(device),
      health_(health),
      tables_(tables),
      queue_(std::move(queue)) {
  const unsigned total = std::min(options_.slots + options_.spares, kMostSlots);
  const SlotBytes bytes(options_);
  lookup::Memory* const its = device_.memory();
  buffers_ =
      lookup::MemoryBlock(its != nullptr ? *its : memory, total * bytes.all(), options_.socket);
  char* start = buffers_.as<char>();
  if (start == nullptr || queue_ == nullptr) return;
  if (device_.pin(start, buffers_.bytes()) != Status::kOk) return;
  slots_.resize(total);
  work_.resize(total);
  fifo_.resize(std::min(options_.slots, total));
  for (unsigned i = 0; i < total; ++i) {
    Slot& slot = slots_[i];
    slot.index = i;
    slot.input = start + i * bytes.all();
    slot.output = slot.input + bytes.input;
    slot.payload = slot.output + bytes.output;
    slot.result = slot.payload + bytes.payload;
  }
  ok_ = true;
}

Stage::~Stage() {
  if (ok_) device_.unpin(buffers_.as<char>());
}

bool Stage::fits(const Slot& slot, uint32_t items, uint32_t payload_bytes) const noexcept {
  return slot.count + items <= options_.items &&
         slot.payload_used + payload_bytes <= options_.payload_bytes;
}

Slot* Stage::room(Side side, uint16_t table, uint32_t items, uint32_t payload_bytes,
                  uint64_t now_ns) noexcept {
  if (!holds_.load(std::memory_order_relaxed)) side = Side::kCpu;
  if (open_ != nullptr) {
    if (open_->side == side && open_->table == table && fits(*open_, items, payload_bytes))
      return open_;
    close(now_ns);
  }
  if (fifo_count_ == fifo_.size() || !fits(Slot{}, items, payload_bytes)) return nullptr;
  for (unsigned i = 0; i < slots_.size(); ++i) {
    if (work_[i].state != State::kFree) continue;
    work_[i].state = State::kOpen;
    open_ = &slots_[i];
    open_->side = side;
    open_->table = table;
    open_->count = open_->payload_used = 0;
    open_->opened_ns = now_ns;
    open_->submitted_ns = open_->answered_ns = 0;
    fifo_[(fifo_first_ + fifo_count_++) % fifo_.size()] = i;
    return open_;
  }
  return nullptr;
}

void Stage::close(uint64_t now_ns) noexcept {
  if (open_ == nullptr) return;
  Slot& slot = *open_;
  open_ = nullptr;
  if (slot.side == Side::kDevice && slot.count != 0) {
    submit(slot, now_ns);
  } else {
    redo(work_[slot.index], counters_.in_turn);
  }
}

void Stage::submit(Slot& slot, uint64_t now_ns) noexcept {
  Work& work = work_[slot.index];
  if (work.state == State::kOpen) {
    slot.submitted_ns = now_ns;
    work.deadline_ns = now_ns + options_.deadline_ns;
    work.table = slot.table == 0 ? tables_.main : tables_.others;
    work.copy = work.table->acquire();
    if (work.copy.arena == nullptr) {
      redo(work, counters_.abandoned);
      return;
    }
    work.lent = work.in_use = true;
    std::memset(slot.output, poison(options_.kind),
                size_t{slot.count} * output_bytes(options_.kind));
  }
  const uint32_t info = is_lookup(options_.kind) ? work.copy.magic : work.copy.words;
  work.id = ++serial_ * kMostSlots + slot.index;
  const Job job{options_.kind,   epoch_,     slot.table,  slot.count,   slot.payload_used, info,
                work.copy.arena, slot.input, slot.output, slot.payload, slot.result,       work.id};
  const Status status = queue_->submit({&job, 1});
  work.state = status == Status::kOk ? State::kFlying : State::kWaiting;
  if (status == Status::kOk) {
    counters_.submitted.add();
    counters_.submitted_items.add(slot.count);
  } else if (status != Status::kBusy) {
    health_.retire(status == Status::kNoMemory ? Cause::kNoMemory : Cause::kBroken);
    redo(work, counters_.failed);
  }
}

void Stage::redo(Work& work, Count& reason) noexcept {
  if (work.state == State::kWaiting) end_loan(work);  // it was never taken
  reason.add();
  work.state = State::kRedo;
}

// The device has let go of buffers and copy.
void Stage::end_loan(Work& work) noexcept {
  if (work.lent) work.table->release_arena(work.copy);
  work.lent = false;
}

void Stage::advance(uint64_t now_ns) noexcept {
  if (!ok_) return;
  const bool holds = holds_.load(std::memory_order_relaxed) || resume();
  if (open_ != nullptr &&
      (now_ns - open_->opened_ns >= options_.close_ns || open_->count == options_.items ||
       (open_->side == Side::kCpu && in_fifo(0) == open_->index))) {
    close(now_ns);
  }
  if (!holds) return;
  collect(now_ns);
  if (in_quarantine_ != 0) retire_if_stuck(now_ns);
  if (!health_.ready()) {
    abandon();
    return;
  }
  for (unsigned i = 0; i < fifo_count_; ++i) {
    const unsigned index = in_fifo(i);
    if (work_[index].state != State::kWaiting) continue;
    submit(slots_[index], now_ns);
    if (work_[index].state == State::kWaiting) break;
  }
}

void Stage::collect(uint64_t now_ns) noexcept {
  Completion completions[16];
  for (;;) {
    const unsigned n = queue_->poll(completions);
    for (unsigned i = 0; i < n; ++i) answer(completions[i], now_ns);
    if (n < std::size(completions)) return;
  }
}

void Stage::answer(const Completion& completion, uint64_t now_ns) noexcept {
  const auto index = static_cast<unsigned>(completion.id % kMostSlots);
  if (index >= work_.size() || work_[index].id != completion.id) return;
  Work& work = work_[index];
  Slot& slot = slots_[index];
  end_loan(work);
  if (work.state == State::kQuarantine) {
    work.state = State::kFree;
    --in_quarantine_;
    counters_.answered_late.add();
  }
  if (work.state != State::kFlying) return;
  slot.answered_ns = now_ns;
  if (!completion.ok) {
    health_.retire(Cause::kBroken);
    redo(work, counters_.failed);
  } else if (completion.count != slot.count || !answers_are_sound(slot)) {
    health_.retire(Cause::kWrongAnswer);
    redo(work, counters_.wrong);
  } else {
    late_in_a_row_ = 0;
    counters_.completed.add();
    work.state = State::kShaded;
  }
}

// No answer is missing (poison), none is beyond what a group id or a verdict can be. Who uses them as an
// index looks again at its own copy: they lie where the device can write.
bool Stage::answers_are_sound(const Slot& slot) const noexcept {
  if (is_lookup(options_.kind)) {
    auto* groups = reinterpret_cast<const uint16_t*>(slot.output);
    uint16_t largest = 0;
    for (uint32_t i = 0; i < slot.count; ++i) largest = std::max(largest, groups[i]);
    return largest < options_.groups;
  }
  auto* verdicts = reinterpret_cast<const uint8_t*>(slot.output);
  unsigned unsound = 0;
  for (uint32_t i = 0; i < slot.count; ++i) unsound += verdicts[i] - 1u >= kLastVerdict;
  return unsound == 0;
}

void Stage::retire_if_stuck(uint64_t now_ns) noexcept {
  for (const Work& work : work_) {
    if (work.state == State::kQuarantine &&
        now_ns > work.deadline_ns + kQuarantineDeadlines * options_.deadline_ns)
      health_.retire(Cause::kLate);
  }
}

// The device is retired: it answers nothing more that counts. The stage lets go of it as soon as no
// slot in the FIFO has been there.
void Stage::abandon() noexcept {
  bool holds = false;
  for (Work& work : work_) {
    if (work.state == State::kFlying || work.state == State::kWaiting)
      redo(work, counters_.abandoned);
    holds |= work.in_use;
  }
  if (open_ != nullptr) open_->side = Side::kCpu;
  if (!holds) holds_.store(false);
}

// The device is ready: if the stage had let go before, it has been restarted since, its tables too,
// and what was lent is nobody's. Says that it holds, then looks again: control looks the other way
// round.
bool Stage::resume() noexcept {
  if (!health_.ready()) return false;
  for (Work& work : work_) {
    work.lent = false;
    if (work.state == State::kQuarantine) work.state = State::kFree;
  }
  in_quarantine_ = 0;
  late_in_a_row_ = 0;
  epoch_ = health_.epoch();
  holds_.store(true);
  if (health_.ready()) return true;
  holds_.store(false);
  return false;
}

// The slot whose turn it is, if it can be delivered.
Slot* Stage::take_head(uint64_t now_ns, Outcome& outcome) noexcept {
  if (fifo_count_ == 0) return nullptr;
  Slot& slot = slots_[in_fifo(0)];
  Work& work = work_[slot.index];
  switch (work.state) {
    case State::kShaded:
      outcome = Outcome::kShaded;
      return &slot;
    case State::kFlying:
    case State::kWaiting:
      if (now_ns < work.deadline_ns) return nullptr;
      redo_late(work);
      [[fallthrough]];
    case State::kRedo:
      outcome = Outcome::kRedo;
      return &slot;
    default:
      return nullptr;
  }
}

void Stage::redo_late(Work& work) noexcept {
  redo(work, counters_.late);
  if (++late_in_a_row_ >= options_.late_limit || in_quarantine_ >= options_.spares)
    health_.retire(Cause::kLate);
}

void Stage::free_head() noexcept {
  Work& work = work_[in_fifo(0)];
  if (work.in_use) work.table->release_answers(work.copy);
  work.in_use = false;
  work.state = work.lent ? State::kQuarantine : State::kFree;
  in_quarantine_ += work.lent;
  fifo_first_ = (fifo_first_ + 1) % static_cast<unsigned>(fifo_.size());
  --fifo_count_;
}

}  // namespace hecto::gpu_offload
