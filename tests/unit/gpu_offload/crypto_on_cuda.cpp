// A job of host memory on the GPU: copied there and back, as the tests' launcher.
#include <cuda_runtime_api.h>

#include "tests/unit/gpu_offload/crypto_launchers.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

// The first error stays.
struct Copies {
  cudaError_t error = cudaSuccess;

  void note(cudaError_t result) {
    if (error == cudaSuccess) error = result;
  }
  template <class T>
  T* there(const T* host, uint64_t count) {
    void* device = nullptr;
    note(cudaMalloc(&device, count * sizeof(T) + 1));
    note(cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice));
    return static_cast<T*>(device);
  }
  template <class T>
  void back(T* host, const T* device, uint64_t count) {
    note(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost));
  }
};

}  // namespace

bool cuda_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

int launch_on_cuda(void* stream, const EspJob& job) noexcept {
  Copies copies;
  EspJob there = job;
  there.buffer = copies.there(job.buffer, job.buffer_bytes);
  there.packets = copies.there(job.packets, job.packet_count);
  there.keys = copies.there(job.keys, job.key_count);
  there.verdicts = copies.there(job.verdicts, job.packet_count);
  if (copies.error == cudaSuccess) {
    copies.note(static_cast<cudaError_t>(launch_esp_cuda(stream, there)));
  }
  copies.note(cudaDeviceSynchronize());
  if (copies.error == cudaSuccess) {
    copies.back(job.buffer, there.buffer, job.buffer_bytes);
    copies.back(job.verdicts, there.verdicts, job.packet_count);
  }
  cudaFree(there.buffer);
  cudaFree(const_cast<EspPacket*>(there.packets));
  cudaFree(const_cast<EspKey*>(there.keys));
  cudaFree(there.verdicts);
  return copies.error;
}

}  // namespace hecto::gpu_offload::crypto
