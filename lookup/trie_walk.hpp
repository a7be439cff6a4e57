// The look-up in a trie, included once by the file of each instruction set: everything in it is
// that file's own.
//
// A block of destinations goes down together, so that their loads overlap: what a slot names is
// prefetched when the slot is read and visited when all others have been. At each level those that
// have arrived are sorted into three lists without a branch that could be mispredicted.
//
//   root or table slot ─► arrived ─► sort_by_kind ─► fans ─► ranges ─► groups
//                            ▲            └────────► branches ─┐
//                            └──────── next level ─────────────┘
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lookup/arena_header.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

// What other threads store one by one. On all CPUs that Linux runs on, a load that depends on this
// one sees what was written before; ThreadSanitizer wants it said.
#if defined(__SANITIZE_THREAD__)
constexpr int kLoadOrder = __ATOMIC_ACQUIRE;
#else
constexpr int kLoadOrder = __ATOMIC_RELAXED;
#endif
inline uint32_t load_slot(const uint32_t* at) {
  return __atomic_load_n(at, kLoadOrder);
}
inline uint32_t base_of(uint64_t pair) {
  return static_cast<uint32_t>(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? pair : pair >> 32);
}
inline uint32_t bitmap_of(uint64_t pair) {
  return static_cast<uint32_t>(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? pair >> 32 : pair);
}
// Where the slot of child `number` (of 32; higher bits do not matter) is.
inline const uint32_t* slot_at(const uint32_t* arena, uint64_t pair, uint32_t number) {
  uint32_t upto = bitmap_of(pair) << (~number & 31);
  return arena + base_of(pair) + count_bits(upto) - 1;
}

inline void store16(char* to, uint32_t value) {
  auto half = static_cast<uint16_t>(value);
  memcpy(to, &half, sizeof(half));
}

// Destinations of one family. `at` is twice a destination's number, which is where its group goes
// in bytes; `level` counts bytes from the first on the wire.
struct Keys4 {
  const char* from;

  uint32_t address(uint32_t at) const {
    uint32_t value;
    memcpy(&value, from + 2 * size_t{at}, sizeof(value));
    return value;
  }
  uint32_t byte(uint32_t at, unsigned level) const {
    return address(at) >> (24 - 8 * level) & 0xff;
  }
  uint32_t window(uint32_t at, unsigned level) const { return address(at) << 8 * level >> 16; }
};
struct Keys6 {
  const char* from;

  uint32_t byte(uint32_t at, unsigned level) const {
    return static_cast<unsigned char>(from[8 * size_t{at} + level]);
  }
  uint32_t window(uint32_t at, unsigned level) const {
    if (level == 15) return byte(at, level) << 8;
    uint16_t value;
    memcpy(&value, from + 8 * size_t{at} + level, sizeof(value));
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16(value) : value;
  }
  uint64_t high(uint32_t at) const {
    uint64_t value;
    memcpy(&value, from + 8 * size_t{at}, sizeof(value));
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(value) : value;
  }
};

// The block that a slot names; for a leaf, what lies near the arena's start.
inline const char* block_of(const uint32_t* arena, uint32_t slot) {
  return reinterpret_cast<const char*>(arena) + size_t{slot & TRIE_OFFSET_MASK} * 8;
}

// Takes those in `arrived`, whose next byte is `level`, to their leaves. The groups of those that
// are at a leaf already have been stored.
template <typename Keys>
inline void descend(const uint32_t* arena, Keys keys, char* to, Arrivals& arrived, unsigned level) {
  Arrivals branches;
  Arrivals ranges;
  Arrivals fans;
  auto finish = [&](const Arrivals& list) {
    for (uint32_t k = 0; k < list.count; ++k) {
      uint32_t at = list.index[k];
      auto value = static_cast<uint16_t>(keys.window(at, level));
      auto* line = reinterpret_cast<const uint16_t*>(block_of(arena, list.slot[k]));
      store16(to + at, result_of(line, value));
    }
  };
  for (;; ++level) {
    sort_by_kind(arrived, branches, ranges, fans);
    for (uint32_t k = 0; k < fans.count; ++k) {
      auto value = static_cast<uint16_t>(keys.window(fans.index[k], level));
      uint32_t slot = fans.slot[k];
      auto* line = reinterpret_cast<const uint16_t*>(block_of(arena, slot));
      slot += TRIE_LINE_UNITS * (1 + count_fan(line, value));
      fans.slot[k] = slot;
      __builtin_prefetch(block_of(arena, slot));
    }
    finish(ranges);
    finish(fans);
    if (branches.count == 0) return;
    for (uint32_t k = 0; k < branches.count; ++k) {
      uint32_t at = branches.index[k];
      uint32_t child = keys.byte(at, level);
      auto* pairs = reinterpret_cast<const uint64_t*>(block_of(arena, branches.slot[k]));
      uint64_t pair = __atomic_load_n(pairs + child / TRIE_PAIR_CHILDREN, kLoadOrder);
      uint32_t slot = load_slot(slot_at(arena, pair, child));
      store16(to + at, slot);
      __builtin_prefetch(block_of(arena, slot));
      arrived.index[k] = at;
      arrived.slot[k] = slot;
    }
    arrived.count = branches.count;
  }
}

// From a table's slot, level 0.
template <typename Keys>
inline void walk_table(const uint32_t* arena, uint32_t table, Keys keys, size_t stride, char* to,
                       size_t n) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  uint32_t slot = load_slot(arena + header->tables + table);
  for (size_t done = 0; done < n; done += kBlock) {
    Arrivals arrived;
    arrived.count = static_cast<uint32_t>(n - done < kBlock ? n - done : kBlock);
    for (uint32_t i = 0; i < arrived.count; ++i) {
      arrived.index[i] = 2 * i;
      arrived.slot[i] = slot;
      store16(to + 2 * (done + i), slot);
    }
    descend<Keys>(arena, {keys.from + done * stride}, to + 2 * done, arrived, 0);
  }
}

// Table 0 of IPv6: 2000::/3 from the root, the rest from the slot.
inline void walk_root6(const uint32_t* arena, const char* from, char* to, size_t n) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  auto* root = reinterpret_cast<const uint64_t*>(arena + header->root);
  for (size_t done = 0; done < n; done += kBlock, from += 16 * kBlock, to += 2 * kBlock) {
    Keys6 keys{from};
    Arrivals arrived;
    arrived.count = static_cast<uint32_t>(n - done < kBlock ? n - done : kBlock);
    uint64_t elsewhere = 0;
    for (uint32_t i = 0; i < arrived.count; ++i) {
      uint64_t high = keys.high(2 * i);
      elsewhere |= high ^ uint64_t { 1 } << 61;
      uint64_t pair = __atomic_load_n(root + (high >> 45 & (TRIE_ROOT_PAIRS - 1)), kLoadOrder);
      uint32_t slot = load_slot(slot_at(arena, pair, static_cast<uint32_t>(high >> 40)));
      store16(to + 2 * i, slot);
      __builtin_prefetch(block_of(arena, slot));
      arrived.index[i] = 2 * i;
      arrived.slot[i] = slot;
    }
    if (elsewhere >> 61 == 0) {
      descend(arena, keys, to, arrived, 3);
      continue;
    }
    Arrivals others;
    uint32_t count = 0;
    uint32_t slot = load_slot(arena + header->tables);
    others.count = 0;
    for (uint32_t i = 0; i < arrived.count; ++i) {
      bool unicast = keys.byte(2 * i, 0) >> 5 == 1;
      if (!unicast) store16(to + 2 * i, slot);
      others.index[others.count] = 2 * i;
      others.slot[others.count] = slot;
      others.count += !unicast;
      arrived.index[count] = 2 * i;
      arrived.slot[count] = arrived.slot[i];
      count += unicast;
    }
    arrived.count = count;
    descend(arena, keys, to, arrived, 3);
    descend(arena, keys, to, others, 0);
  }
}

inline void walk6(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                  size_t n) {
  auto* from = static_cast<const char*>(destinations);
  auto* to = static_cast<char*>(groups);
  if (table == 0) {
    walk_root6(arena, from, to, n);
  } else {
    walk_table(arena, table, Keys6{from}, 16, to, n);
  }
}
inline void walk4(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                  size_t n) {
  walk_table(arena, table, Keys4{static_cast<const char*>(destinations)}, 4,
             static_cast<char*>(groups), n);
}

}  // namespace
}  // namespace hecto::lookup
