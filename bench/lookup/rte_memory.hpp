// Memory for our tables from DPDK's heap: the same pages as the structures of DPDK that they are
// compared with.
#pragma once

#include "lookup/memory.hpp"

namespace hecto::bench {

class RteMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int socket) noexcept override;
  void release(void* block, size_t bytes) noexcept override;
};

// What DPDK's heaps have handed out and what the process uses besides, in bytes.
uint64_t allocated_bytes();

}  // namespace hecto::bench
