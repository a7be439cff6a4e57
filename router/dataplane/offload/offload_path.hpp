// What every kind of work of a worker on its device has: a stage, a decision, and the account of
// what is in flight and of what it took.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu_offload/decision.hpp"
#include "gpu_offload/stage.hpp"
#include "router/dataplane/core/chunk.hpp"

namespace hecto::router {

class OffloadPath {
 public:
  bool empty() const noexcept { return stage_->empty(); }
  uint64_t opened() const noexcept { return opened_; }        // slots, since the start
  uint64_t delivered() const noexcept { return delivered_; }  // slots
  uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }  // packets
  gpu_offload::Stage& stage() noexcept { return *stage_; }
  const gpu_offload::Stage& stage() const noexcept { return *stage_; }
  gpu_offload::Explanation explain() const noexcept { return decision_.explain(); }

 protected:
  OffloadPath(std::unique_ptr<gpu_offload::Stage> stage,
              const gpu_offload::DecisionOptions& options)
      : stage_(std::move(stage)),
        decision_(options),
        items_(stage_->options().items),
        spent_ns_(slots()) {}

  unsigned slots() const noexcept { return stage_->options().slots + stage_->options().spares; }
  // Where what belongs to a slot's item stands in an array of slots() * items_.
  size_t place(const gpu_offload::Slot& slot, uint32_t item) const noexcept {
    return size_t{slot.index} * items_ + item;
  }
  // As the stage's.
  gpu_offload::Slot* room(gpu_offload::Side side, uint32_t items, uint32_t payload_bytes,
                          uint64_t now_ns) noexcept {
    gpu_offload::Slot* slot = stage_->room(side, 0, items, payload_bytes, now_ns);
    if (slot != nullptr && slot->count == 0) {
      ++opened_;
      spent_ns_[slot->index] = 0;
    }
    return slot;
  }
  void gathered(unsigned slot, uint64_t ns) noexcept {
    spent_ns_[slot] += ns;
    worked_ = true;
  }
  void hold(int32_t more) noexcept {
    held_.store(held_.load(std::memory_order_relaxed) + static_cast<uint32_t>(more),
                std::memory_order_relaxed);
  }

  // Of each slot that has come to its turn, chunk by chunk: complete(slot, outcome, first, count),
  // which is the work's own time and gives its bytes; then deliver(), which is not.
  template <typename Clock, typename Complete, typename Deliver>
  void poll_slots(const Clock& clock, Complete&& complete, Deliver&& deliver) noexcept {
    using gpu_offload::Outcome;
    using gpu_offload::Slot;
    if (!stage_->needs_poll()) return;
    const uint64_t start = clock();
    const bool worked = std::exchange(worked_, false);
    uint64_t delivering_ns = 0;
    const unsigned delivered = stage_->poll(start, [&](Slot& slot, Outcome outcome) noexcept {
      uint64_t spent = 0, bytes = 0;
      for (uint32_t first = 0; first < slot.count; first += kChunkSize) {
        const uint32_t count = std::min(slot.count - first, uint32_t{kChunkSize});
        const uint64_t before = clock();
        bytes += complete(slot, outcome, first, count);
        const uint64_t completed = clock();
        spent += completed - before;
        deliver(slot, first, count);
        delivering_ns += clock() - completed;
      }
      if (outcome == Outcome::kShaded) {
        decision_.device_took(slot.count, bytes, spent_ns_[slot.index] + spent + polled_ns_,
                              slot.answered_ns - slot.submitted_ns);
        polled_ns_ = 0;
      } else {
        decision_.cpu_took(slot.count, bytes, spent);
      }
      hold(-static_cast<int32_t>(slot.count));
      ++delivered_;
    });
    // Where the worker has nothing else to do, a poll that finds nothing costs it nothing.
    if (worked || delivered != 0) polled_ns_ += clock() - start - delivering_ns;
  }

  std::unique_ptr<gpu_offload::Stage> stage_;
  gpu_offload::Decision decision_;
  const uint32_t items_;  // that a slot holds

 private:
  std::vector<uint64_t> spent_ns_;  // by slot: what gathering took
  uint64_t polled_ns_ = 0;          // polls since the last slot of the device
  bool worked_ = false;             // something was gathered since the last poll
  uint64_t opened_ = 0;
  uint64_t delivered_ = 0;
  std::atomic<uint32_t> held_{0};
};

}  // namespace hecto::router
