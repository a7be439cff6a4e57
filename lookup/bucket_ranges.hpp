// Ranges of 2^k buckets out of one array: a buddy allocator. Writer only.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>

namespace hecto::lookup {

class BucketRanges {
 public:
  // `size` is rounded down to a power of two.
  explicit BucketRanges(uint32_t size) : size_(std::bit_floor(size)), left_(size_) {
    if (size_ != 0) free_[order_of(size_)].insert(0);
  }
  uint32_t size() const { return size_; }
  uint32_t left() const { return left_; }  // in ranges of any size

  // `count` is a power of two.
  std::optional<uint32_t> take(uint32_t count) {
    unsigned wanted = order_of(count);
    unsigned order = wanted;
    while (order < free_.size() && free_[order].empty()) ++order;
    if (order >= free_.size()) return std::nullopt;
    uint32_t first = *free_[order].begin();
    free_[order].erase(free_[order].begin());
    left_ -= count;
    while (order > wanted) {
      --order;
      free_[order].insert(first + (uint32_t{1} << order));
    }
    return first;
  }

  void give_back(uint32_t first, uint32_t count) {
    unsigned order = order_of(count);
    left_ += count;
    for (; (uint32_t{1} << order) < size_; ++order) {
      uint32_t buddy = first ^ uint32_t { 1 } << order;
      if (free_[order].erase(buddy) == 0) break;
      first &= ~(uint32_t{1} << order);
    }
    free_[order].insert(first);
  }

 private:
  static unsigned order_of(uint32_t count) {
    return static_cast<unsigned>(std::countr_zero(count));
  }

  uint32_t size_, left_;
  std::array<std::set<uint32_t>, 32> free_;  // by order: first buckets
};

}  // namespace hecto::lookup
