// Kernels and their launches: index, bound, call. What they compute is in run.hpp.
#include <cuda_runtime.h>

#include "gpu_offload/crypto/bank_tables.cuh"
#include "gpu_offload/crypto/lanes.hpp"
#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/crypto/run.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

// Threads of a block. Kernels with lanes: two blocks fill what Turing has of threads and shared
// memory, and leave 64 registers a thread everywhere. One thread a packet: small, to reach many
// SMs.
constexpr uint32_t kLaneThreads = 512;
constexpr uint32_t kPacketThreads = 128;
// Blocks an SM before they take a second packet: the tables are filled once a block.
constexpr uint32_t kBlocksPerSm = 4;

__device__ uint32_t thread_index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ uint32_t thread_count() {
  return gridDim.x * blockDim.x;
}
__device__ uint32_t lane_offset() {
  return threadIdx.x % 32 * 4;
}

template <uint32_t Width>
__global__ void __launch_bounds__(kLaneThreads, 2) gcm_kernel(EspJob job) {
  __shared__ EncryptBanks banks;
  banks.fill();
  __syncthreads();
  EncryptTables tables{banks, lane_offset()};
  auto lanes = WarpLanes<Width>::of(threadIdx.x);
  for (uint32_t i = thread_index() / Width; i < job.packet_count; i += thread_count() / Width) {
    EspVerdict verdict = run_gcm(lanes, tables, job, i);
    if (lanes.lane == 0) job.verdicts[i] = verdict;
  }
}

__global__ void __launch_bounds__(kPacketThreads) cbc_seal_kernel(EspJob job) {
  __shared__ EncryptBanks banks;
  banks.fill();
  __syncthreads();
  EncryptTables tables{banks, lane_offset()};
  for (uint32_t i = thread_index(); i < job.packet_count; i += thread_count()) {
    job.verdicts[i] = run_cbc_seal(tables, job, i);
  }
}

__global__ void __launch_bounds__(kPacketThreads) cbc_verify_kernel(EspJob job) {
  for (uint32_t i = thread_index(); i < job.packet_count; i += thread_count()) {
    job.verdicts[i] = run_cbc_verify(job, i);
  }
}

template <uint32_t Width>
__global__ void __launch_bounds__(kLaneThreads, 2) cbc_decrypt_kernel(EspJob job) {
  __shared__ DecryptBanks banks;
  banks.fill();
  __syncthreads();
  DecryptTables tables{banks, lane_offset()};
  auto lanes = WarpLanes<Width>::of(threadIdx.x);
  for (uint32_t i = thread_index() / Width; i < job.packet_count; i += thread_count() / Width) {
    if (job.verdicts[i] == EspVerdict::kDone) run_cbc_decrypt(lanes, tables, job, i);
  }
}

// Enough blocks for `threads`, as far as the device has places for them.
cudaError_t grid_for(uint64_t threads, uint32_t block_threads, uint32_t& grid) {
  int device = 0;
  int processors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  uint64_t wanted = (threads + block_threads - 1) / block_threads;
  uint64_t places = static_cast<uint64_t>(processors) * kBlocksPerSm;
  grid = static_cast<uint32_t>(wanted < places ? wanted : places);
  return error;
}

using Kernel = void (*)(EspJob);

cudaError_t launch(Kernel kernel, uint32_t lanes, cudaStream_t stream, const EspJob& job) {
  uint32_t block_threads = lanes == 1 ? kPacketThreads : kLaneThreads;
  uint32_t grid = 0;
  cudaError_t error = grid_for(uint64_t{job.packet_count} * lanes, block_threads, grid);
  if (error != cudaSuccess) return error;
  kernel<<<grid, block_threads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace

int launch_esp_cuda(void* stream, const EspJob& job) noexcept {
  if (job.packet_count == 0) return cudaSuccess;
  auto* on = static_cast<cudaStream_t>(stream);
  uint32_t lanes = lanes_for(job);
  bool wide = lanes == kMaxLanes;
  switch (job.kind) {
    case EspKind::kSealGcm:
    case EspKind::kOpenGcm:
      return launch(wide ? gcm_kernel<kMaxLanes> : gcm_kernel<8>, lanes, on, job);
    case EspKind::kSealCbc:
      return launch(cbc_seal_kernel, 1, on, job);
    case EspKind::kOpenCbc: {
      cudaError_t error = launch(cbc_verify_kernel, 1, on, job);
      if (error != cudaSuccess) return error;
      return launch(wide ? cbc_decrypt_kernel<kMaxLanes> : cbc_decrypt_kernel<8>, lanes, on, job);
    }
  }
  return cudaErrorInvalidValue;
}

}  // namespace hecto::gpu_offload::crypto
