// What the router has in place of an arena of its helper: a number that looks like a pointer, never
// followed.
#pragma once

#include <cstdint>

namespace hecto::gpu_offload {

inline uint32_t* arena_handle(uint32_t id) noexcept {
  return reinterpret_cast<uint32_t*>(uintptr_t{id} * alignof(uint32_t));
}
inline uint32_t arena_id(const uint32_t* handle) noexcept {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle) / alignof(uint32_t));
}

}  // namespace hecto::gpu_offload
