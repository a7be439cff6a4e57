// A plain struct that one thread writes now and then and any thread reads whole (a seqlock).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hecto::gpu_offload {

template <typename T>
class Published {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);

 public:
  void set(const T& value) noexcept {
    uint64_t words[kWords];
    std::memcpy(words, &value, sizeof(value));
    const uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }
  T get() const noexcept {
    uint64_t words[kWords];
    for (;;) {
      const uint32_t version = version_.load(std::memory_order_acquire);
      for (size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
      if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version) break;
    }
    T value;
    std::memcpy(&value, words, sizeof(value));
    return value;
  }

 private:
  static constexpr size_t kWords = sizeof(T) / 8;

  std::atomic<uint32_t> version_{0};  // odd while it is written
  std::atomic<uint64_t> words_[kWords] = {};
};

}  // namespace hecto::gpu_offload
