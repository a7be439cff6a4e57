// Launches of the look-ups' kernels. Pointers are the device's.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gpu_offload/job.hpp"

namespace hecto::gpu_offload {

// One job of a batch.
struct Segment {
  const void* input;  // 16-byte aligned
  uint16_t* output;   // 8-byte aligned
  uint32_t count;
  uint32_t table;
};
struct Segments {  // goes with the launch
  Segment of[kMostJobs];
};

// `magic`: which engine's arena it is (lookup/arena_header.hpp).
cudaError_t launch_lookup(JobKind kind, uint32_t magic, const uint32_t* arena,
                          const Segments& segments, unsigned count, cudaStream_t stream);
// Word changes[2 i] of the arena becomes changes[2 i + 1].
cudaError_t launch_scatter(uint32_t* arena, const uint32_t* changes, uint32_t count,
                           cudaStream_t stream);

}  // namespace hecto::gpu_offload
