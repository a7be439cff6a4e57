// Numbers by hash, in buckets of one cache line: eight tags of 16 bits, and the numbers behind them.
// A number lies in its first bucket, or, where that was full, in its second; the first counts how
// many of its own went on, so that a miss is mostly one line too. What a number stands for, the
// caller compares.
//
// Preallocated and never moved. One thread; memory of Memory::allocate is zeroed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "lookup/memory.hpp"
#include "router/dataplane/nat/layout.hpp"

namespace hecto::router::nat {

inline constexpr uint32_t kNobody = UINT32_MAX;

// A product of 128 bits, folded: with two secrets nobody outside can make keys collide.
inline uint64_t mixed(uint64_t key, const uint64_t (&secret)[2]) noexcept {
  const auto product = static_cast<Wide>(key ^ secret[0]) * (secret[1] | uint64_t{1} << 63 | 1);
  const auto low = static_cast<uint64_t>(product), high = static_cast<uint64_t>(product >> 64);
  uint64_t hash = low ^ high;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ hash >> 32;
}

class BucketIndex {
 public:
  BucketIndex() = default;
  ~BucketIndex() { release(); }
  BucketIndex(const BucketIndex&) = delete;
  BucketIndex& operator=(const BucketIndex&) = delete;

  // For so many at most, half full then. False: there is no memory.
  bool create(uint32_t most, lookup::Memory& memory, int socket) noexcept {
    const uint64_t buckets = std::bit_ceil(std::max<uint64_t>(uint64_t{most} / 4, 2));
    bytes_ = buckets * sizeof(Bucket);
    memory_ = &memory;
    buckets_ = static_cast<Bucket*>(memory.allocate(bytes_, socket));
    mask_ = buckets - 1;
    return buckets_ != nullptr;
  }
  uint64_t bytes() const noexcept { return buckets_ == nullptr ? 0 : bytes_; }

  void prefetch(uint64_t hash) const noexcept { __builtin_prefetch(&buckets_[hash & mask_]); }
  // The first number in the first bucket that has the tag.
  uint32_t candidate(uint64_t hash) const noexcept {
    const Bucket& bucket = buckets_[hash & mask_];
    const uint32_t found = matches(bucket, tag_of(hash));
    return found == 0 ? kNobody : bucket.numbers[std::countr_zero(found)];
  }
  // The number for which `is_it(number)`; kNobody: there is none.
  template <typename IsIt>
  uint32_t find(uint64_t hash, IsIt is_it) const noexcept {
    const Bucket& first = buckets_[hash & mask_];
    const uint32_t found = find_in(first, tag_of(hash), is_it);
    if (found != kNobody || first.gone_on == 0) [[likely]]
      return found;
    return find_in(buckets_[second(hash)], tag_of(hash), is_it);
  }

  bool insert(uint64_t hash, uint32_t number) noexcept {
    Bucket& first = buckets_[hash & mask_];
    if (put(first, tag_of(hash), number)) return true;
    if (!put(buckets_[second(hash)], tag_of(hash), number)) return false;
    ++first.gone_on;
    return true;
  }
  void erase(uint64_t hash, uint32_t number) noexcept {
    Bucket& first = buckets_[hash & mask_];
    if (take(first, tag_of(hash), number)) return;
    if (take(buckets_[second(hash)], tag_of(hash), number)) --first.gone_on;
  }

 private:
  static constexpr unsigned kSlots = 8;
  struct alignas(64) Bucket {
    uint16_t tags[kSlots];  // 0: free
    uint32_t numbers[kSlots];
    uint16_t gone_on;
    uint16_t pad[7];
  };
  static_assert(sizeof(Bucket) == 64);

  static uint16_t tag_of(uint64_t hash) noexcept {
    const auto tag = static_cast<uint16_t>(hash >> 48);
    return tag == 0 ? uint16_t{1} : tag;
  }
  uint64_t second(uint64_t hash) const noexcept {
    const uint64_t other = hash >> 20 & mask_;
    return other == (hash & mask_) ? other ^ 1 : other;
  }
  // A bit for each slot with this tag.
  static uint32_t matches(const Bucket& bucket, uint16_t tag) noexcept {
    using Words [[gnu::vector_size(16)]] = uint16_t;
    Words tags;
    std::memcpy(&tags, bucket.tags, sizeof tags);
    const Words all = {tag, tag, tag, tag, tag, tag, tag, tag};
    const auto equal = tags == all;
    uint64_t half[2];
    std::memcpy(half, &equal, sizeof half);
    const auto four = [](uint64_t lanes) {
      return static_cast<uint32_t>((lanes & 0x0001000100010001u) * 0x1000200040008000u >> 60);
    };
    return four(half[0]) | four(half[1]) << 4;
  }
  template <typename IsIt>
  static uint32_t find_in(const Bucket& bucket, uint16_t tag, IsIt is_it) noexcept {
    for (uint32_t found = matches(bucket, tag); found != 0; found &= found - 1) {
      const uint32_t number = bucket.numbers[std::countr_zero(found)];
      if (is_it(number)) [[likely]]
        return number;
    }
    return kNobody;
  }
  static bool put(Bucket& bucket, uint16_t tag, uint32_t number) noexcept {
    const uint32_t free = matches(bucket, 0);
    if (free == 0) return false;
    const int slot = std::countr_zero(free);
    bucket.tags[slot] = tag;
    bucket.numbers[slot] = number;
    return true;
  }
  static bool take(Bucket& bucket, uint16_t tag, uint32_t number) noexcept {
    for (uint32_t found = matches(bucket, tag); found != 0; found &= found - 1) {
      const int slot = std::countr_zero(found);
      if (bucket.numbers[slot] != number) continue;
      bucket.tags[slot] = 0;
      return true;
    }
    return false;
  }
  void release() noexcept {
    if (buckets_ != nullptr) memory_->release(buckets_, bytes_);
  }

  Bucket* buckets_ = nullptr;
  uint64_t mask_ = 0, bytes_ = 0;
  lookup::Memory* memory_ = nullptr;
};

// An array of the same kind of memory.
template <typename T>
class FixedArray {
 public:
  FixedArray() = default;
  ~FixedArray() {
    if (items_ != nullptr) memory_->release(items_, bytes());
  }
  FixedArray(const FixedArray&) = delete;
  FixedArray& operator=(const FixedArray&) = delete;

  bool create(uint64_t count, lookup::Memory& memory, int socket) noexcept {
    count_ = std::max<uint64_t>(count, 1);
    memory_ = &memory;
    items_ = static_cast<T*>(memory.allocate(bytes(), socket));
    return items_ != nullptr;
  }
  T& operator[](uint64_t at) noexcept { return items_[at]; }
  const T& operator[](uint64_t at) const noexcept { return items_[at]; }
  uint64_t size() const noexcept { return count_; }
  uint64_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  T* items_ = nullptr;
  uint64_t count_ = 0;
  lookup::Memory* memory_ = nullptr;
};

}  // namespace hecto::router::nat
