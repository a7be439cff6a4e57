// How a device does when 1 to 16 threads hand over batches, each by a queue of its own: what many
// workers see of one driver. All answers are checked. Needs neither DPDK nor CUDA.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bench/offload/workload.hpp"
#include "gpu_offload/device.hpp"

namespace hecto::bench {

struct ThreadsRow {
  std::string kind;
  uint32_t packet_bytes = 0;  // look-ups: 0
  unsigned threads = 0;
  uint32_t batch = 0;
  double items_per_s = 0;  // of all threads together
  double submit_ns = 0;    // a batch, the median of all threads
};

struct ThreadsMeasure {
  std::vector<unsigned> threads = {1, 2, 4, 8, 16};
  uint32_t batch = 1024;
  unsigned in_flight = 8;  // of each thread
  double seconds = 0.2;    // of each row
};

// The device has been started and nothing else uses it. An error is one line.
tl::expected<std::vector<ThreadsRow>, std::string> measure_threads(gpu_offload::Device& device,
                                                                   Workload& work,
                                                                   const ThreadsMeasure& options);

}  // namespace hecto::bench
