#include "base/secret_memory.hpp"

#include <string.h>
#include <sys/mman.h>

#include <bit>
#include <map>
#include <mutex>

namespace hecto {
namespace {

constexpr size_t kSlabBytes = size_t{2} << 20;
constexpr size_t kPageBytes = 4096;
// The largest block of a slab: a manager of ipsec-mb (200 kB), which workers use for every job.
constexpr size_t kMostPooledBytes = size_t{256} << 10;

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

// Beyond a page in powers of two: buffers that grow find the blocks of others that did.
size_t block_bytes(size_t bytes) {
  return bytes <= kPageBytes ? rounded(bytes, 64) : std::bit_ceil(bytes);
}

// Blocks of all sizes from one slab after the other. Those given back are kept by their size.
struct Pool {
  std::map<size_t, void*> free;  // lists through the blocks themselves
  uint8_t* next = nullptr;
  size_t left_bytes = 0;
};

std::mutex mutex;
Pool& pool() {
  static auto* all = new Pool;  // outlives every key, whatever the order of exits
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
  if (bytes > kMostPooledBytes) return map_pages(rounded(bytes, kPageBytes));
  bytes = block_bytes(bytes);
  const std::lock_guard lock(mutex);
  Pool& all = pool();
  if (void*& first = all.free[bytes]; first != nullptr) {
    void* block = first;
    memcpy(&first, block, sizeof(void*));
    memset(block, 0, sizeof(void*));
    return block;
  }
  if (all.left_bytes < bytes) {
    uint8_t* slab = map_slab();
    if (slab == nullptr) return nullptr;
    all.next = slab;
    all.left_bytes = kSlabBytes;
  }
  void* block = all.next;
  all.next += bytes;
  all.left_bytes -= bytes;
  return block;
}

void release_secret(void* memory, size_t bytes) noexcept {
  if (memory == nullptr) return;
  wipe(memory, bytes);
  if (bytes > kMostPooledBytes) {
    munmap(memory, rounded(bytes, kPageBytes));
    return;
  }
  const std::lock_guard lock(mutex);
  void*& first = pool().free[block_bytes(bytes)];
  memcpy(memory, &first, sizeof(void*));
  first = memory;
}

std::pmr::memory_resource& secret_resource() noexcept {
  static Resource resource;
  return resource;
}

}  // namespace hecto
