// A bounded queue from one thread to one other, in memory of its own or in what two processes share.
//
// Whatever stands in the indices (the other process may write anything there), no access leaves the
// items: room and size are then 0 or what the indices say, never more than there are.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace hecto::gpu_offload {

template <typename T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Room for `capacity`, rounded up to a power of two.
  explicit SpscRing(size_t capacity)
      : owned_(::operator new (bytes(capacity), std::align_val_t{64})) {
    new (owned_.get()) Indices();
    use(owned_.get(), capacity);
  }
  // In memory of bytes(capacity), 64-byte aligned, zeroed before the first use by either side.
  SpscRing(void* memory, size_t capacity) { use(memory, capacity); }
  static constexpr size_t bytes(size_t capacity) {
    return sizeof(Indices) + std::bit_ceil(capacity) * sizeof(T);
  }

  // Producer.
  size_t room() const noexcept {
    const size_t used = indices_->tail.load(std::memory_order_relaxed) -
                        indices_->head.load(std::memory_order_acquire);
    return used > mask_ ? 0 : mask_ + 1 - used;
  }
  bool push(const T& item) noexcept {
    if (room() == 0) return false;
    const size_t tail = indices_->tail.load(std::memory_order_relaxed);
    items_[tail & mask_] = item;
    indices_->tail.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer.
  size_t size() const noexcept {
    const size_t used = indices_->tail.load(std::memory_order_acquire) -
                        indices_->head.load(std::memory_order_relaxed);
    return used > mask_ + 1 ? 0 : used;
  }
  // The oldest, which stays until pop(); nullptr when there is none.
  const T* front() const noexcept {
    if (size() == 0) return nullptr;
    return &items_[indices_->head.load(std::memory_order_relaxed) & mask_];
  }
  void pop() noexcept {
    indices_->head.store(indices_->head.load(std::memory_order_relaxed) + 1,
                         std::memory_order_release);
  }
  bool pop(T& item) noexcept {
    const T* first = front();
    if (first == nullptr) return false;
    item = *first;
    pop();
    return true;
  }

 private:
  struct Indices {
    alignas(64) std::atomic<size_t> head{0};
    alignas(64) std::atomic<size_t> tail{0};
  };
  static_assert(std::atomic<size_t>::is_always_lock_free && sizeof(Indices) == 128);
  struct Delete {
    void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };

  void use(void* memory, size_t capacity) {
    indices_ = static_cast<Indices*>(memory);
    items_ = reinterpret_cast<T*>(indices_ + 1);
    mask_ = std::bit_ceil(capacity) - 1;
  }

  std::unique_ptr<void, Delete> owned_;
  Indices* indices_ = nullptr;
  T* items_ = nullptr;
  size_t mask_ = 0;
};

}  // namespace hecto::gpu_offload
