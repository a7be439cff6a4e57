// From measured times to the question that they are measured for: from which batch on, and against
// how many cores, a device pays. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hecto::bench {

inline constexpr double kLineRate = 148.8e6;  // packets/s: 100 Gb/s of 64-byte frames (RFC 2544)

// One kind of work in batches of one size.
struct OffloadRow {
  std::string kind;
  uint32_t packet_bytes = 0;  // look-ups: 0
  uint32_t batch = 0;
  double items_per_s = 0;  // end to end, several batches in flight, one thread that submits
  double gbps = 0;         // ESP: of what is encrypted
  double p50_us = 0;       // submitted (or due to be) to answered, at half of items_per_s
  double p99_us = 0;
  uint32_t latency_samples = 0;
  double submit_ns = 0;        // a batch
  double worker_ns = 0;        // an item: gather, submit, poll that finds an answer, scatter
  double cpu_items_per_s = 0;  // the same work on one core, up to 256 at once
  uint64_t checked = 0;        // items that were held against the CPU's answers; all agreed
};

struct Crossover {
  std::string kind;
  uint32_t packet_bytes = 0;
  // The smallest batch from which on the device's path costs a worker less than the work itself;
  // 0: none.
  uint32_t batch = 0;
  double cpu_ns = 0;  // an item on a core, in batches as it likes them best
  // Of the batch that saves most (or costs least):
  uint32_t best_batch = 0;
  double worker_ns = 0;     // an item of the worker's time with the device
  double cores_beaten = 0;  // items_per_s by the core's rate: so many cores do what the device does
  double cores_saved = 0;   // see cores_saved()
};

// Cores that a device frees where `demand` items/s arrive: what it takes of them (all, or as much
// as it can) times the time that it spares a worker with each. Negative where it costs cores.
double cores_saved(double cpu_ns, double worker_ns, double device_items_per_s,
                   double demand = kLineRate);

// `rows`: one kind of work, ascending batches, not empty.
Crossover crossover_of(std::span<const OffloadRow> rows);

}  // namespace hecto::bench
