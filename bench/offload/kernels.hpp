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

// A batch with memory of the host, and what the CPU made of it: outputs, and of ESP results.
struct KernelBatch {
  gpu_offload::Job job;
  const char* right;
  const char* sealed;
};

// The batches, all of one kind and size, as one graph: one kernel behind the other, each with other
// keys or packets, so that no launch and no cache is what is timed. `words` of table at job.arena.
// Fills in the row.
std::string time_kernel(int gpu, const std::vector<KernelBatch>& batches, size_t words,
                        unsigned rounds, KernelTime& row);
std::string time_copies(int gpu, unsigned rounds, std::vector<CopyTime>& rows);
// Name, driver and CUDA version of the GPU.
std::string gpu_name(int gpu, std::string& name);

}  // namespace hecto::bench
