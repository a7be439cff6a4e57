// Memory that the router and its helper both see: one memfd a block, zeroed, in huge pages where Linux
// gives them to such memory, near a socket, locked and out of core dumps, as packets and keys pass through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "base/file_descriptor.hpp"
#include "lookup/memory.hpp"

namespace hecto::gpu_offload {

// The router's side; control's thread.
class SharedMemory final : public lookup::Memory {
 public:
  struct Block {
    uint32_t id = 0;
    size_t bytes = 0;  // as mapped
    FileDescriptor memory;
  };
  // Told of each block that comes and, by its id, that goes.
  std::function<void(void* start, const Block&)> came;
  std::function<void(uint32_t id)> went;

  ~SharedMemory() override;
  void* allocate(size_t bytes, int socket) noexcept override;
  void release(void* block, size_t bytes) noexcept override;
  const std::map<void*, Block>& blocks() const { return blocks_; }
  // Whether all of that lies in one block.
  bool has(const void* start, size_t bytes) const;
  uint32_t id_of(void* start) const { return blocks_.at(start).id; }

 private:
  std::map<void*, Block> blocks_;
  uint32_t next_id_ = 1;
};

// The helper's side of a block: mapped as long as it lives.
class SharedView {
 public:
  SharedView() = default;
  // start() is null where it cannot be mapped.
  SharedView(int memory, size_t bytes) noexcept;
  SharedView(SharedView&& other) noexcept { *this = std::move(other); }
  SharedView& operator=(SharedView&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedView();
  char* start() const { return start_; }
  size_t bytes() const { return bytes_; }

 private:
  char* start_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace hecto::gpu_offload
