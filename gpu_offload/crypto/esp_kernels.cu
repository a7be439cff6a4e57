// Kernels and their launches: index, bound, call. What they compute is in run.hpp.
#include <cuda_runtime.h>

#include "gpu_offload/crypto/bank_tables.hpp"
#include "gpu_offload/crypto/lanes.hpp"
#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/crypto/run.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

// Threads of a block. With lanes: two blocks fill what Turing has of threads and, to encrypt, of
// shared memory, and leave 64 registers a thread. One thread a packet, or two: small, to reach many SMs.
constexpr uint32_t kLaneThreads = 512;
constexpr uint32_t kPacketThreads = 128;
constexpr uint32_t kSealPackets = 64;  // half of the warps encrypts them, half hashes them

// Read once a block.
__device__ const AesTables kDeviceTables = make_aes_tables();

__device__ uint32_t thread_index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ uint32_t bank_bytes() {
  return threadIdx.x % 32 * 4;
}

struct BlockSync {
  HD bool operator()(bool more) const {
#ifdef __CUDA_ARCH__
    return __syncthreads_or(more);
#else
    return more;
#endif
  }
};

template <uint32_t Width>
__global__ void __launch_bounds__(kLaneThreads, 2) gcm_seal_kernel(EspJob job) {
  __shared__ EncryptBanks banks;
  banks.fill(kDeviceTables, threadIdx.x, blockDim.x);
  __syncthreads();
  uint32_t i = thread_index() / Width;
  if (i >= job.packet_count) return;
  auto lanes = WarpLanes<Width>::of(threadIdx.x);
  EspVerdict verdict = run_gcm_seal(lanes, EncryptTables{banks, bank_bytes()}, job, i);
  if (lanes.lane == 0) job.verdicts[i] = verdict;
}

template <uint32_t Width>
__global__ void __launch_bounds__(kLaneThreads, 2) gcm_open_kernel(EspJob job) {
  __shared__ EncryptBanks banks;
  banks.fill(kDeviceTables, threadIdx.x, blockDim.x);
  __syncthreads();
  uint32_t i = thread_index() / Width;
  if (i >= job.packet_count) return;
  auto lanes = WarpLanes<Width>::of(threadIdx.x);
  EspVerdict verdict = run_gcm_open(lanes, EncryptTables{banks, bank_bytes()}, job, i);
  if (lanes.lane == 0) job.verdicts[i] = verdict;
}

__global__ void __launch_bounds__(2 * kSealPackets, 5) cbc_seal_kernel(EspJob job) {
  __shared__ EncryptBanks banks;
  banks.fill(kDeviceTables, threadIdx.x, blockDim.x);
  __syncthreads();
  uint32_t i = blockIdx.x * kSealPackets + threadIdx.x % kSealPackets;
  uint32_t last = job.packet_count - 1;
  SealRole role = threadIdx.x < kSealPackets ? SealRole::kEncrypts : SealRole::kHashes;
  if (i > last) role = SealRole::kWaits;
  EspVerdict verdict =
      run_cbc_seal(EncryptTables{banks, bank_bytes()}, job, min(i, last), role, BlockSync());
  if (role == SealRole::kHashes) job.verdicts[i] = verdict;
}

__global__ void __launch_bounds__(kPacketThreads, 5) cbc_verify_kernel(EspJob job) {
  uint32_t i = thread_index();
  if (i >= job.packet_count) return;
  job.verdicts[i] = run_cbc_verify(job, i);
}

template <uint32_t Width>
__global__ void __launch_bounds__(kLaneThreads, 2) cbc_decrypt_kernel(EspJob job) {
  __shared__ DecryptBanks banks;
  banks.fill(kDeviceTables, threadIdx.x, blockDim.x);
  __syncthreads();
  uint32_t i = thread_index() / Width;
  if (i >= job.packet_count || job.verdicts[i] != EspVerdict::kDone) return;
  auto lanes = WarpLanes<Width>::of(threadIdx.x);
  run_cbc_decrypt(lanes, DecryptTables{banks, bank_bytes()}, job, i);
}

using Kernel = void (*)(EspJob);

// Blocks of so many threads, for so many packets each. With the error of this launch alone.
cudaError_t launch(Kernel kernel, uint32_t threads, uint32_t packets, cudaStream_t stream,
                   EspJob job) {
  void* arguments[] = {&job};
  return cudaLaunchKernel(
      reinterpret_cast<const void*>(kernel),
      dim3(static_cast<uint32_t>((uint64_t{job.packet_count} + packets - 1) / packets)),
      dim3(threads), arguments, 0, stream);
}

}  // namespace

int load_esp_kernels() noexcept {
  const Kernel kernels[] = {gcm_seal_kernel<kMaxLanes>,
                            gcm_seal_kernel<8>,
                            gcm_open_kernel<kMaxLanes>,
                            gcm_open_kernel<8>,
                            cbc_decrypt_kernel<kMaxLanes>,
                            cbc_decrypt_kernel<8>,
                            cbc_seal_kernel,
                            cbc_verify_kernel};
  cudaFuncAttributes attributes;
  for (const Kernel kernel : kernels)
    if (const cudaError_t error =
            cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

int launch_esp_cuda(void* stream, const EspJob& job) noexcept {
  if (job.packet_count == 0) return cudaSuccess;
  auto* on = static_cast<cudaStream_t>(stream);
  bool wide = lanes_for(job) == kMaxLanes;
  uint32_t packets = kLaneThreads / lanes_for(job);
  switch (job.kind) {
    case EspKind::kSealGcm:
      return launch(wide ? gcm_seal_kernel<kMaxLanes> : gcm_seal_kernel<8>, kLaneThreads, packets,
                    on, job);
    case EspKind::kOpenGcm:
      return launch(wide ? gcm_open_kernel<kMaxLanes> : gcm_open_kernel<8>, kLaneThreads, packets,
                    on, job);
    case EspKind::kSealCbc:
      return launch(cbc_seal_kernel, 2 * kSealPackets, kSealPackets, on, job);
    case EspKind::kOpenCbc: {
      cudaError_t error = launch(cbc_verify_kernel, kPacketThreads, kPacketThreads, on, job);
      if (error != cudaSuccess) return error;
      return launch(wide ? cbc_decrypt_kernel<kMaxLanes> : cbc_decrypt_kernel<8>, kLaneThreads,
                    packets, on, job);
    }
  }
  return cudaErrorInvalidValue;
}

}  // namespace hecto::gpu_offload::crypto
