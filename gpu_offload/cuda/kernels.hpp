// Launches of all kernels but those of crypto/. Pointers are the device's, which reads and writes the
// host's pinned memory under the host's addresses. What a launch returns is its own error, or that of
// a device that is broken already.
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

// One ESP job of a batch, and where it lies in the batch's staging memory.
struct EspSegment {
  const void* packets;  // the host's: crypto::EspPacket, 16-byte aligned,
  const void* payload;
  void* verdicts;
  void* result;
  uint64_t staged;        // bytes from the staging payload's start, a multiple of 16
  uint32_t bytes;         // of payload
  uint32_t first, count;  // packets, in the batch
};
struct EspSegments {
  EspSegment of[kMostJobs];
};
// Where a batch's jobs are put together, and worked on as one.
struct EspStaging {
  void* packets;
  void* payload;
  void* verdicts;
};
// Packets and payloads from the host's memory into the staging; payloads and verdicts back.
cudaError_t launch_esp_gather(const EspStaging& staging, const EspSegments& segments,
                              unsigned count, cudaStream_t stream);
cudaError_t launch_esp_scatter(const EspStaging& staging, const EspSegments& segments,
                               unsigned count, cudaStream_t stream);

// Behind all that the stream has: `word` in the host's memory becomes `value`.
cudaError_t launch_done(uint32_t* word, uint32_t value, cudaStream_t stream);
// Brings every kernel to the device, so that no launch does.
cudaError_t load_kernels();

// Word changes[2 i] of the arena becomes changes[2 i + 1].
cudaError_t launch_scatter(uint32_t* arena, const uint32_t* changes, uint32_t count,
                           cudaStream_t stream);

}  // namespace hecto::gpu_offload
