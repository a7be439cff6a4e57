// A block of Memory that gives itself back.
#pragma once

#include <cstddef>
#include <utility>

#include "lookup/memory.hpp"

namespace hecto::lookup {

class MemoryBlock {
 public:
  MemoryBlock() = default;
  MemoryBlock(Memory& memory, size_t bytes, int socket) noexcept
      : memory_(&memory), data_(memory.allocate(bytes, socket)), bytes_(bytes) {}
  MemoryBlock(MemoryBlock&& other) noexcept { *this = std::move(other); }
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryBlock() {
    if (data_ != nullptr) memory_->release(data_, bytes_);
  }
  // nullptr where there was no memory.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  Memory* memory_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace hecto::lookup
