// Where a worker's next chunk of one kind of work goes, and why: arithmetic on what the worker
// measures. It reads no clock and touches no device, so tests script both.
//
// The device is taken if the worker's own time for it (gather, submit, poll, scatter) is less than the
// CPU would need: by a tenth at once, by 3% when that has been so for some intervals; if a batch is gathered and answered within the latency bound; if the
// device keeps up; and if there is anything to save (the CPU does the work at low load). It is left
// again when one of these has ceased to hold. A hundredth of the work goes to the losing side (less
// where that would cost more than a hundredth of the time), so that both models stay true. A device
// that is left at the load at which it was taken (so its probes had promised more than it held) is
// kept away for 1, 2, 4 … 1024 intervals.
//
// One thread, noexcept, no allocation; explain() from any thread. Switching needs no wait: the
// stage drains in order.
#pragma once

#include <cstdint>

#include "gpu_offload/cost_model.hpp"
#include "gpu_offload/published.hpp"
#include "gpu_offload/stage.hpp"

namespace hecto::gpu_offload {

enum class Mode : uint8_t { kAuto, kNever, kAlways };

enum class Why : uint8_t {
  kConfigured,  // never, or always
  kNoDevice,    // none, or retired
  kMeasuring,   // not enough samples of both sides yet
  kLowLoad,
  kLatency,   // the device would take longer than allowed
  kTooSlow,   // the device would not keep up
  kKeptAway,  // it was taken before and did not hold what its probes had promised
  kCosts,     // the worker's time decides
};
const char* to_string(Why why) noexcept;
const char* to_string(Mode mode) noexcept;

struct DecisionOptions {
  Mode mode = Mode::kAuto;
  uint64_t interval_ns = 10'000'000;
  uint64_t latency_bound_ns = 100'000;  // gathering and the device's answer
  uint64_t close_ns = 20'000;           // StageOptions' values
  uint32_t items = 4096;
  unsigned slots = 8;
  double low_load = 0.1;  // of a core
  double better = 0.03;   // that the other side must be, in so many intervals one behind the other,
  unsigned better_intervals = 10;
  double clearly_better = 0.1;  // or this, at once
  double probes = 0.01;         // of the work
};

// What was decided in the last interval, and on what. Times of one item are the worker's own.
struct Explanation {
  Mode mode = Mode::kAuto;
  Side side = Side::kCpu;
  Why why = Why::kNoDevice;
  bool probing = false;
  uint32_t batch_items = 0;  // of a slot at this load
  double items_per_s = 0;
  double bytes_per_item = 0;
  double cpu_item_ns = 0;
  double device_item_ns = 0;
  double cpu_load = 0;     // of a core: what the work takes, or would take, on the CPU
  double device_load = 0;  // and through the device
  double round_trip_ns = 0;
  double latency_ns = 0;  // with gathering
  double latency_bound_ns = 0;
  uint64_t switches = 0;
  uint64_t probed_items = 0;
};

class Decision {
 public:
  explicit Decision(const DecisionOptions& options) : options_(options) {
    explanation_.mode = options.mode;
    explanation_.latency_bound_ns = static_cast<double>(options.latency_bound_ns);
  }

  // For a chunk that is about to be worked on. `bytes` is the payload, or 0.
  Side choose(uint32_t items, uint64_t bytes, bool device_ready, uint64_t now_ns) noexcept;
  // What it took in the end, either way; of slots, when they are delivered. `worker_ns` is
  // gathering, submitting, polling and scattering.
  void cpu_took(uint32_t items, uint64_t bytes, uint64_t ns) noexcept;
  void device_took(uint32_t items, uint64_t bytes, uint64_t worker_ns,
                   uint64_t round_trip_ns) noexcept;

  Explanation explain() const noexcept { return published_.get(); }

 private:
  void evaluate(bool device_ready, uint64_t now_ns) noexcept;
  void estimate(uint64_t now_ns) noexcept;
  Why objection(bool device_ready) const noexcept;
  bool other_is_better(double other_ns, double own_ns) noexcept;
  void turn(Side side) noexcept;
  Side probe(uint32_t items) noexcept;
  double probe_share() const noexcept;

  DecisionOptions options_;
  CostModel cpu_;
  CostModel worker_;      // the worker's time for a slot
  CostModel round_trip_;  // of a slot
  Side side_ = Side::kCpu;
  uint64_t interval_start_ns_ = 0;
  uint64_t items_ = 0;  // in this interval
  uint64_t bytes_ = 0;
  uint64_t chunks_ = 0;
  double probe_share_ = 0;     // of the items; none before the first interval is over
  double probe_credit_ = 0;    // items that the losing side may have
  double probe_left_ = 0;      // of a probe that has begun
  uint64_t intervals_ = 0;     // on this side
  unsigned better_for_ = 0;    // intervals, the last ones, in which the other side was better
  double promised_items_ = 0;  // of a slot when the device was taken
  uint64_t keep_away_ = 0;     // intervals on the CPU before the device's next turn
  Explanation explanation_;
  Published<Explanation> published_;
};

}  // namespace hecto::gpu_offload
