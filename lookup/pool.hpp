// An array of small records that name each other by index, with a free list: the memory of the
// radix tree and of the RIB. Freed records are used again before the array grows, so adding and
// removing for ever takes no more memory than the fullest moment did.
//
// The array lies in pages of its own and grows in place or by moving its pages (mremap), never by
// copying: by half below 2 MB, then by 2 MB or a 32nd, in huge pages where the system gives them
// (MADV_HUGEPAGE). bytes() is what is mapped. One thread only; references hold until the next
// reserve(). Errors: reserve() returns false, and everything is as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace hecto::lookup {

// Pages that grow with their contents kept; fresh ones are zero.
class GrowingPages {
 public:
  GrowingPages() = default;
  GrowingPages(GrowingPages&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  GrowingPages& operator=(GrowingPages&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GrowingPages();

  bool grow_to_hold(size_t bytes) noexcept;  // false: no memory
  void* start() const { return start_; }
  size_t bytes() const { return bytes_; }

 private:
  void* start_ = nullptr;
  size_t bytes_ = 0;
};

template <typename T>
class Pool {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(uint32_t));

 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  Pool() = default;
  Pool(Pool&& other) noexcept { *this = std::move(other); }
  Pool& operator=(Pool&& other) noexcept {
    pages_ = std::move(other.pages_);
    std::swap(used_, other.used_);
    std::swap(free_, other.free_);
    std::swap(free_count_, other.free_count_);
    return *this;
  }

  T& operator[](uint32_t index) { return static_cast<T*>(pages_.start())[index]; }
  const T& operator[](uint32_t index) const { return static_cast<T*>(pages_.start())[index]; }

  // Room for `count` calls of allocate().
  bool reserve(uint32_t count) noexcept {
    if (count <= free_count_) return true;
    size_t wanted = size_t{used_} + (count - free_count_);
    if (wanted > kNone) return false;
    return wanted * sizeof(T) <= pages_.bytes() || pages_.grow_to_hold(wanted * sizeof(T));
  }
  // Needs a reserve() before; the record holds anything.
  uint32_t allocate() noexcept {
    if (free_ == kNone) return used_++;
    uint32_t index = free_;
    std::memcpy(&free_, &(*this)[index], sizeof(free_));
    --free_count_;
    return index;
  }
  void release(uint32_t index) noexcept {
    std::memcpy(static_cast<void*>(&(*this)[index]), &free_, sizeof(free_));
    free_ = index;
    ++free_count_;
  }

  size_t size() const { return used_ - free_count_; }
  size_t bytes() const { return pages_.bytes(); }

 private:
  GrowingPages pages_;
  uint32_t used_ = 0;  // the first index that was never given out
  uint32_t free_ = kNone;
  uint32_t free_count_ = 0;
};

}  // namespace hecto::lookup
