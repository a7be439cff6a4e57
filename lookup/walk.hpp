// One look-up over an arena's bytes, for CPU and GPU: what a thread of a GPU runs, and the device
// that stands in for one in tests. Answers are those of the kernels (kernels.hpp), to the bit.
//
// The arena must not change during a look-up (a device has copies for that); there is no prefetch
// and no block of destinations: a GPU hides its loads behind other threads. CUDA loads go through
// the read-only cache; a line of the trie is 64 bytes, read in quarters of 16.
#pragma once

#include <stdint.h>
#include <string.h>

#include "lookup/arena_header.hpp"
#include "lookup/direct_layout.hpp"
#include "lookup/hd.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {

// An IPv6 address as two numbers, most significant first.
struct Key6 {
  uint64_t high;
  uint64_t low;

  // The address from byte `level` (below 16) on, at the head of 64 bits.
  HD uint64_t from_byte(unsigned level) const {
    if (level == 0) return high;
    if (level < 8) return high << 8 * level | low >> (64 - 8 * level);
    return low << 8 * (level - 8);
  }
  HD uint32_t byte(unsigned level) const { return static_cast<uint32_t>(from_byte(level) >> 56); }
  HD uint32_t window(unsigned level) const { return static_cast<uint32_t>(from_byte(level) >> 48); }
};

// An IPv4 address in host order.
struct Key4 {
  uint32_t value;

  HD uint32_t byte(unsigned level) const { return value >> (24 - 8 * level) & 0xff; }
  HD uint32_t window(unsigned level) const { return value << 8 * level >> 16; }
};

namespace walk {

template <typename T>
HD inline T load(const void* at) {
#if defined(__CUDA_ARCH__)
  return __ldg(static_cast<const T*>(at));
#else
  T value;
  memcpy(&value, at, sizeof(value));
  return value;
#endif
}
HD inline uint32_t count_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__popc(static_cast<int>(bits)));
#else
  return static_cast<uint32_t>(__builtin_popcount(bits));
#endif
}

struct alignas(16) Quarter {  // eight halfwords of a line
  uint32_t words[4];
};
HD inline Quarter load_quarter(const void* at) {
#if defined(__CUDA_ARCH__)
  uint4 value = __ldg(static_cast<const uint4*>(at));
  return {{value.x, value.y, value.z, value.w}};
#else
  return load<Quarter>(at);
#endif
}
// How many of the eight are below `value`. Both halves of a word hold one each, whatever the
// machine's byte order.
HD inline uint32_t count_below(const Quarter& keys, uint32_t value) {
  uint32_t below = 0;
  for (int i = 0; i < 4; ++i) {
    below += (keys.words[i] & 0xffff) < value;
    below += keys.words[i] >> 16 < value;
  }
  return below;
}

struct alignas(8) Pair {
  uint32_t base;
  uint32_t bitmap;
};
HD inline Pair load_pair(const void* at) {
#if defined(__CUDA_ARCH__)
  uint2 value = __ldg(static_cast<const uint2*>(at));
  return {value.x, value.y};
#else
  return load<Pair>(at);
#endif
}

HD inline const char* block_of(const uint32_t* arena, uint32_t slot) {
  return reinterpret_cast<const char*>(arena) + uint64_t{slot & TRIE_OFFSET_MASK} * 8;
}
// The slot of child `number` (of 32; higher bits do not matter) of the pair at `at`.
HD inline uint32_t child_slot(const uint32_t* arena, const void* at, uint32_t number) {
  Pair pair = load_pair(at);
  return load<uint32_t>(arena + pair.base + count_bits(pair.bitmap << (~number & 31)) - 1);
}
// The group that a `ranges` line has for a value. Its 16th halfword is a group, not a key.
HD inline uint16_t result_of(const char* line, uint32_t value) {
  Quarter second = load_quarter(line + 16);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  second.words[3] |= 0xffff0000;
#else
  second.words[3] |= 0x0000ffff;
#endif
  uint32_t below = count_below(load_quarter(line), value) + count_below(second, value);
  return load<uint16_t>(line + 2 * (TRIE_KEYS + below));
}
HD inline uint32_t count_fan(const char* keys, uint32_t value) {
  uint32_t below = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    below += count_below(load_quarter(keys + 16 * quarter), value);
  }
  return below;
}

// From a slot, whose next byte is `level`, to the group.
template <typename Key>
HD inline uint16_t descend(const uint32_t* arena, Key key, uint32_t slot, unsigned level) {
  for (; slot >> 30 == TRIE_BRANCH >> 30; ++level) {
    uint32_t child = key.byte(level);
    slot = child_slot(arena, block_of(arena, slot) + 8 * (child / TRIE_PAIR_CHILDREN), child);
  }
  if (slot < TRIE_NODE) return static_cast<uint16_t>(slot);
  const char* line = block_of(arena, slot);
  uint32_t value = key.window(level);
  if (slot >= TRIE_FAN) line += TRIE_LINE_BYTES * (1 + count_fan(line, value));
  return result_of(line, value);
}
HD inline uint32_t table_slot(const uint32_t* arena, uint32_t table) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  return load<uint32_t>(arena + load<uint32_t>(&header->tables) + table);
}

}  // namespace walk

HD inline uint16_t lookup_direct4(const uint32_t* arena, Key4 key) {
  auto* root = reinterpret_cast<const uint16_t*>(arena + DIRECT_ROOT_WORD);
  auto entry = walk::load<uint16_t>(root + (key.value >> 8));
  if ((entry & DIRECT_NODE) == 0) return entry;
  auto* nodes = reinterpret_cast<const uint16_t*>(arena + DIRECT_NODES_WORD);
  uint32_t node = entry & ~DIRECT_NODE;
  return walk::load<uint16_t>(nodes + node * DIRECT_NODE_ENTRIES + (key.value & 0xff));
}
HD inline uint16_t lookup_trie4(const uint32_t* arena, uint32_t table, Key4 key) {
  return walk::descend(arena, key, walk::table_slot(arena, table), 0);
}
// Table 0 has a root for 2000::/3.
HD inline uint16_t lookup_trie6(const uint32_t* arena, uint32_t table, Key6 key) {
  uint32_t first = static_cast<uint32_t>(key.high >> 32);
  if (table != 0 || first >> 29 != 1) {
    return walk::descend(arena, key, walk::table_slot(arena, table), 0);
  }
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  const uint32_t* root = arena + walk::load<uint32_t>(&header->root);
  uint32_t pair = (first >> 13) - TRIE_ROOT_PAIRS;
  return walk::descend(arena, key, walk::child_slot(arena, root + 2 * pair, first >> 8), 3);
}

}  // namespace hecto::lookup
