// One piece of work for a device: plain data, so that it crosses threads, rings and the boundary to
// the CUDA plug-in as it is.
//
// All of its memory is pinned (Device::pin) and belongs to whoever submitted it until the
// completion; the device only reads `input` and `payload`, only writes `output` and `result`.
//
//             input, an item             output, an item      payload ─► result
//   look-up   address: IPv4 4 bytes in   group id, 2 bytes    -
//             host order, IPv6 16 on
//             the wire
//   ESP       crypto::EspPacket          crypto::EspVerdict   what the packets name by offset; it
//   is
//                                                             copied and worked on in place
#pragma once

#include <stdint.h>

#include <type_traits>

namespace hecto::gpu_offload {

enum class JobKind : uint8_t { kLookup4, kLookup6, kSealGcm, kOpenGcm, kSealCbc, kOpenCbc };
inline constexpr unsigned kJobKinds = 6;
inline constexpr const char* kJobKindNames[kJobKinds] = {"ipv4",     "ipv6",     "seal-gcm",
                                                         "open-gcm", "seal-cbc", "open-cbc"};

constexpr bool is_lookup(JobKind kind) {
  return kind <= JobKind::kLookup6;
}
constexpr uint32_t input_bytes(JobKind kind) {  // an item
  return kind == JobKind::kLookup4 ? 4 : kind == JobKind::kLookup6 ? 16 : 48;
}
constexpr uint32_t output_bytes(JobKind kind) {
  return is_lookup(kind) ? 2 : 1;
}

struct Job {
  JobKind kind;
  uint8_t epoch;           // of the device's health: which of its starts this is for
  uint16_t table;          // look-ups: the VRF's number in its arena
  uint32_t count;          // items
  uint32_t payload_bytes;  // 0: none
  uint32_t arena_info;     // look-ups: the engine, its magic (lookup/arena_header.hpp); ESP: words
  const uint32_t* arena;   // in the device's memory: the FIB's, or the keys of SAs (crypto::EspKey)
  const void* input;
  void* output;
  const void* payload;
  void* result;
  uint64_t id;  // the submitter's, given back with the completion
};
static_assert(std::is_trivially_copyable_v<Job> && sizeof(Job) == 64);

inline constexpr unsigned kMostJobs = 16;  // that run together, as one batch

// A completion says that the device has let go of the job's memory.
struct Completion {
  uint64_t id;
  uint32_t count;  // that the device says it did
  bool ok;
};
static_assert(std::is_trivially_copyable_v<Completion>);

}  // namespace hecto::gpu_offload
