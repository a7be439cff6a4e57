#include <algorithm>
#include <atomic>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/cuda/cuda_device.hpp"
#include "gpu_offload/cuda/kernels.hpp"
#include "gpu_offload/esp_job.hpp"

using namespace hecto::gpu_offload;

namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
// In a batch's staging memory: packets, payload, verdicts, each aligned.
size_t staging_size(const Job& job) {
  return size_t{job.count} * (input_bytes(job.kind) + output_bytes(job.kind)) +
         aligned(job.payload_bytes);
}

}  // namespace

// All that a batch needs. Staging memory for each flight, as any may be of ESP.
cudaError_t HectoQueue::start() {
  void* words = nullptr;
  const size_t bytes = flights_.size() * kLineBytes;
  cudaError_t error = cudaHostAlloc(&words, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  words_ = static_cast<char*>(words);
  for (size_t i = 0; i < flights_.size() && error == cudaSuccess; ++i) {
    Flight& flight = flights_[i];
    flight.done = reinterpret_cast<uint32_t*>(words_ + i * kLineBytes);
    *flight.done = flight.serial = 0;
    error = cudaStreamCreateWithFlags(&flight.stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
      error = cudaMalloc(reinterpret_cast<void**>(&flight.staging), kStagingBytes);
  }
  return error;
}

// Waits for what is in flight, unless the device is broken; then nothing is. Gives all back.
void HectoQueue::stop() {
  for (Flight& flight : flights_) {
    if (flight.stream != nullptr) {
      cudaStreamSynchronize(flight.stream);
      cudaStreamDestroy(flight.stream);
    }
    if (flight.staging != nullptr) {
      cudaMemset(flight.staging, 0, kStagingBytes);  // packets' bytes
      cudaFree(flight.staging);
    }
    flight = {};
  }
  if (words_ != nullptr) cudaFreeHost(words_);
  words_ = nullptr;
}

Status HectoQueue::submit(const Job* jobs, unsigned count) {
  auto free = std::find_if(flights_.begin(), flights_.end(),
                           [](const Flight& flight) { return !flight.busy; });
  if (free == flights_.end()) return Status::kBusy;
  Flight& flight = *free;
  if (!device_.started || device_.use() != cudaSuccess) return Status::kBroken;
  for (unsigned i = 0; i < count; ++i) {
    if (!is_lookup(jobs[i].kind) && staging_size(jobs[i]) + 3 * kAlignment > kStagingBytes)
      return Status::kNoMemory;
    flight.jobs[i] = {jobs[i].id, jobs[i].count, true};
  }
  flight.busy = true;
  flight.count = count;
  cudaError_t error =
      is_lookup(jobs[0].kind) ? look_up(flight, jobs, count) : transform(flight, jobs, count);
  if (error == cudaSuccess) error = launch_done(flight.done, ++flight.serial, flight.stream);
  // A part of it may be on its way: the answer, which says that it failed, comes when that is over.
  flight.failed = error != cudaSuccess;
  return Status::kOk;
}

// Where keys and answers are.
cudaError_t HectoQueue::look_up(Flight& flight, const Job* jobs, unsigned count) {
  Segments segments{};
  for (unsigned i = 0; i < count; ++i) {
    segments.of[i] = {jobs[i].input, static_cast<uint16_t*>(jobs[i].output), jobs[i].count,
                      jobs[i].table};
  }
  return launch_lookup(jobs[0].kind, jobs[0].arena_info, jobs[0].arena, segments, count,
                       flight.stream);
}

// As many jobs at once as the staging memory holds; the stream keeps them apart.
cudaError_t HectoQueue::transform(Flight& flight, const Job* jobs, unsigned count) {
  cudaError_t error = cudaSuccess;
  for (unsigned first = 0; first < count && error == cudaSuccess;) {
    size_t bytes = 3 * kAlignment;
    unsigned some = 0;
    while (first + some < count && bytes + staging_size(jobs[first + some]) <= kStagingBytes)
      bytes += staging_size(jobs[first + some++]);
    error = transform_part(flight, jobs + first, some);
    first += some;
  }
  return error;
}

// Jobs of one kind and one table of keys as one.
cudaError_t HectoQueue::transform_part(Flight& flight, const Job* jobs, unsigned count) {
  EspSegments segments{};
  uint64_t bytes = 0;
  uint32_t packets = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Job& job = jobs[i];
    segments.of[i] = {job.input, job.payload,       job.output, job.result,
                      bytes,     job.payload_bytes, packets,    job.count};
    bytes += aligned(job.payload_bytes);
    packets += job.count;
  }
  const EspStaging staging{
      flight.staging, flight.staging + aligned(size_t{packets} * sizeof(crypto::EspPacket)),
      flight.staging + aligned(size_t{packets} * sizeof(crypto::EspPacket)) + aligned(bytes)};
  Job all = jobs[0];
  all.count = packets;
  all.payload_bytes = static_cast<uint32_t>(bytes);
  all.input = staging.packets;
  all.result = staging.payload;
  all.output = staging.verdicts;
  cudaError_t error = launch_esp_gather(staging, segments, count, flight.stream);
  if (error == cudaSuccess)
    error = static_cast<cudaError_t>(crypto::launch_esp_cuda(flight.stream, esp_job(all)));
  if (error == cudaSuccess) error = launch_esp_scatter(staging, segments, count, flight.stream);
  return error;
}

// A look at the word; now and then, while nothing comes, at the stream, which knows of errors.
bool HectoQueue::is_over(Flight& flight, bool query) {
  if (!flight.failed &&
      std::atomic_ref(*flight.done).load(std::memory_order_acquire) == flight.serial)
    return true;
  if (!query && !flight.failed) return false;
  const cudaError_t error = cudaStreamQuery(flight.stream);
  if (error == cudaErrorNotReady) return false;
  if (error == cudaSuccess) return flight.failed;  // else the word is on its way
  flight.failed = true;
  return true;
}

unsigned HectoQueue::poll(Completion* completions, unsigned room) {
  unsigned stored = 0;
  if (!device_.started || device_.use() != cudaSuccess) return 0;
  const bool query = ++polls_ % kPollsToQuery == 0;
  for (Flight& flight : flights_) {
    if (!flight.busy || flight.count > room - stored || !is_over(flight, query)) continue;
    for (unsigned i = 0; i < flight.count; ++i) {
      completions[stored] = flight.jobs[i];
      completions[stored++].ok = !flight.failed;
    }
    flight.busy = flight.failed = false;
  }
  return stored;
}
