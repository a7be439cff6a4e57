// A worker's look-ups as the router makes them, without its packets: Stage and Decision on a device,
// `auto` beside `never` and `always`, flat out and at given loads. What counts is a worker's time a
// packet. Needs neither DPDK nor CUDA.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bench/offload/offload.hpp"
#include "gpu_offload/decision.hpp"
#include "gpu_offload/device.hpp"

namespace hecto::bench {

struct WorkerRow {
  std::string kind;
  gpu_offload::Mode mode = gpu_offload::Mode::kNever;
  double offered_pps = 0;  // 0: as much as goes
  double pps = 0;
  double busy_ns = 0;       // of the worker, a packet; turns without work do not count
  double device_share = 0;  // of the packets
  double p99_us = 0;        // taken to delivered
  uint64_t redone = 0;      // packets in batches that were late, failed or wrong
};

struct WorkerMeasure {
  std::vector<double> offered_pps = {1e6, 5e6, 0};
  double seconds = 0.4;  // of each row, and half as much before it
  uint32_t items = 1024;
  uint64_t latency_bound_ns = 50'000;
};

// Of the family that `table` has (IPv4 where it has both). The device is not started yet. An error is one line; answers that are not the CPU's are one.
tl::expected<std::vector<WorkerRow>, std::string> measure_worker(
    std::unique_ptr<gpu_offload::Device> device, const OffloadTable& table,
    const WorkerMeasure& options);

}  // namespace hecto::bench
