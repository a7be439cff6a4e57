// What `hecto-bench calibrate` measures, a part each: constants of the capacity model, and what the
// operator should know of how they were had.
//
// Each part writes into `found` what it could measure and nothing else. One at a time.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/bed/measured_constants.hpp"
#include "config/box/topology.hpp"

namespace hecto::bench {

struct CalibrateOptions {
  std::vector<std::string> parts;  // of calibrate_parts(); empty: all
  std::string out = "calibration.yaml";
  std::string table;       // route file; empty: the real one where it is found, else synthetic
  std::string root = ".";  // where ../shared/data is looked for
  bool quick = false;      // a tenth of the time
};

// The worker's stages and memory ports (bed/calibration_round.hpp), DPDK started in this process;
// on a box of several nodes also what a packet on another socket costs (`scale`, in processes of
// its own).
Result<void> measure_stages(const CalibrateOptions& options, const config::Topology& topology,
                            MeasuredConstants& found);
// The core's clock against the time-stamp counter's.
Result<void> measure_clock(const CalibrateOptions& options, MeasuredConstants& found);
// Bandwidth and latency of each node's memory, from its own cores and from another's.
Result<void> measure_memory(const CalibrateOptions& options, const config::Topology& topology,
                            MeasuredConstants& found);
// How the NICs' PCIe links run: no constants, the box knows them; said here because a link that
// came up narrow is found by nobody else.
void note_links(const config::Topology& topology, MeasuredConstants& found);
// Copies over the GPU's link, and an empty kernel's round trip, by the driver alone (libcuda).
Result<void> measure_gpu(const CalibrateOptions& options, MeasuredConstants& found);

}  // namespace hecto::bench
