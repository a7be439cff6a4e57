// One GPU through the CUDA runtime: the plug-in's half of device.hpp. No error is fatal here: each
// becomes a Status, and whoever sees one restarts the device.
//
// A batch has a stream and an event of its own, so that copies and kernels of several batches
// overlap. Small look-ups read keys from and write answers to the host's memory (one launch); what
// is larger is copied down and up by the copy engines.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <string>
#include <vector>

#include "gpu_offload/device.hpp"
#include "gpu_offload/devices/plugin_abi.hpp"

namespace hecto::gpu_offload {

inline Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return Status::kOk;
  return error == cudaErrorMemoryAllocation ? Status::kNoMemory : Status::kBroken;
}

}  // namespace hecto::gpu_offload

// Control's thread, but for what queues do.
struct HectoDevice {
  using Status = hecto::gpu_offload::Status;

  explicit HectoDevice(int number) : index(number) {}
  ~HectoDevice();
  bool describe(std::string& text, int& socket);
  Status restart();
  Status pin(void* start, size_t bytes);
  void unpin(void* start);
  uint32_t* create_arena(size_t words);
  void release_arena(uint32_t* arena);
  Status start_update(uint32_t* arena, const uint32_t* image, size_t words, const uint32_t* changes,
                      size_t change_count);
  Status update_status();
  // Makes it the calling thread's device.
  cudaError_t use() const;

  const int index;
  bool started = false;
  bool reads_host_memory = false;  // under the host's addresses
  std::vector<HectoQueue*> queues;

 private:
  struct Pinned {
    void* start;
    size_t bytes;
  };
  struct Arena {
    uint32_t* start;
    size_t bytes;
  };
  cudaError_t reserve_changes(size_t bytes);

  std::vector<Pinned> pinned_;
  std::vector<Arena> arenas_;
  cudaStream_t update_stream_ = nullptr;
  cudaEvent_t updated_ = nullptr;
  uint32_t* changes_ = nullptr;  // the device's
  size_t changes_bytes_ = 0;
};

// One thread's, but for start() and stop(), which are control's while nobody uses it.
struct HectoQueue {
  using Status = hecto::gpu_offload::Status;
  using Job = hecto::gpu_offload::Job;
  using Completion = hecto::gpu_offload::Completion;

  HectoQueue(HectoDevice& on, unsigned batches) : device_(on), flights_(batches) {}
  cudaError_t start();
  void stop();
  Status submit(const Job* jobs, unsigned count);
  unsigned poll(Completion* completions, unsigned room);
  HectoDevice& device() { return device_; }

 private:
  struct Flight {  // a batch
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
    char* staging = nullptr;  // the device's
    size_t staging_bytes = 0;
    bool busy = false;
    bool failed = false;
    unsigned count = 0;
    std::array<Completion, hecto::gpu_offload::kMostJobs> jobs;
  };
  static cudaError_t reserve(Flight& flight, size_t bytes);
  cudaError_t look_up(Flight& flight, const Job* jobs, unsigned count);
  cudaError_t copy_and_look_up(Flight& flight, const Job* jobs, unsigned count);
  cudaError_t transform(Flight& flight, const Job& job, char* staging);

  HectoDevice& device_;
  std::vector<Flight> flights_;
};
