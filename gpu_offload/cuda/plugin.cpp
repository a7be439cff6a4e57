// libhecto_cuda.so: CUDA devices behind the C functions of devices/plugin_abi.hpp.
#include <algorithm>
#include <cstring>
#include <new>

#include "gpu_offload/cuda/cuda_device.hpp"

namespace {

using namespace hecto::gpu_offload;

void put(char* text, size_t bytes, const std::string& from) {
  const size_t n = std::min(bytes - 1, from.size());
  std::memcpy(text, from.data(), n);
  text[n] = 0;
}

int count(char* text, size_t bytes) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) {
    put(text, bytes, cudaGetErrorString(error));
    return 0;
  }
  return devices;
}

HectoDevice* open_device(int index, int* socket, char* text, size_t bytes) {
  auto* device = new (std::nothrow) HectoDevice(index);
  std::string description;
  const bool opened = device != nullptr && device->describe(description, *socket);
  put(text, bytes, description);
  if (opened) return device;
  delete device;
  return nullptr;
}

HectoQueue* open_queue(HectoDevice* device, unsigned batches) {
  auto* queue = new (std::nothrow) HectoQueue(*device, batches);
  if (queue == nullptr) return nullptr;
  if (device->started && (device->use() != cudaSuccess || queue->start() != cudaSuccess)) {
    delete queue;
    return nullptr;
  }
  device->queues.push_back(queue);
  return queue;
}

void close_queue(HectoQueue* queue) {
  std::erase(queue->device().queues, queue);
  if (queue->device().use() == cudaSuccess) queue->stop();
  delete queue;
}

constexpr HectoDeviceApi kApi = {
    .abi = kHectoDeviceAbi,
    .job_bytes = sizeof(Job),
    .completion_bytes = sizeof(Completion),
    .count = count,
    .open = open_device,
    .close = [](HectoDevice* device) { delete device; },
    .restart = [](HectoDevice* device) { return static_cast<int>(device->restart()); },
    .pin = [](HectoDevice* device, void* start,
              size_t bytes) { return static_cast<int>(device->pin(start, bytes)); },
    .unpin = [](HectoDevice* device, void* start) { device->unpin(start); },
    .create_arena = [](HectoDevice* device, size_t words) { return device->create_arena(words); },
    .release_arena = [](HectoDevice* device, uint32_t* arena) { device->release_arena(arena); },
    .start_update =
        [](HectoDevice* device, uint32_t* arena, const uint32_t* image, size_t words,
           const uint32_t* changes, size_t change_count) {
          return static_cast<int>(device->start_update(arena, image, words, changes, change_count));
        },
    .update_status = [](HectoDevice* device) { return static_cast<int>(device->update_status()); },
    .trouble = [](HectoDevice* device) { return device->trouble().c_str(); },
    .open_queue = open_queue,
    .close_queue = close_queue,
    .submit = [](HectoQueue* queue, const Job* jobs,
                 unsigned n) { return static_cast<int>(queue->submit(jobs, n)); },
    .poll = [](HectoQueue* queue, Completion* completions,
               unsigned room) { return queue->poll(completions, room); },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const HectoDeviceApi* hecto_device_api() {
  return &kApi;
}
