// A bounded queue from one thread to one other.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <vector>

namespace hecto::gpu_offload {

template <typename T>
class SpscRing {
 public:
  // Room for `capacity`, rounded up to a power of two.
  explicit SpscRing(size_t capacity) : items_(std::bit_ceil(capacity)) {}

  // Producer.
  size_t room() const noexcept {
    return items_.size() -
           (tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire));
  }
  bool push(const T& item) noexcept {
    if (room() == 0) return false;
    size_t tail = tail_.load(std::memory_order_relaxed);
    items_[tail & (items_.size() - 1)] = item;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer.
  size_t size() const noexcept {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed);
  }
  // The oldest, which stays until pop(); nullptr when there is none.
  const T* front() const noexcept {
    size_t head = head_.load(std::memory_order_relaxed);
    if (tail_.load(std::memory_order_acquire) == head) return nullptr;
    return &items_[head & (items_.size() - 1)];
  }
  void pop() noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  bool pop(T& item) noexcept {
    const T* first = front();
    if (first == nullptr) return false;
    item = *first;
    pop();
    return true;
  }

 private:
  std::vector<T> items_;
  alignas(64) std::atomic<size_t> head_{0};
  alignas(64) std::atomic<size_t> tail_{0};
};

}  // namespace hecto::gpu_offload
