// What a GPU does without the link, and what the link does without the GPU: kernels over data that
// is there already, and copies alone, by CUDA events. An error is one line; empty: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu_offload/job.hpp"

namespace hecto::bench {

struct KernelTime {
  std::string kind;
  uint32_t packet_bytes;
  uint32_t batch;
  double items_per_s;
  double gbps;
  uint64_t checked;
};
struct CopyTime {
  const char* direction;  // down, up, both (at the same time)
  size_t bytes;           // a copy, each way
  double gbytes_per_s;    // all ways together
};

// `job`: all items of a pool as one, with memory of the host; `words` of table at job.arena.
// `right` and `sealed`: the CPU's outputs and results. Appends a row for the whole pool.
std::string time_kernel(int gpu, const gpu_offload::Job& job, size_t words, const char* right,
                        const char* sealed, unsigned rounds, KernelTime& row);
std::string time_copies(int gpu, unsigned rounds, std::vector<CopyTime>& rows);
// Name, driver and CUDA version of the GPU.
std::string gpu_name(int gpu, std::string& name);

}  // namespace hecto::bench
