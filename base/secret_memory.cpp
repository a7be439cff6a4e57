#include "base/secret_memory.hpp"

#include <string.h>
#include <sys/mman.h>

#include <map>
#include <mutex>

namespace hecto {
namespace {

constexpr size_t kSlabBytes = size_t{2} << 20;
constexpr size_t kPageBytes = 4096;

size_t rounded(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

void* map(size_t bytes) noexcept {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

uint8_t* map_pages(size_t bytes) noexcept {
  void* pages = map(bytes);
  if (pages == nullptr) return nullptr;
  if (bytes >= kSlabBytes) madvise(pages, bytes, MADV_HUGEPAGE);
  if (keep_secret(pages, bytes)) return static_cast<uint8_t*>(pages);
  munmap(pages, bytes);
  return nullptr;
}

// Aligned to its size, so that it can be one huge page.
uint8_t* map_slab() noexcept {
  auto* start = static_cast<uint8_t*>(map(2 * kSlabBytes));
  if (start == nullptr) return nullptr;
  auto* slab = reinterpret_cast<uint8_t*>(rounded(reinterpret_cast<uintptr_t>(start), kSlabBytes));
  const auto before = static_cast<size_t>(slab - start);
  if (before != 0) munmap(start, before);
  if (before != kSlabBytes) munmap(slab + kSlabBytes, kSlabBytes - before);
  madvise(slab, kSlabBytes, MADV_HUGEPAGE);
  if (keep_secret(slab, kSlabBytes)) return slab;
  munmap(slab, kSlabBytes);
  return nullptr;
}

struct Pool {
  void* free = nullptr;  // a list through the blocks themselves
  uint8_t* next = nullptr;
  size_t left_bytes = 0;
};

std::mutex mutex;
std::map<size_t, Pool>& pools() {
  static auto* all = new std::map<size_t, Pool>;  // outlives every key, whatever the order of exits
  return *all;
}

class Resource final : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t /*alignment*/) override {  // 64, so it fits any
    void* block = allocate_secret(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void do_deallocate(void* block, size_t bytes, size_t /*alignment*/) override {
    release_secret(block, bytes);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

bool keep_secret(void* pages, size_t bytes) noexcept {
  if (madvise(pages, bytes, MADV_DONTDUMP) != 0) return false;
  (void)mlock(pages, bytes);  // RLIMIT_MEMLOCK may say no: then they may be swapped out
  return true;
}

void wipe(void* memory, size_t bytes) noexcept {
  explicit_bzero(memory, bytes);
}

void* allocate_secret(size_t bytes) noexcept {
  if (bytes > kPageBytes) return map_pages(rounded(bytes, kPageBytes));
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
    pool.next = map_slab();
    pool.left_bytes = pool.next == nullptr ? 0 : kSlabBytes;
    if (pool.next == nullptr) return nullptr;
  }
  void* block = pool.next;
  pool.next += bytes;
  pool.left_bytes -= bytes;
  return block;
}

void release_secret(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return;
  wipe(memory, bytes);
  if (bytes > kPageBytes) {
    munmap(memory, rounded(bytes, kPageBytes));
    return;
  }
  bytes = rounded(bytes, 64);
  const std::lock_guard lock(mutex);
  Pool& pool = pools()[bytes];
  memcpy(memory, &pool.free, sizeof(void*));
  pool.free = memory;
}

std::pmr::memory_resource& secret_resource() noexcept {
  static Resource resource;
  return resource;
}

}  // namespace hecto
