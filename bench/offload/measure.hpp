// Times one kind of work on a device: rates, round trips, and what the worker pays.
//
// Straight on a JobQueue, as a Stage uses it; the clock is std::chrono's. Every batch's answers are
// poisoned before it and checked after it, outside what is timed. Needs neither DPDK nor CUDA.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bench/lib/energy.hpp"
#include "bench/offload/crossover.hpp"
#include "bench/offload/workload.hpp"
#include "gpu_offload/device.hpp"

namespace hecto::bench {

struct OffloadMeasure {
  std::vector<uint32_t> batches;
  unsigned rounds = 5;
  unsigned in_flight = 8;
  double round_s = 0.05;            // a round's time, about
  unsigned latency_samples = 2000;  // fewer where they would take over half a second
  double energy_s = 1;              // the device's time for its joules, and the core's
  bool check_only = false;          // one round of each batch, nothing timed
};

// What one kind of work takes, everything else that runs there and idle power included.
struct EnergyRow {
  std::string kind;
  uint32_t packet_bytes = 0;  // look-ups: 0
  uint32_t batch = 0;
  double items = 0;  // by the device, with `used` meanwhile,
  EnergyMeter::Joules used = {};
  double core_items = 0;  // and by one core
  EnergyMeter::Joules core_used = {};
};

// The device's side of one workload: pinned memory, table, queue. The device has been started.
// Whatever is in flight when it ends is ended by a restart.
class OffloadRunner {
 public:
  using Failure = std::string;

  static tl::expected<std::unique_ptr<OffloadRunner>, Failure> create(gpu_offload::Device& device,
                                                                      Workload& work,
                                                                      unsigned in_flight);
  ~OffloadRunner();
  OffloadRunner(const OffloadRunner&) = delete;
  OffloadRunner& operator=(const OffloadRunner&) = delete;

  // One row for each batch size that fits the workload. A wrong answer, an error of the device, or
  // no answer for five seconds is a failure.
  tl::expected<std::vector<OffloadRow>, Failure> measure(const OffloadMeasure& options);
  // In batches of that size, all the time; answers are checked at the end.
  tl::expected<EnergyRow, Failure> energy(uint32_t batch, double seconds, EnergyMeter& meter);

 private:
  struct Samples;
  using Done = tl::expected<double, Failure>;

  OffloadRunner(gpu_offload::Device& device, Workload& work, unsigned in_flight)
      : device_(device),
        work_(work),
        in_flight_most_(in_flight),
        shares_cpus_(device.name() == "host") {}
  tl::expected<void, Failure> load();
  tl::expected<void, Failure> run(size_t batches);
  Done throughput(size_t batches);
  tl::expected<void, Failure> worker(size_t batches, Samples& samples);
  tl::expected<void, Failure> latency(size_t batches, double rate, const OffloadMeasure& options,
                                      OffloadRow& row);
  tl::expected<void, Failure> one_round(uint32_t batch, const OffloadMeasure& options,
                                        Samples& samples);
  OffloadRow row_of(uint32_t batch, Samples& samples) const;
  double on_cpu(uint32_t batch, double seconds) const;
  tl::expected<bool, Failure> submit(size_t index);
  tl::expected<unsigned, Failure> poll();
  tl::expected<void, Failure> check(size_t batches);
  Failure fail(const std::string& what) const;

  gpu_offload::Device& device_;
  Workload& work_;
  unsigned in_flight_most_;
  bool shares_cpus_;  // the device may be waiting for this thread's core
  std::unique_ptr<gpu_offload::JobQueue> queue_;
  std::vector<void*> pinned_;
  uint32_t* arena_ = nullptr;
  uint32_t batch_ = 0;
  unsigned in_flight_ = 0;
  double heard_s_ = 0;  // when the last answer came, or nothing was in flight
  std::vector<gpu_offload::Completion> answers_;
};

}  // namespace hecto::bench
