// A hash table of pointers, read without a lock while one writer changes it: what the SAD and the
// SPDs are made of.
//
// A slot is one word: 16 bits of the hash above the address, so that a miss is seen without
// touching an entry and no reader ever sees half of a change. What is removed leaves a tombstone,
// unless an empty slot follows. The size is fixed: who owns it makes a larger one when it is
// crowded, publishes that, and frees the old one when all readers have passed (QSBR).
//
// Beside the slots lies one bit for each of four times as many hashes: small enough for the first
// caches, it tells most of what is not here.
//
// An entry is known by `is(entry)`, which is asked about those whose hash may be the same. Owns
// nothing of what it points at.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace hecto::router::esp {

template <typename T>
class PointerSlots {
 public:
  // Room for half as many more, or as many that come and go, before it is crowded.
  explicit PointerSlots(uint64_t entries)
      : mask_(std::max(kMinSlots, std::bit_ceil(entries * 3)) - 1),
        lines_(std::make_unique<Line[]>((mask_ + 1) / kSlotsInLine)),
        hashes_(std::make_unique<std::atomic<uint64_t>[]>((mask_ + 1) / kSlotsInWord)) {}

  // Readers.
  // Tells most of what is not here, by the bits beside the slots.
  class Filter {
   public:
    bool may_have(uint64_t hash) const noexcept {
      return (words_[hash >> 38 & mask_].load(std::memory_order_acquire) & bit(hash)) != 0;
    }

   private:
    friend class PointerSlots;
    Filter(const std::atomic<uint64_t>* words, uint64_t mask) : words_(words), mask_(mask) {}
    const std::atomic<uint64_t>* words_;
    uint64_t mask_;
  };
  Filter filter() const noexcept { return {hashes_.get(), mask_ / kSlotsInWord}; }
  template <typename Is>
  T* find(uint64_t hash, Is&& is) const noexcept {
    for (uint64_t at = hash;; ++at) {
      const uint64_t seen = slot(at).load(std::memory_order_acquire);
      if (seen == kEmpty) return nullptr;
      if (seen >> kTagShift == tag(hash) && is(*unpack(seen))) return unpack(seen);
    }
  }
  void prefetch(uint64_t hash) const noexcept { __builtin_prefetch(&slot(hash)); }
  // Behind prefetch(): the entry that is likely to be found, null when there is none.
  T* candidate(uint64_t hash) const noexcept {
    for (uint64_t at = hash;; ++at) {
      const uint64_t seen = slot(at).load(std::memory_order_relaxed);
      if (seen == kEmpty) return nullptr;
      if (seen >> kTagShift == tag(hash)) return unpack(seen);
    }
  }
  uint64_t slots() const noexcept { return mask_ + 1; }
  // How many of them find() looks at.
  template <typename Is>
  size_t slots_read(uint64_t hash, Is&& is) const noexcept {
    for (uint64_t at = hash;; ++at) {
      const uint64_t seen = slot(at).load(std::memory_order_relaxed);
      if (seen == kEmpty || (seen >> kTagShift == tag(hash) && is(*unpack(seen))))
        return static_cast<size_t>(at - hash) + 1;
    }
  }

  // The writer.
  uint64_t size() const noexcept { return size_; }
  bool crowded() const noexcept { return (used_ + 1) * 2 > mask_ + 1; }
  // In the place of what `is` knows, which is returned; null: there was none. Not when crowded.
  template <typename Is>
  T* put(uint64_t hash, T* entry, Is&& is) noexcept {
    std::atomic<uint64_t>* place = nullptr;
    for (uint64_t at = hash;; ++at) {
      std::atomic<uint64_t>& here = slot(at);
      const uint64_t seen = here.load(std::memory_order_relaxed);
      if (seen >> kTagShift == tag(hash) && is(*unpack(seen))) {
        here.store(pack(hash, entry), std::memory_order_release);
        return unpack(seen);
      }
      if (place == nullptr && seen <= kTombstone) place = &here;
      if (seen == kEmpty) break;
    }
    ++size_;
    note(hash);
    if (place->load(std::memory_order_relaxed) == kEmpty) ++used_;
    place->store(pack(hash, entry), std::memory_order_release);
    return nullptr;
  }
  template <typename Is>
  T* take(uint64_t hash, Is&& is) noexcept {  // null: there was none
    for (uint64_t at = hash;; ++at) {
      const uint64_t seen = slot(at).load(std::memory_order_relaxed);
      if (seen == kEmpty) return nullptr;
      if (seen >> kTagShift != tag(hash) || !is(*unpack(seen))) continue;
      --size_;
      slot(at).store(kTombstone, std::memory_order_release);
      // Nobody is found behind a tombstone that an empty slot follows.
      if (slot(at + 1).load(std::memory_order_relaxed) == kEmpty) {
        for (; slot(at).load(std::memory_order_relaxed) == kTombstone; --at, --used_)
          slot(at).store(kEmpty, std::memory_order_release);
      }
      return unpack(seen);
    }
  }

  std::unique_ptr<PointerSlots> copy() const {
    std::unique_ptr<PointerSlots> copy(new PointerSlots(*this));
    for (uint64_t at = 0; at <= mask_; ++at)
      copy->slot(at).store(slot(at).load(std::memory_order_relaxed), std::memory_order_relaxed);
    for (uint64_t at = 0; at < (mask_ + 1) / kSlotsInWord; ++at)
      copy->hashes_[at].store(hashes_[at].load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
    return copy;
  }
  // The same entries in a table for `entries`. hash_of(entry) is what each was put in with.
  template <typename HashOf>
  std::unique_ptr<PointerSlots> resized(uint64_t entries, HashOf&& hash_of) const {
    auto fresh = std::make_unique<PointerSlots>(entries);
    for (uint64_t at = 0; at <= mask_; ++at) {
      const uint64_t seen = slot(at).load(std::memory_order_relaxed);
      if (seen <= kTombstone) continue;
      uint64_t to = hash_of(*unpack(seen));
      fresh->note(to);
      while (fresh->slot(to).load(std::memory_order_relaxed) != kEmpty) ++to;
      fresh->slot(to).store(seen, std::memory_order_relaxed);
    }
    fresh->size_ = fresh->used_ = size_;
    return fresh;
  }

 private:
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint64_t kTombstone = 1;
  // User-space addresses of Linux end below 2^48 unless asked.
  static constexpr unsigned kTagShift = 48;
  static constexpr uint64_t kMinSlots = 64;
  static constexpr unsigned kSlotsInLine = 8;
  static constexpr unsigned kSlotsInWord = 16;  // of hashes_
  struct alignas(64) Line {
    std::array<std::atomic<uint64_t>, kSlotsInLine> slots{};
  };

  PointerSlots(const PointerSlots& other)  // of its size and counts, empty
      : mask_(other.mask_),
        lines_(std::make_unique<Line[]>((mask_ + 1) / kSlotsInLine)),
        hashes_(std::make_unique<std::atomic<uint64_t>[]>((mask_ + 1) / kSlotsInWord)),
        size_(other.size_),
        used_(other.used_) {}

  std::atomic<uint64_t>& slot(uint64_t at) const noexcept {
    return lines_[(at & mask_) / kSlotsInLine].slots[at % kSlotsInLine];
  }
  // By other bits of the hash than the slot.
  std::atomic<uint64_t>& word(uint64_t hash) const noexcept {
    return hashes_[(hash >> 38) & (mask_ / kSlotsInWord)];
  }
  static uint64_t bit(uint64_t hash) noexcept { return uint64_t{1} << (hash >> 32 & 63); }
  void note(uint64_t hash) noexcept {
    std::atomic<uint64_t>& of = word(hash);
    of.store(of.load(std::memory_order_relaxed) | bit(hash), std::memory_order_release);
  }
  // Never 0, so that neither an empty slot nor a tombstone looks like it.
  static uint64_t tag(uint64_t hash) noexcept { return hash >> kTagShift | 1; }
  static uint64_t pack(uint64_t hash, T* entry) noexcept {
    return tag(hash) << kTagShift | reinterpret_cast<uintptr_t>(entry);
  }
  static T* unpack(uint64_t slot) noexcept {
    return reinterpret_cast<T*>(slot & ((uint64_t{1} << kTagShift) - 1));
  }

  const uint64_t mask_;
  const std::unique_ptr<Line[]> lines_;
  const std::unique_ptr<std::atomic<uint64_t>[]> hashes_;  // bits are set, and go with the table
  uint64_t size_ = 0;
  uint64_t used_ = 0;  // slots with an entry or a tombstone
};

}  // namespace hecto::router::esp
