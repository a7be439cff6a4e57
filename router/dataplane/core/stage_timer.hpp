// Cycles by stage, taken of one chunk in 64: reading the TSC at each stage of each chunk would be
// seen in the figures.
#pragma once

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

// In the order of CycleCounters::stage_cycles.
enum class TimedStage : unsigned { kReceive, kClassify, kLookup, kRewrite, kTransmit };

class StageTimer {
 public:
  explicit StageTimer(CycleCounters& cycles) noexcept : cycles_(cycles) {}

  // Before a chunk is received; then active() says whether this one is timed, until stop().
  void start() noexcept {
    active_ = ++chunks_ % kEvery == 0;
    if (active_) mark_ = rte_rdtsc();
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
  static constexpr uint32_t kEvery = 64;
  CycleCounters& cycles_;
  uint64_t mark_ = 0;
  uint32_t chunks_ = 0;
  bool active_ = false;
};

}  // namespace hecto::router
