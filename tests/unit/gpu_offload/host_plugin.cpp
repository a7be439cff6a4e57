// A plug-in whose device is the host one: what the tests load through the C functions.
#include <cstdlib>
#include <cstring>

#include "gpu_offload/devices/host.hpp"
#include "gpu_offload/devices/plugin_abi.hpp"

using namespace hecto;
using namespace hecto::gpu_offload;

struct HectoDevice {
  HostDevice device;
};
struct HectoQueue {
  std::unique_ptr<JobQueue> queue;
};

namespace {

HectoDevice* open_device(int index, int* socket, char* text, size_t bytes) {
  std::strncpy(text, index == 0 ? "the host, behind a plug-in" : "there is only one", bytes - 1);
  *socket = 0;
  return index == 0 ? new HectoDevice : nullptr;
}

int start_update(HectoDevice* device, uint32_t* arena, const uint32_t* image, size_t words,
                 const uint32_t* changes, size_t change_count) {
  lookup::TableUpdate update;
  if (image != nullptr) update.image.assign(image, image + words);
  for (size_t i = 0; i < change_count; ++i)
    update.changes.push_back({changes[2 * i], changes[2 * i + 1]});
  return static_cast<int>(device->device.start_update(arena, update));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const HectoDeviceApi* hecto_device_api() {
  static HectoDeviceApi api = {
      .abi = kHectoDeviceAbi,
      .job_bytes = sizeof(Job),
      .completion_bytes = sizeof(Completion),
      .count = [](char*, size_t) { return 1; },
      .open = open_device,
      .close = [](HectoDevice* device) { delete device; },
      .restart = [](HectoDevice* device) { return static_cast<int>(device->device.restart()); },
      .pin = [](HectoDevice*, void*, size_t) { return 0; },
      .unpin = [](HectoDevice*, void*) {},
      .create_arena = [](HectoDevice* device,
                         size_t words) { return device->device.create_arena(words); },
      .release_arena = [](HectoDevice* device,
                          uint32_t* arena) { device->device.release_arena(arena); },
      .start_update = start_update,
      .update_status =
          [](HectoDevice* device) { return static_cast<int>(device->device.update_status()); },
      .trouble = [](HectoDevice*) { return ""; },
      .open_queue =
          [](HectoDevice* device, unsigned batches) {
            return new HectoQueue{device->device.make_queue(batches)};
          },
      .close_queue = [](HectoQueue* queue) { delete queue; },
      .submit =
          [](HectoQueue* queue, const Job* jobs, unsigned count) {
            return static_cast<int>(queue->queue->submit({jobs, count}));
          },
      .poll =
          [](HectoQueue* queue, Completion* completions, unsigned room) {
            return queue->queue->poll({completions, room});
          },
  };
  // So that one file plays the plug-in of another version, too.
  api.abi = std::getenv("HECTO_TEST_OTHER_ABI") != nullptr ? kHectoDeviceAbi + 1 : kHectoDeviceAbi;
  return &api;
}
