#include <algorithm>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/cuda/cuda_device.hpp"
#include "gpu_offload/cuda/kernels.hpp"
#include "gpu_offload/esp_job.hpp"

using namespace hecto::gpu_offload;

namespace {

// Up to so many bytes of keys a kernel reads them over the link itself: one launch costs less than
// two copies and a launch. A guess, to be set by bench/offload.
constexpr size_t kReadInPlaceBytes = 32 * 1024;
constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
size_t input_size(const Job& job) {
  return size_t{job.count} * input_bytes(job.kind);
}
size_t output_size(const Job& job) {
  return size_t{job.count} * output_bytes(job.kind);
}
// In a batch's staging memory: input, payload, output, each aligned.
size_t staging_size(const Job& job) {
  return aligned(input_size(job)) + aligned(job.payload_bytes) + aligned(output_size(job));
}

}  // namespace

cudaError_t HectoQueue::start() {
  for (Flight& flight : flights_) {
    cudaError_t error = cudaStreamCreateWithFlags(&flight.stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
      error = cudaEventCreateWithFlags(&flight.done, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Waits for what is in flight, unless the device is broken; then nothing is. Gives all back.
void HectoQueue::stop() {
  for (Flight& flight : flights_) {
    if (flight.stream != nullptr) cudaStreamDestroy(flight.stream);
    if (flight.done != nullptr) cudaEventDestroy(flight.done);
    cudaFree(flight.staging);
    flight = {};
  }
}

cudaError_t HectoQueue::reserve(Flight& flight, size_t bytes) {
  if (bytes <= flight.staging_bytes) return cudaSuccess;
  cudaFree(flight.staging);
  flight.staging = nullptr;
  flight.staging_bytes = 0;
  const size_t wanted = std::max<size_t>(2 * bytes, 256 * 1024);
  const cudaError_t error = cudaMalloc(reinterpret_cast<void**>(&flight.staging), wanted);
  if (error == cudaSuccess) flight.staging_bytes = wanted;
  return error;
}

Status HectoQueue::submit(const Job* jobs, unsigned count) {
  auto free = std::find_if(flights_.begin(), flights_.end(),
                           [](const Flight& flight) { return !flight.busy; });
  if (free == flights_.end()) return Status::kBusy;
  Flight& flight = *free;
  if (!device_.started || device_.use() != cudaSuccess) return Status::kBroken;
  size_t bytes = 0;
  size_t keys_bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    bytes += staging_size(jobs[i]);
    keys_bytes += input_size(jobs[i]);
    flight.jobs[i] = {jobs[i].id, jobs[i].count, true};
  }
  const bool in_place =
      is_lookup(jobs[0].kind) && device_.reads_host_memory && keys_bytes <= kReadInPlaceBytes;
  cudaError_t error = in_place ? cudaSuccess : reserve(flight, bytes);
  if (error != cudaSuccess) return status_of(error);
  flight.busy = true;
  flight.count = count;
  if (in_place) {
    error = look_up(flight, jobs, count);
  } else if (is_lookup(jobs[0].kind)) {
    error = copy_and_look_up(flight, jobs, count);
  } else {
    char* staging = flight.staging;
    for (unsigned i = 0; i < count && error == cudaSuccess; ++i) {
      error = transform(flight, jobs[i], staging);
      staging += staging_size(jobs[i]);
    }
  }
  if (error == cudaSuccess) error = cudaEventRecord(flight.done, flight.stream);
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

cudaError_t HectoQueue::copy_and_look_up(Flight& flight, const Job* jobs, unsigned count) {
  Segments segments{};
  char* staging = flight.staging;
  cudaError_t error = cudaSuccess;
  for (unsigned i = 0; i < count && error == cudaSuccess; ++i) {
    auto* output = reinterpret_cast<uint16_t*>(staging + aligned(input_size(jobs[i])));
    segments.of[i] = {staging, output, jobs[i].count, jobs[i].table};
    error = cudaMemcpyAsync(staging, jobs[i].input, input_size(jobs[i]), cudaMemcpyHostToDevice,
                            flight.stream);
    staging += staging_size(jobs[i]);
  }
  if (error == cudaSuccess)
    error = launch_lookup(jobs[0].kind, jobs[0].arena_info, jobs[0].arena, segments, count,
                          flight.stream);
  for (unsigned i = 0; i < count && error == cudaSuccess; ++i) {
    error = cudaMemcpyAsync(jobs[i].output, segments.of[i].output, output_size(jobs[i]),
                            cudaMemcpyDeviceToHost, flight.stream);
  }
  return error;
}

// ESP: descriptors and payloads down, verdicts and payloads up.
cudaError_t HectoQueue::transform(Flight& flight, const Job& job, char* staging) {
  Job there = job;
  there.input = staging;
  there.result = staging + aligned(input_size(job));
  there.output = static_cast<char*>(there.result) + aligned(job.payload_bytes);
  auto down = [&](void* to, const void* from, size_t bytes) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, flight.stream);
  };
  auto up = [&](void* to, const void* from, size_t bytes) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, flight.stream);
  };
  cudaError_t error = down(staging, job.input, input_size(job));
  if (error == cudaSuccess) error = down(there.result, job.payload, job.payload_bytes);
  if (error == cudaSuccess)
    error = static_cast<cudaError_t>(crypto::launch_esp_cuda(flight.stream, esp_job(there)));
  if (error == cudaSuccess) error = up(job.output, there.output, output_size(job));
  if (error == cudaSuccess) error = up(job.result, there.result, job.payload_bytes);
  return error;
}

unsigned HectoQueue::poll(Completion* completions, unsigned room) {
  unsigned stored = 0;
  if (!device_.started || device_.use() != cudaSuccess) return 0;
  for (Flight& flight : flights_) {
    if (!flight.busy || flight.count > room - stored) continue;
    cudaError_t error =
        flight.failed ? cudaStreamQuery(flight.stream) : cudaEventQuery(flight.done);
    if (error == cudaErrorNotReady) continue;
    for (unsigned i = 0; i < flight.count; ++i) {
      completions[stored] = flight.jobs[i];
      completions[stored++].ok = error == cudaSuccess && !flight.failed;
    }
    flight.busy = flight.failed = false;
  }
  return stored;
}
