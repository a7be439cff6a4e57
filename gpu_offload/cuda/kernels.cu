// Look-ups on a GPU: index, bound, call. What they compute is in lookup/walk.hpp.
//
// A thread takes one key; with DIR-24-8, where a key needs but one load, four: 16 bytes of keys and
// 8 of answers in one access each. Neighbouring threads have neighbouring keys, so keys and answers
// are read and written in whole lines, also where they lie in the host's memory.
#include "gpu_offload/cuda/kernels.hpp"
#include "gpu_offload/kernels.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kDirectKeys = 4;  // of a thread

__device__ uint32_t thread_index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void __launch_bounds__(kThreads)
    direct4_kernel(const uint32_t* arena, const __grid_constant__ Segments all) {
  const Segment& segment = all.of[blockIdx.y];
  const uint32_t first = thread_index() * kDirectKeys;
  if (first >= segment.count) return;
  const auto* keys = static_cast<const uint32_t*>(segment.input);
  if (first + kDirectKeys <= segment.count) {
    const uint4 four = *reinterpret_cast<const uint4*>(keys + first);
    *reinterpret_cast<ushort4*>(segment.output + first) = make_ushort4(
        lookup::lookup_direct4(arena, {four.x}), lookup::lookup_direct4(arena, {four.y}),
        lookup::lookup_direct4(arena, {four.z}), lookup::lookup_direct4(arena, {four.w}));
    return;
  }
  for (uint32_t i = first; i < segment.count; ++i)
    segment.output[i] = lookup::lookup_direct4(arena, {keys[i]});
}

__global__ void __launch_bounds__(kThreads)
    trie4_kernel(const uint32_t* arena, const __grid_constant__ Segments all) {
  const Segment& segment = all.of[blockIdx.y];
  const uint32_t i = thread_index();
  if (i >= segment.count) return;
  const uint32_t key = static_cast<const uint32_t*>(segment.input)[i];
  segment.output[i] = lookup::lookup_trie4(arena, segment.table, {key});
}

__global__ void __launch_bounds__(kThreads)
    trie6_kernel(const uint32_t* arena, const __grid_constant__ Segments all) {
  const Segment& segment = all.of[blockIdx.y];
  const uint32_t i = thread_index();
  if (i >= segment.count) return;
  const lookup::Key6 key = load_key6(static_cast<const uint4*>(segment.input) + i);
  segment.output[i] = lookup::lookup_trie6(arena, segment.table, key);
}

__global__ void __launch_bounds__(kThreads)
    scatter_kernel(uint32_t* arena, const uint2* changes, uint32_t count) {
  const uint32_t i = thread_index();
  if (i >= count) return;
  const uint2 change = changes[i];
  arena[change.x] = change.y;
}

uint32_t blocks(uint32_t threads) {
  return (threads + kThreads - 1) / kThreads;
}

}  // namespace

cudaError_t launch_lookup(JobKind kind, uint32_t magic, const uint32_t* arena,
                          const Segments& segments, unsigned count, cudaStream_t stream) {
  uint32_t most = 0;
  for (unsigned i = 0; i < count; ++i)
    most = segments.of[i].count > most ? segments.of[i].count : most;
  if (most == 0) return cudaSuccess;
  if (kind == JobKind::kLookup6) {
    trie6_kernel<<<dim3(blocks(most), count), kThreads, 0, stream>>>(arena, segments);
  } else if (magic == lookup::kDirectMagic) {
    const uint32_t threads = (most + kDirectKeys - 1) / kDirectKeys;
    direct4_kernel<<<dim3(blocks(threads), count), kThreads, 0, stream>>>(arena, segments);
  } else {
    trie4_kernel<<<dim3(blocks(most), count), kThreads, 0, stream>>>(arena, segments);
  }
  return cudaGetLastError();
}

cudaError_t launch_scatter(uint32_t* arena, const uint32_t* changes, uint32_t count,
                           cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  scatter_kernel<<<blocks(count), kThreads, 0, stream>>>(
      arena, reinterpret_cast<const uint2*>(changes), count);
  return cudaGetLastError();
}

}  // namespace hecto::gpu_offload
