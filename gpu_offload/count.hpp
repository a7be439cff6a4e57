// A counter with one writer and any number of readers.
#pragma once

#include <atomic>
#include <cstdint>

namespace hecto::gpu_offload {

class Count {
 public:
  void add(uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace hecto::gpu_offload
