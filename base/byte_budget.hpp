// Bytes of memory that many may hold together, and what one of them holds of it: who takes in what
// a stranger sent asks first, in steps, and gives up where nothing is left.
//
// ByteBudget is thread-safe; a ByteReservation is one thread's, and goes before its budget.
#pragma once

#include <atomic>
#include <cstddef>

namespace hecto {

class ByteBudget {
 public:
  explicit ByteBudget(size_t bytes) : left_(static_cast<long long>(bytes)) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  bool take(size_t bytes) {
    const auto wanted = static_cast<long long>(bytes);
    if (left_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted) return true;
    give(bytes);
    return false;
  }
  void give(size_t bytes) {
    left_.fetch_add(static_cast<long long>(bytes), std::memory_order_relaxed);
  }

 private:
  std::atomic<long long> left_;
};

class ByteReservation {
 public:
  explicit ByteReservation(ByteBudget& budget) : budget_(budget) {}
  ~ByteReservation() { budget_.give(held_); }
  ByteReservation(const ByteReservation&) = delete;
  ByteReservation& operator=(const ByteReservation&) = delete;

  bool grow(size_t bytes) {  // false: no more is to be had; what is held stays
    if (!budget_.take(bytes)) return false;
    held_ += bytes;
    return true;
  }
  void shrink(size_t bytes) {  // of what is held
    held_ -= bytes;
    budget_.give(bytes);
  }
  size_t held() const { return held_; }

 private:
  ByteBudget& budget_;
  size_t held_ = 0;
};

}  // namespace hecto
