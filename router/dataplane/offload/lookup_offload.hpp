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
#include <cstring>
#include <memory>
#include <vector>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/offload/offload_path.hpp"

namespace hecto::router {

// The look-ups of one family.
template <typename Address>
class LookupOffload : public OffloadPath {
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

 private:
  struct Held {
    rte_mbuf* packet;
    Ingress ingress;
  };
  void fill(Lane<Address>& lane, const gpu_offload::Slot& slot, uint32_t first,
            uint32_t count) noexcept;
  bool copy_answers(Lane<Address>& lane, const gpu_offload::Slot& slot,
                    uint32_t first) const noexcept;
  std::vector<Held> packets_;  // by slot and item
};

template <typename Address>
LookupOffload<Address>::LookupOffload(std::unique_ptr<gpu_offload::Stage> stage,
                                      const gpu_offload::DecisionOptions& options)
    : OffloadPath(std::move(stage), options), packets_(size_t{slots()} * items_) {}

template <typename Address>
template <typename Clock>
bool LookupOffload<Address>::take(const Lane<Address>& lane, gpu_offload::Side side,
                                  const Clock& clock) noexcept {
  const uint64_t start = clock();
  gpu_offload::Slot* slot = room(side, lane.count, 0, start);
  if (slot == nullptr) return false;
  auto* keys = reinterpret_cast<Address*>(slot->input) + slot->count;
  std::memcpy(keys, lane.destinations, lane.count * sizeof(Address));
  Held* held = &packets_[place(*slot, slot->count)];
  for (unsigned i = 0; i < lane.count; ++i) held[i] = {lane.packets[i], lane.ingress[i]};
  slot->add(lane.count);
  gathered(slot->index, clock() - start);
  hold(static_cast<int32_t>(lane.count));
  return true;
}

// Their headers were read a while ago.
template <typename Address>
void LookupOffload<Address>::fill(Lane<Address>& lane, const gpu_offload::Slot& slot,
                                  uint32_t first, uint32_t count) noexcept {
  lane.count = count;
  const Held* held = &packets_[place(slot, first)];
  for (unsigned i = 0; i < lane.count; ++i) {
    lane.packets[i] = held[i].packet;
    lane.ingress[i] = held[i].ingress;
    rte_prefetch0(rte_pktmbuf_mtod(held[i].packet, const void*));
  }
}

// False: there is one that is no group. Checked is what was copied, as the helper could still write
// where they lie.
template <typename Address>
bool LookupOffload<Address>::copy_answers(Lane<Address>& lane, const gpu_offload::Slot& slot,
                                          uint32_t first) const noexcept {
  const auto* groups = reinterpret_cast<const lookup::GroupId*>(slot.output);
  std::memcpy(lane.groups, groups + first, lane.count * sizeof(lookup::GroupId));
  uint16_t largest = 0;
  for (unsigned i = 0; i < lane.count; ++i) largest = std::max(largest, lane.groups[i].value());
  return largest < stage_->options().groups;
}

template <typename Address>
template <typename Fib, typename Clock, typename Finish>
void LookupOffload<Address>::poll(Lane<Address>& lane, const Fib& fib, const Clock& clock,
                                  Finish&& finish) noexcept {
  using gpu_offload::Outcome;
  using gpu_offload::Slot;
  const auto complete = [&](const Slot& slot, Outcome outcome, uint32_t first, uint32_t count) {
    fill(lane, slot, first, count);
    if (outcome != Outcome::kShaded || !copy_answers(lane, slot, first)) {
      const auto* keys = reinterpret_cast<const Address*>(slot.input);
      std::memcpy(lane.destinations, keys + first, count * sizeof(Address));
      lookup_batch(fib, lane.destinations, lane.groups, count);
    }
    return 0u;  // bytes count for nothing
  };
  poll_slots(clock, complete, [&](const Slot&, uint32_t, uint32_t) { finish(); });
}

}  // namespace hecto::router
