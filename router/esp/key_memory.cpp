#include "router/esp/key_memory.hpp"

#include <string.h>
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace hecto::router::esp {
namespace {

constexpr size_t kSlabBytes = size_t{2} << 20;

size_t rounded(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

// Aligned to its size, so that it can be one huge page.
uint8_t* map_slab(size_t bytes) noexcept {
  const size_t mapped_bytes = bytes + kSlabBytes;
  void* mapped =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<uint8_t*>(mapped);
  auto* slab = reinterpret_cast<uint8_t*>(rounded(reinterpret_cast<uintptr_t>(start), kSlabBytes));
  if (slab != start) munmap(start, static_cast<size_t>(slab - start));
  const size_t behind = mapped_bytes - static_cast<size_t>(slab - start) - bytes;
  if (behind != 0) munmap(slab + bytes, behind);
  if (madvise(slab, bytes, MADV_DONTDUMP) != 0) {  // no keys where a dump would show them
    munmap(slab, bytes);
    return nullptr;
  }
  madvise(slab, bytes, MADV_HUGEPAGE);
  (void)mlock(slab, bytes);  // RLIMIT_MEMLOCK may say no: then they may be swapped out
  return slab;
}

struct Pool {
  void* free = nullptr;  // a list through the blocks themselves
  uint8_t* next = nullptr;
  size_t left_bytes = 0;
};

std::mutex mutex;
std::map<size_t, Pool>& pools() {
  static auto* all = new std::map<size_t, Pool>;  // outlives every SA, whatever the order of exits
  return *all;
}

}  // namespace

void* allocate_key_memory(size_t bytes) noexcept {
  bytes = rounded(bytes, 64);
  const std::lock_guard lock(mutex);
  Pool& pool = pools()[bytes];
  if (pool.free != nullptr) {
    void* block = pool.free;
    memcpy(&pool.free, block, sizeof(void*));
    memset(block, 0, sizeof(void*));
    return block;
  }
  if (pool.left_bytes < bytes) {
    const size_t slab_bytes = rounded(bytes, kSlabBytes);
    pool.next = map_slab(slab_bytes);
    pool.left_bytes = pool.next == nullptr ? 0 : slab_bytes;
    if (pool.next == nullptr) return nullptr;
  }
  void* block = pool.next;
  pool.next += bytes;
  pool.left_bytes -= bytes;
  return block;
}

void release_key_memory(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return;
  bytes = rounded(bytes, 64);
  explicit_bzero(memory, bytes);
  const std::lock_guard lock(mutex);
  Pool& pool = pools()[bytes];
  memcpy(memory, &pool.free, sizeof(void*));
  pool.free = memory;
}

std::shared_ptr<const Keys> keep(const Keys& keys) {
  void* memory = allocate_key_memory(sizeof(Keys));
  if (memory == nullptr) return nullptr;
  return {new (memory) Keys(keys), [](const Keys* kept) {
            kept->~Keys();
            release_key_memory(const_cast<Keys*>(kept), sizeof(Keys));
          }};
}

}  // namespace hecto::router::esp
