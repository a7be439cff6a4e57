// What a look-up in a trie loads and stores, for the kernels' files alone. Each file defines
// count_bits before it includes this.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lookup/arrivals.hpp"
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
  uint32_t word(uint32_t at) const {  // the first 32 bits
    uint32_t value;
    memcpy(&value, from + 8 * size_t{at}, sizeof(value));
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(value) : value;
  }
};

// The block that a slot names; for a leaf, what lies near the arena's start.
inline const char* block_of(const uint32_t* arena, uint32_t slot) {
  return reinterpret_cast<const char*>(arena) + size_t{slot & TRIE_OFFSET_MASK} * 8;
}

}  // namespace
}  // namespace hecto::lookup
