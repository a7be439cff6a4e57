// One GPU through the CUDA runtime: the plug-in's half of device.hpp. No error is fatal here: each
// becomes a Status, and whoever sees one restarts the device.
//
// A batch has a stream of its own, so that kernels of several batches overlap. Kernels read and write
// jobs where they lie, in the host's pinned memory: a batch of look-ups is one launch, one of ESP a
// gather into staging memory, the transform over all its jobs, and a scatter. The last launch writes a
// word to pinned memory, and poll() reads that. Nothing is allocated, loaded or waited for between two
// starts but tables, which come from the device's pool.
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
  const std::string& trouble() const { return trouble_; }
  // Makes it the calling thread's device.
  cudaError_t use() const;

  const int index;
  bool started = false;
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
  cudaError_t start_all();
  cudaError_t allocate(void** start, size_t bytes);
  cudaError_t reserve_changes(size_t bytes);

  std::vector<Pinned> pinned_;
  std::vector<Arena> arenas_;
  cudaStream_t update_stream_ = nullptr;
  cudaEvent_t updated_ = nullptr;
  uint32_t* changes_ = nullptr;  // the device's
  size_t changes_bytes_ = 0;
  bool has_pool_ = false;
  std::string trouble_;
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
    uint32_t* done = nullptr;  // in pinned memory: `serial`, when the batch is over
    uint32_t serial = 0;
    char* staging =
        nullptr;  // the device's, kStagingBytes; of ESP, from the first batch's start on
    bool busy = false;
    bool failed = false;
    unsigned count = 0;
    std::array<Completion, hecto::gpu_offload::kMostJobs> jobs;
  };
  static constexpr size_t kStagingBytes = size_t{32} << 20;
  static constexpr size_t kLineBytes = 64;
  static constexpr unsigned kPollsToQuery = 4096;

  cudaError_t look_up(Flight& flight, const Job* jobs, unsigned count);
  cudaError_t transform(Flight& flight, const Job* jobs, unsigned count);
  cudaError_t transform_part(Flight& flight, const Job* jobs, unsigned count);
  bool is_over(Flight& flight, bool query);

  HectoDevice& device_;
  std::vector<Flight> flights_;
  char* words_ = nullptr;  // pinned: a line for each flight's
  unsigned polls_ = 0;
};
