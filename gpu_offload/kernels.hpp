// What one thread of a device does: the i-th item of a job. The same functions run on a GPU
// (cuda/kernels.cu: index, bound, call) and on CPU threads (run_on_cpu).
#pragma once

#include <stdint.h>
#include <string.h>

#include "gpu_offload/job.hpp"
#include "lookup/walk.hpp"

namespace hecto::gpu_offload {

// Sixteen wire bytes, aligned, as the walk wants them.
HD inline lookup::Key6 load_key6(const void* at) {
#if defined(__CUDA_ARCH__)
  uint4 wire = *static_cast<const uint4*>(at);
  auto swap = [](uint32_t word) { return __byte_perm(word, 0, 0x0123); };
  return {uint64_t{swap(wire.x)} << 32 | swap(wire.y), uint64_t{swap(wire.z)} << 32 | swap(wire.w)};
#else
  auto* bytes = static_cast<const uint8_t*>(at);
  lookup::Key6 key{0, 0};
  for (int i = 0; i < 8; ++i) {
    key.high = key.high << 8 | bytes[i];
    key.low = key.low << 8 | bytes[8 + i];
  }
  return key;
#endif
}

HD inline void shade_lookup4(const Job& job, uint32_t i) {
  const uint32_t key = static_cast<const uint32_t*>(job.input)[i];
  static_cast<uint16_t*>(job.output)[i] = job.arena_info == lookup::kDirectMagic
                                              ? lookup::lookup_direct4(job.arena, {key})
                                              : lookup::lookup_trie4(job.arena, job.table, {key});
}
HD inline void shade_lookup6(const Job& job, uint32_t i) {
  static_cast<uint16_t*>(job.output)[i] = lookup::lookup_trie6(
      job.arena, job.table, load_key6(static_cast<const char*>(job.input) + size_t{16} * i));
}

// The whole job on this thread; false where that failed. Its arena is in this machine's
// memory.
bool run_on_cpu(const Job& job) noexcept;

}  // namespace hecto::gpu_offload
