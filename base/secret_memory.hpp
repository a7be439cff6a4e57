// Memory for keys: locked where the limits allow it, kept out of core dumps, wiped when it is given
// back. The one kind for all rooms.
//
// Sizes in bytes, blocks aligned to 64. Thread-safe. Blocks of up to 256 KiB come from slabs of 2
// MiB (huge pages where Linux has them), which stay mapped until the process ends; larger ones are
// mappings of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <vector>

namespace hecto {

// Zeroed; null when there is none, or when the kernel would dump it.
void* allocate_secret(size_t bytes) noexcept;
void release_secret(void* memory, size_t bytes) noexcept;  // `bytes`: as it was asked for

// The same of pages that somebody else has mapped. False where the kernel would dump them.
bool keep_secret(void* pages, size_t bytes) noexcept;

// What the compiler must not leave out because nobody reads it any more.
void wipe(void* memory, size_t bytes) noexcept;

template <typename T>
struct SecretAllocator {
  using value_type = T;
  SecretAllocator() = default;
  template <typename U>
  explicit SecretAllocator(const SecretAllocator<U>&) noexcept {}

  T* allocate(size_t count) {
    void* memory = allocate_secret(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) noexcept { release_secret(memory, count * sizeof(T)); }
  bool operator==(const SecretAllocator&) const = default;
};

using SecretBytes = std::vector<uint8_t, SecretAllocator<uint8_t>>;

// What clear() alone would leave behind.
inline void wipe(SecretBytes& bytes) noexcept {
  if (!bytes.empty()) wipe(bytes.data(), bytes.size());
  bytes.clear();
}

// For std::pmr containers; without memory it throws std::bad_alloc.
std::pmr::memory_resource& secret_resource() noexcept;

}  // namespace hecto
