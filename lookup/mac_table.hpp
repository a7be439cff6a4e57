// Which port leads to a station: exact match of a MAC address within a domain (a bridge and a VLAN,
// as the table's owner counts them). Five entries in a cache line, two lines that a key may lie in.
//
// One writer; any number of readers at the same time, without locks. A slot that was erased is used
// again once all readers that could have seen it have let go (Reclaimer), so what a reader finds under
// a key has never been another key's. Keys are hashed by a factor of this process (multiply-shift, Dietzfelbinger
// et al. 1997: universal): nobody outside can fill two lines on purpose.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "lookup/memory_block.hpp"

namespace hecto::lookup {

class MacTable {
 public:
  // `mac`: as a little-endian load of the six bytes gives it; not zero.
  static constexpr uint64_t key(uint16_t domain, uint64_t mac) noexcept {
    return uint64_t{domain} << 48 | mac;
  }
  static constexpr uint16_t kLastDomain = 0xfffe;
  // What is found: a number of the owner's.
  static constexpr uint16_t kNone = 0xffff;

  // Room for about this many, up to 1M; without memory room() is 0, and nobody may look up.
  MacTable(size_t entries, uint64_t seed, Memory& memory, int socket, Reclaimer& readers);
  MacTable(const MacTable&) = delete;
  MacTable& operator=(const MacTable&) = delete;

  // ---- The writer ----
  bool set(uint64_t key, uint16_t place) noexcept;  // false: no room in its two lines
  bool erase(uint64_t key) noexcept;                // false: it is not there
  // Whether a reader has marked it since it was asked last.
  bool take_mark(uint64_t key) noexcept;
  void reclaim() noexcept;  // now and then: slots that were erased are free again
  size_t size() const noexcept { return size_; }
  size_t room() const noexcept { return lines_ == nullptr ? 0 : count_ * kSlots; }

  // ---- Readers ----
  // The line where a key lies, as a rule, is being fetched. `hash` goes into the look-up.
  uint64_t fetch(uint64_t key) const noexcept {
    const uint64_t hash = hash_of(key);
    __builtin_prefetch(lines_ + first(hash));
    return hash;
  }
  uint16_t find(uint64_t key, uint64_t hash) const noexcept {
    const Line* line = lines_ + first(hash);
    unsigned slot = slot_of(*line, key);
    if (slot >= kSlots) [[unlikely]] {
      line = lines_ + second(hash);
      slot = slot_of(*line, key);
      if (slot >= kSlots) return kNone;
    }
    return line->places[slot].load(std::memory_order_relaxed);
  }
  uint16_t find(uint64_t key) const noexcept { return find(key, hash_of(key)); }
  // The same, and leaves a mark for the writer.
  uint16_t find_and_mark(uint64_t key, uint64_t hash) noexcept {
    Line* line = lines_ + first(hash);
    unsigned slot = slot_of(*line, key);
    if (slot >= kSlots) [[unlikely]] {
      line = lines_ + second(hash);
      slot = slot_of(*line, key);
      if (slot >= kSlots) return kNone;
    }
    // Read first: a line that is only read stays in every core's cache.
    if (line->marks[slot].load(std::memory_order_relaxed) == 0)
      line->marks[slot].store(1, std::memory_order_relaxed);
    return line->places[slot].load(std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kSlots = 5;
  static constexpr uint64_t kFree = 0, kErased = ~uint64_t{0};
  struct alignas(64) Line {
    std::atomic<uint64_t> keys[kSlots];
    std::atomic<uint16_t> places[kSlots];
    std::atomic<uint8_t> marks[kSlots];
  };
  static_assert(sizeof(Line) == 64);
  struct Erased {
    std::atomic<uint64_t>* key;
    uint64_t token;
  };

  uint64_t hash_of(uint64_t key) const noexcept { return key * factor_; }
  size_t first(uint64_t hash) const noexcept { return hash >> shift_; }
  size_t second(uint64_t hash) const noexcept {
    return (first(hash) ^ (hash >> 16 | 1)) & (count_ - 1);
  }
  static unsigned slot_of(const Line& line, uint64_t key) noexcept {
    // By bits, so that no compare waits for another; the last one ends the search.
    unsigned found = 1u << kSlots;
#pragma GCC unroll 5
    for (unsigned i = 0; i < kSlots; ++i)
      found |= unsigned{line.keys[i].load(std::memory_order_acquire) == key} << i;
    return static_cast<unsigned>(__builtin_ctz(found));
  }
  static unsigned free_slots(const Line& line) noexcept;
  Line* line_of(uint64_t key, unsigned& slot) noexcept;

  MemoryBlock block_;
  Line* lines_ = nullptr;
  unsigned shift_ = 0;
  size_t count_ = 0;  // of lines, a power of two
  const uint64_t factor_;
  Reclaimer& readers_;
  std::deque<Erased> erased_;
  size_t size_ = 0;
};

}  // namespace hecto::lookup
