// The boundary to a device that is built apart and found at run time: a table of C functions. Only
// plain data crosses it; both sides check `abi` and the sizes before anything else.
//
// Functions return a Status as int. What they do and who may call them is said in device.hpp.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu_offload/job.hpp"

extern "C" {

struct HectoDevice;  // the plug-in's own
struct HectoQueue;

struct HectoDeviceApi {
  uint32_t abi;        // kHectoDeviceAbi
  uint32_t job_bytes;  // sizeof(Job)
  uint32_t completion_bytes;

  // Devices of this kind in the machine; 0, and why in `text`, where it cannot tell.
  int (*count)(char* text, size_t text_bytes);
  // nullptr, and why in `text`, where it cannot; else `text` describes the device.
  HectoDevice* (*open)(int index, int* socket, char* text, size_t text_bytes);
  void (*close)(HectoDevice* device);  // after all of its queues
  int (*restart)(HectoDevice* device);
  int (*pin)(HectoDevice* device, void* start, size_t bytes);
  void (*unpin)(HectoDevice* device, void* start);
  uint32_t* (*create_arena)(HectoDevice* device, size_t words);
  void (*release_arena)(HectoDevice* device, uint32_t* arena);
  // The image, or nullptr and changes: pairs of word and value.
  int (*start_update)(HectoDevice* device, uint32_t* arena, const uint32_t* image, size_t words,
                      const uint32_t* changes, size_t change_count);
  int (*update_status)(HectoDevice* device);
  // Why the last start failed, in the driver's words; empty, or no function: no more is known.
  const char* (*trouble)(HectoDevice* device);

  HectoQueue* (*open_queue)(HectoDevice* device, unsigned batches);
  void (*close_queue)(HectoQueue* queue);
  int (*submit)(HectoQueue* queue, const hecto::gpu_offload::Job* jobs, unsigned count);
  unsigned (*poll)(HectoQueue* queue, hecto::gpu_offload::Completion* completions, unsigned room);
};

// What a plug-in exports, by this name.
const HectoDeviceApi* hecto_device_api();
}

inline constexpr uint32_t kHectoDeviceAbi = 2;
inline constexpr const char* kHectoDeviceSymbol = "hecto_device_api";
