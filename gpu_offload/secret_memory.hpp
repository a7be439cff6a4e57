// Secret memory (base/secret_memory.hpp) for what takes a lookup::Memory. Thread-safe.
#pragma once

#include "base/secret_memory.hpp"
#include "lookup/memory.hpp"

namespace hecto::gpu_offload {

class SecretMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int /*socket*/) noexcept override { return allocate_secret(bytes); }
  void release(void* block, size_t bytes) noexcept override { release_secret(block, bytes); }
};

inline lookup::Memory& secret_memory() noexcept {
  static SecretMemory memory;
  return memory;
}

}  // namespace hecto::gpu_offload
