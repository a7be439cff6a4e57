// Memory for netlink messages that may hold keys: not in core dumps, wiped before it is given back.
// For std::vector<uint8_t>; pages of its own, so for few and large buffers. Thread-safe.
#pragma once

#include <string.h>
#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <vector>

namespace hecto::router {

template <typename T>
struct SecretAllocator {
  using value_type = T;
  SecretAllocator() = default;
  template <typename U>
  explicit SecretAllocator(const SecretAllocator<U>&) noexcept {}

  T* allocate(size_t count) {
    void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, count * sizeof(T), MADV_DONTDUMP);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) noexcept {
    explicit_bzero(memory, count * sizeof(T));
    munmap(memory, count * sizeof(T));
  }
  bool operator==(const SecretAllocator&) const = default;
};

using SecretBytes = std::vector<uint8_t, SecretAllocator<uint8_t>>;

// What clear() alone would leave behind.
inline void wipe(SecretBytes& bytes) noexcept {
  if (!bytes.empty()) explicit_bzero(bytes.data(), bytes.size());
  bytes.clear();
}

}  // namespace hecto::router
