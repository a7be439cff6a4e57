// A worker's look-ups on its device: what leaves a chunk, what is in flight, and what comes back.
//
//   lane ─► take() ─ false: the CPU, and nothing is in flight ─► the caller looks up, as ever
//              └ true: packets and addresses are in a slot, the lane is empty
//   poll() ─► Finish(chunk): packets, addresses and groups, in the order in which they were taken
//
// One lane's packets never overtake each other: while anything is in flight, what is for the CPU
// waits for its turn too (gpu_offload/stage.hpp). The mbufs in slots are the worker's.
//
// Control makes it; then the worker's thread alone calls it. Counters and explanations may be read
// from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "gpu_offload/decision.hpp"
#include "gpu_offload/stage.hpp"
#include "router/chunk.hpp"
#include "router/dpdk.hpp"

namespace hecto::router {

// The look-ups of one family.
template <typename Address>
class LookupOffload {
 public:
  LookupOffload(std::unique_ptr<gpu_offload::Stage> stage,
                const gpu_offload::DecisionOptions& options);

  // Where the lane goes. kCpu with nothing in flight is the caller's to do.
  gpu_offload::Side choose(unsigned count, uint64_t now_ns) noexcept {
    return decision_.choose(count, 0, stage_->ready(), now_ns);
  }
  // False when there is no room: poll() makes some.
  template <typename Clock>
  bool take(const Lane<Address>& lane, gpu_offload::Side side, const Clock& clock) noexcept;
  // Delivers what has come to its turn: fills `lane` and calls finish(), for each lane of a slot.
  // `fib` does what the device did not; `clock` gives nanoseconds.
  template <typename Fib, typename Clock, typename Finish>
  void poll(Lane<Address>& lane, const Fib& fib, const Clock& clock, Finish&& finish) noexcept;
  void cpu_took(unsigned count, uint64_t ns) noexcept { decision_.cpu_took(count, 0, ns); }

  bool empty() const noexcept { return stage_->empty(); }
  uint64_t opened() const noexcept { return opened_; }        // slots, since the start
  uint64_t delivered() const noexcept { return delivered_; }  // slots
  uint32_t held() const noexcept { return held_.load(std::memory_order_relaxed); }  // packets
  gpu_offload::Stage& stage() noexcept { return *stage_; }
  const gpu_offload::Stage& stage() const noexcept { return *stage_; }
  gpu_offload::Explanation explain() const noexcept { return decision_.explain(); }

 private:
  struct Held {
    rte_mbuf* packet;
    Ingress ingress;
  };
  void fill(Lane<Address>& lane, const gpu_offload::Slot& slot, uint32_t first) noexcept;
  void hold(int32_t more) noexcept {
    held_.store(held_.load(std::memory_order_relaxed) + static_cast<uint32_t>(more),
                std::memory_order_relaxed);
  }

  std::unique_ptr<gpu_offload::Stage> stage_;
  gpu_offload::Decision decision_;
  uint32_t items_;                  // that a slot holds
  std::vector<Held> packets_;       // by slot
  std::vector<uint64_t> spent_ns_;  // by slot: what gathering took
  uint64_t polled_ns_ = 0;          // polls since the last slot of the device
  uint64_t opened_ = 0;
  uint64_t delivered_ = 0;
  std::atomic<uint32_t> held_{0};
};

template <typename Address>
LookupOffload<Address>::LookupOffload(std::unique_ptr<gpu_offload::Stage> stage,
                                      const gpu_offload::DecisionOptions& options)
    : stage_(std::move(stage)),
      decision_(options),
      items_(stage_->options().items),
      packets_(size_t{items_} * (stage_->options().slots + stage_->options().spares)),
      spent_ns_(stage_->options().slots + stage_->options().spares) {}

template <typename Address>
template <typename Clock>
bool LookupOffload<Address>::take(const Lane<Address>& lane, gpu_offload::Side side,
                                  const Clock& clock) noexcept {
  const uint64_t start = clock();
  gpu_offload::Slot* slot = stage_->room(side, 0, lane.count, 0, start);
  if (slot == nullptr) return false;
  if (slot->count == 0) {
    ++opened_;
    spent_ns_[slot->index] = 0;
  }
  auto* keys = reinterpret_cast<Address*>(slot->input) + slot->count;
  std::memcpy(keys, lane.destinations, lane.count * sizeof(Address));
  Held* held = &packets_[size_t{slot->index} * items_ + slot->count];
  for (unsigned i = 0; i < lane.count; ++i) held[i] = {lane.packets[i], lane.ingress[i]};
  slot->add(lane.count);
  spent_ns_[slot->index] += clock() - start;
  hold(static_cast<int32_t>(lane.count));
  return true;
}

// Up to a chunk of a slot's packets; their headers were read a while ago.
template <typename Address>
void LookupOffload<Address>::fill(Lane<Address>& lane, const gpu_offload::Slot& slot,
                                  uint32_t first) noexcept {
  lane.count = std::min(slot.count - first, uint32_t{kChunkSize});
  const Held* held = &packets_[size_t{slot.index} * items_ + first];
  for (unsigned i = 0; i < lane.count; ++i) {
    lane.packets[i] = held[i].packet;
    lane.ingress[i] = held[i].ingress;
    rte_prefetch0(rte_pktmbuf_mtod(held[i].packet, const void*));
  }
}

template <typename Address>
template <typename Fib, typename Clock, typename Finish>
void LookupOffload<Address>::poll(Lane<Address>& lane, const Fib& fib, const Clock& clock,
                                  Finish&& finish) noexcept {
  using gpu_offload::Outcome;
  using gpu_offload::Slot;
  if (!stage_->needs_poll()) return;
  const uint64_t start = clock();
  uint64_t finishing_ns = 0;  // what the next stages take
  stage_->poll(start, [&](Slot& slot, Outcome outcome) noexcept {
    const bool shaded = outcome == Outcome::kShaded;
    const auto* groups = reinterpret_cast<const lookup::GroupId*>(slot.output);
    const auto* keys = reinterpret_cast<const Address*>(slot.input);
    uint64_t spent = 0;
    for (uint32_t first = 0; first < slot.count; first += kChunkSize) {
      const uint64_t before = clock();
      fill(lane, slot, first);
      if (shaded) {
        std::memcpy(lane.groups, groups + first, lane.count * sizeof(lookup::GroupId));
      } else {
        std::memcpy(lane.destinations, keys + first, lane.count * sizeof(Address));
        lookup_batch(fib, lane.destinations, lane.groups, lane.count);
      }
      const uint64_t filled = clock();
      spent += filled - before;
      finish();
      finishing_ns += clock() - filled;
    }
    if (shaded) {
      decision_.device_took(slot.count, 0, spent_ns_[slot.index] + spent + polled_ns_,
                            slot.answered_ns - slot.submitted_ns);
      polled_ns_ = 0;
    } else {
      decision_.cpu_took(slot.count, 0, spent);
    }
    hold(-static_cast<int32_t>(slot.count));
    ++delivered_;
  });
  polled_ns_ += clock() - start - finishing_ns;
}

}  // namespace hecto::router
