// The other measurements of RFC 2544 and RFC 8219, each a handful of trials: latency (§26.2), frame
// loss rate (§26.3), back-to-back frames (§26.4), packet delay variation (RFC 8219 §7.3), and a
// soak.
//
// One at a time, from one thread, as the TrialRunner that they use. Errors are the runner's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/traffic/trial.hpp"

namespace hecto::bench {

// Nanoseconds.
struct Quantiles {
  uint64_t min = 0, p50 = 0, p90 = 0, p99 = 0, p99_9 = 0, p99_99 = 0, max = 0;
  double mean = 0;
  uint64_t count = 0;
};
Quantiles quantiles_of(const Histogram& histogram);

// What the device spends under a load; unknown where it does not tell.
struct DeviceLoad {
  double cycles_per_packet = 0;   // TSC cycles, empty polls left out
  double load_percent = 0;        // of its workers, mean
  double burst_fill = 0;          // packets of a poll that found some
  double cpu_percent = 0;         // of the whole process, 100 is one CPU
  double worker_percent = 0;      // the same of its worker threads, by the scheduler's clock
  std::optional<double> watts{};  // of the CPU's packages, all that ran there
};
// Called before a trial (then what it returns is not used) and right after it.
using LoadReader = std::function<std::optional<DeviceLoad>()>;

struct LoadedResult {
  double part = 1;  // of the throughput
  double pps = 0;   // asked for
  double offered_pps = 0;
  double seconds = 0;
  uint64_t offered = 0, lost = 0, duplicated = 0, reordered = 0;
  Quantiles latency_ns;
  Quantiles jitter_ns;
  // RFC 8219 §7.3.1: the 99.9th percentile of the delay less the shortest one.
  uint64_t pdv_ns() const { return latency_ns.p99_9 - std::min(latency_ns.p99_9, latency_ns.min); }
  std::optional<DeviceLoad> device;
  bool interrupted = false;
};
Result<LoadedResult> measure_loaded(TrialRunner& runner, double pps, double seconds,
                                    const LoadReader& device);

struct LossRow {
  double part = 1;  // of the maximum
  double pps = 0;
  double offered_pps = 0;
  double loss_ratio = 0;
};
// From the maximum down by tenths, until two rates in a row lose nothing.
// What was measured is in `rows`, also after an error.
Result<void> loss_curve(TrialRunner& runner, double max_pps, double seconds,
                        std::vector<LossRow>& rows);

struct BackToBack {
  double frames = 0;  // mean of the longest bursts without loss
  uint64_t least = 0, most = 0;
  unsigned repetitions = 0;
  double pps = 0;          // that bursts came with
  bool unlimited = false;  // none was lost of the longest burst that is tried
};
// Bursts at `pps` of at most `longest_s`. `result` has the repetitions that were done, also after an
// error.
Result<void> back_to_back(TrialRunner& runner, double pps, double longest_s, unsigned repetitions,
                          BackToBack& result);

struct SoakInterval {
  double at_s = 0;  // its end
  uint64_t offered = 0, lost = 0;
  uint64_t all_offered = 0, all_lost = 0;  // since the beginning
  Quantiles latency_ns;
};
struct SoakResult {
  double pps = 0;
  double seconds = 0;  // of sending
  uint64_t offered = 0, lost = 0, duplicated = 0, reordered = 0;
  uint64_t intervals = 0, lossy_intervals = 0;
  Quantiles latency_ns;
  bool interrupted = false;  // by a signal: no fault, but shorter than was asked for
  std::optional<Error> error;
};
// `each` is told after every interval.
SoakResult soak(TrialRunner& runner, double pps, double seconds, double interval_s,
                const std::function<void(const SoakInterval&)>& each);

}  // namespace hecto::bench
