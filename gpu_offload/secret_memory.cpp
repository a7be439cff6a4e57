#include "gpu_offload/secret_memory.hpp"

#include <string.h>
#include <sys/mman.h>

#include <new>

namespace hecto::gpu_offload {
namespace {

class SecretMemory final : public lookup::Memory {
 public:
  void* allocate(size_t bytes, int socket) noexcept override {
    void* block = lookup::Memory::system().allocate(bytes, socket);
    if (block == nullptr) return nullptr;
    if (madvise(block, bytes, MADV_DONTDUMP) != 0) {
      lookup::Memory::system().release(block, bytes);
      return nullptr;
    }
    (void)mlock(block, bytes);  // RLIMIT_MEMLOCK may say no: then it may be swapped out
    return block;
  }
  void release(void* block, size_t bytes) noexcept override {
    if (block == nullptr) return;
    explicit_bzero(block, bytes);
    lookup::Memory::system().release(block, bytes);
  }
};

class SecretResource final : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t /*alignment*/) override {  // pages, so it fits any
    void* block = secret_memory().allocate(bytes, -1);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void do_deallocate(void* block, size_t bytes, size_t /*alignment*/) override {
    secret_memory().release(block, bytes);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

lookup::Memory& secret_memory() noexcept {
  static SecretMemory memory;
  return memory;
}

std::pmr::memory_resource& secret_resource() noexcept {
  static SecretResource resource;
  return resource;
}

}  // namespace hecto::gpu_offload
