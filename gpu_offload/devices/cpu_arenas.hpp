// Copies of tables in this machine's memory, for the devices that have none of their own. Any of
// them may hold keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "gpu_offload/device.hpp"
#include "gpu_offload/secret_memory.hpp"
#include "lookup/memory_block.hpp"

namespace hecto::gpu_offload {

// Control's thread.
class CpuArenas {
 public:
  uint32_t* create(size_t words, int socket) {
    lookup::MemoryBlock block(secret_memory(), words * 4, socket);
    auto* arena = block.as<uint32_t>();
    if (arena != nullptr) blocks_.insert_or_assign(arena, std::move(block));
    return arena;
  }
  size_t release(uint32_t* arena) {  // words
    size_t words = blocks_.at(arena).bytes() / 4;
    blocks_.erase(arena);
    return words;
  }
  void clear() { blocks_.clear(); }

  static void apply(uint32_t* arena, const UpdateView& update) {
    std::copy(update.image.begin(), update.image.end(), arena);
    for (const lookup::WordChange& change : update.changes) arena[change.word] = change.value;
  }

 private:
  std::map<uint32_t*, lookup::MemoryBlock> blocks_;
};

}  // namespace hecto::gpu_offload
