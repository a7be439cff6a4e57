// Runs a job's packets: on a GPU, or on the calling thread with the same functions.
//
// Both write every verdict. Jobs may run at the same time where their buffers and verdicts do not
// overlap. noexcept, no allocation, no locks. Needs no CUDA header.
#pragma once

#include "gpu_offload/crypto/esp.hpp"

namespace hecto::gpu_offload::crypto {

// 0, or the cudaError_t of the launch. What the kernels themselves run into shows at the stream's
// next synchronisation, as always with CUDA.
using EspLauncher = int (*)(void* stream, const EspJob& job) noexcept;

// `stream` is not looked at; the work is done on return. Any thread.
int launch_esp_host(void* stream, const EspJob& job) noexcept;

// `stream` is a cudaStream_t of the current device; the job's pointers are the device's. The `job`
// itself may go when the call returns. Any thread.
int launch_esp_cuda(void* stream, const EspJob& job) noexcept;

// Brings the kernels to the current device, so that no launch does: 0, or a cudaError_t.
int load_esp_kernels() noexcept;

// Lanes a packet gets: few where packets are small, as idle lanes are lost work. GCM and CBC
// decryption.
HD inline uint32_t lanes_for(const EspJob& job) {
  constexpr uint32_t kSmallBytes = 16 * kBlockBytes;
  return job.payload_bytes <= job.packet_count * kSmallBytes ? 8 : kMaxLanes;
}

}  // namespace hecto::gpu_offload::crypto
