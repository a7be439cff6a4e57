// Cycles by stage, taken of about one poll in 64: reading the TSC at each stage of each chunk would
// be seen in the figures. The distance from one to the next is random: a worker polls its queues in
// turn, and an even step would meet the same one for ever.
#pragma once

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

// In the order of CycleCounters::stage_cycles.
enum class TimedStage : unsigned { kReceive, kClassify, kLookup, kRewrite, kTransmit };

class StageTimer {
 public:
  explicit StageTimer(CycleCounters& cycles) noexcept : cycles_(cycles) {}

  // Before each poll: whether this one is timed. Then start(), and active() until stop().
  bool due() noexcept {
    if (--left_ != 0) return false;
    random_ ^= random_ << 13;  // xorshift32 (Marsaglia, 2003)
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    left_ = kLeast + random_ % (2 * (kEvery - kLeast) + 1);
    return true;
  }
  void start() noexcept {
    active_ = true;
    mark_ = rte_rdtsc();
  }
  bool active() const noexcept { return active_; }
  // Cycles since start(), or the stage before, are this stage's.
  void end(TimedStage stage) noexcept {
    if (!active_) return;
    const uint64_t now = rte_rdtsc();
    cycles_.stage_cycles[static_cast<unsigned>(stage)].add(now - mark_);
    mark_ = now;
  }
  void stop() noexcept { active_ = false; }

 private:
  static constexpr uint32_t kEvery = 64, kLeast = 16;  // polls from one to the next
  CycleCounters& cycles_;
  uint64_t mark_ = 0;
  uint32_t left_ = kEvery;
  uint32_t random_ = 2463534242;
  bool active_ = false;
};

}  // namespace hecto::router
