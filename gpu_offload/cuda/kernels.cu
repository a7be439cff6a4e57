// Look-ups on a GPU: index, bound, call. What they compute is in lookup/walk.hpp.
//
// A thread takes one key; with DIR-24-8, where a key needs but one load, four: 16 bytes of keys and
// 8 of answers in one access each. Neighbouring threads have neighbouring keys, so keys and answers
// are read and written in whole lines, also where they lie in the host's memory.
#include <algorithm>
#include <tuple>
#include <type_traits>

#include "gpu_offload/crypto/block.hpp"
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

// A packet and a 16-byte part of the payload for each thread, whichever of them there are.
__global__ void __launch_bounds__(kThreads)
    esp_gather_kernel(EspStaging staging, const __grid_constant__ EspSegments all) {
  const EspSegment& segment = all.of[blockIdx.y];
  const uint32_t i = thread_index();
  if (uint64_t{i} * 16 < segment.bytes) {
    const uint32_t left = segment.bytes - i * 16;
    auto* to = static_cast<char*>(staging.payload) + segment.staged + uint64_t{i} * 16;
    const auto* from = static_cast<const char*>(segment.payload) + uint64_t{i} * 16;
    if (left >= 16) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    } else {
      for (uint32_t byte = 0; byte < left; ++byte) to[byte] = from[byte];
    }
  }
  if (i >= segment.count) return;
  const auto* from = static_cast<const uint4*>(segment.packets) + size_t{i} * 3;
  auto* to = static_cast<uint4*>(staging.packets) + (size_t{segment.first} + i) * 3;
  to[0] = from[0];
  to[1] = from[1];
  uint4 last = from[2];
  // What does not lie in its own job's payload is made unservable: it would be another job's.
  const uint64_t payload = last.x | uint64_t{last.y} << 32;
  const uint64_t behind = payload + (last.z >> 16) + crypto::kBlockBytes;
  const bool inside = payload <= segment.bytes && behind <= segment.bytes;
  const uint64_t staged = inside ? payload + segment.staged : ~uint64_t{0};
  last.x = static_cast<uint32_t>(staged);
  last.y = static_cast<uint32_t>(staged >> 32);
  to[2] = last;
}

__global__ void __launch_bounds__(kThreads)
    esp_scatter_kernel(EspStaging staging, const __grid_constant__ EspSegments all) {
  const EspSegment& segment = all.of[blockIdx.y];
  const uint32_t i = thread_index();
  if (i < segment.count)
    static_cast<uint8_t*>(segment.verdicts)[i] =
        static_cast<const uint8_t*>(staging.verdicts)[segment.first + i];
  if (uint64_t{i} * 16 >= segment.bytes) return;
  const uint32_t left = segment.bytes - i * 16;
  const auto* from = static_cast<const char*>(staging.payload) + segment.staged + uint64_t{i} * 16;
  auto* to = static_cast<char*>(segment.result) + uint64_t{i} * 16;
  if (left >= 16) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
  } else {
    for (uint32_t byte = 0; byte < left; ++byte) to[byte] = from[byte];
  }
}

__global__ void done_kernel(uint32_t* word, uint32_t value) {
  __threadfence_system();
  *static_cast<volatile uint32_t*>(word) = value;
}

uint32_t blocks(uint32_t threads) {
  return (threads + kThreads - 1) / kThreads;
}

// As <<<…>>>, with the error of this launch alone.
template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, uint32_t threads, cudaStream_t stream,
                   Arguments... arguments) {
  std::tuple<std::remove_cv_t<Parameters>...> values(arguments...);
  void* pointers[sizeof...(Parameters)];
  std::apply(
      [&](auto&... value) {
        size_t i = 0;
        ((pointers[i++] = &value), ...);
      },
      values);
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(threads), pointers, 0,
                          stream);
}

}  // namespace

cudaError_t launch_lookup(JobKind kind, uint32_t magic, const uint32_t* arena,
                          const Segments& segments, unsigned count, cudaStream_t stream) {
  uint32_t most = 0;
  for (unsigned i = 0; i < count; ++i)
    most = segments.of[i].count > most ? segments.of[i].count : most;
  if (most == 0) return cudaSuccess;
  if (kind == JobKind::kLookup6)
    return launch(trie6_kernel, dim3(blocks(most), count), kThreads, stream, arena, segments);
  if (magic != lookup::kDirectMagic)
    return launch(trie4_kernel, dim3(blocks(most), count), kThreads, stream, arena, segments);
  const uint32_t threads = (most + kDirectKeys - 1) / kDirectKeys;
  return launch(direct4_kernel, dim3(blocks(threads), count), kThreads, stream, arena, segments);
}

cudaError_t launch_scatter(uint32_t* arena, const uint32_t* changes, uint32_t count,
                           cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return launch(scatter_kernel, dim3(blocks(count)), kThreads, stream, arena,
                reinterpret_cast<const uint2*>(changes), count);
}

namespace {

// Of the job with most packets or most payload.
uint32_t esp_threads(const EspSegments& segments, unsigned count) {
  uint32_t most = 1;
  for (unsigned i = 0; i < count; ++i) {
    const EspSegment& segment = segments.of[i];
    most = std::max({most, segment.count, (segment.bytes + 15) / 16});
  }
  return most;
}

}  // namespace

cudaError_t launch_esp_gather(const EspStaging& staging, const EspSegments& segments,
                              unsigned count, cudaStream_t stream) {
  return launch(esp_gather_kernel, dim3(blocks(esp_threads(segments, count)), count), kThreads,
                stream, staging, segments);
}

cudaError_t launch_esp_scatter(const EspStaging& staging, const EspSegments& segments,
                               unsigned count, cudaStream_t stream) {
  return launch(esp_scatter_kernel, dim3(blocks(esp_threads(segments, count)), count), kThreads,
                stream, staging, segments);
}

cudaError_t launch_done(uint32_t* word, uint32_t value, cudaStream_t stream) {
  return launch(done_kernel, dim3(1), 1, stream, word, value);
}

cudaError_t load_kernels() {
  const void* const kernels[] = {reinterpret_cast<const void*>(direct4_kernel),
                                 reinterpret_cast<const void*>(trie4_kernel),
                                 reinterpret_cast<const void*>(trie6_kernel),
                                 reinterpret_cast<const void*>(scatter_kernel),
                                 reinterpret_cast<const void*>(esp_gather_kernel),
                                 reinterpret_cast<const void*>(esp_scatter_kernel),
                                 reinterpret_cast<const void*>(done_kernel)};
  cudaFuncAttributes attributes;
  for (const void* kernel : kernels)
    if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess)
      return error;
  return cudaSuccess;
}

}  // namespace hecto::gpu_offload
