// The look-up in a trie by gathers: what trie_walk.hpp does, sixteen destinations at a time.
//
// Root and branches are gathers, whose lanes are loads in flight together. The branch behind the
// root, which most destinations have, is taken with all lanes where they are; from then on only
// those that go on are packed together. Fans and ranges of all levels wait until no branch is left:
// one loop each, which ends once. In large blocks the first fans, which are most, do not wait.
//
//   root ─► branch ─► sort ─┬► branches ─► next level ─► sort ─► …
//                           ├► fans ──► ranges ─► groups
//                           └► leaves ─► groups
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lookup/arena_header.hpp"
#include "lookup/gathers.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

constexpr uint32_t kBlock = 128;  // destinations that go down together
// From so many destinations on the fans behind the first branch are opened before others go down
// further: their lines come meanwhile. With fewer the end of one more loop costs more.
constexpr uint32_t kMany = 32;
constexpr unsigned kKeyBytes = 4;

// Destinations with what they wait for, packed. A vector more, so that whole ones can be stored.
struct Lanes {
  uint32_t count;
  alignas(64) uint32_t index[kBlock + 16];   // twice the destination's number in the block
  alignas(64) uint32_t offset[kBlock + 16];  // a slot without its kind
  alignas(64) uint32_t key[kBlock + 16];     // the next four bytes of the address, first on top
};
struct Waiting {
  Lanes branches, apart, spare;
  Lanes ranges, fans, leaves;
  alignas(64) uint32_t slot[kBlock];
  alignas(64) uint32_t key[kBlock];
};

inline uint32_t count_bits(uint32_t bits) {
  return static_cast<uint32_t>(__builtin_popcount(bits));
}
inline __m512i even_numbers() {
  return _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
inline __m512i odd_numbers() {
  return _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
inline __m512i indices_from(uint32_t number) {
  return _mm512_add_epi32(all(2 * number), even_numbers());
}
// Words from the wire.
inline __m512i swap_bytes(__m512i words) {
  const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(order));
}

// Destinations of one family: the four bytes from `level` on, zeros behind the address's end.
struct WideKeys4 {
  const char* from;

  __m512i at(__m512i index, unsigned level, __mmask16 chosen) const {
    __m512i word = gather_words<2>(from, index, chosen);
    return _mm512_sll_epi32(word, _mm_cvtsi32_si128(static_cast<int>(8 * level)));
  }
};
struct WideKeys6 {
  const char* from;

  __m512i at(__m512i index, unsigned level, __mmask16 chosen) const {
    unsigned begin = level < 12 ? level : 12;
    __m512i word = swap_bytes(gather_words<8>(from + begin, index, chosen));
    return _mm512_sll_epi32(word, _mm_cvtsi32_si128(static_cast<int>(8 * (level - begin))));
  }
};

// Slots of the children (of 32 each; higher bits do not matter) that the pairs at `pair` have.
inline __m512i children_of(const uint32_t* arena, const void* pairs, __m512i pair, __m512i child,
                           __mmask16 chosen) {
  __m512i low = gather_pairs(pairs, _mm512_castsi512_si256(pair), chosen & 0xff);
  __m512i high = gather_pairs(pairs, _mm512_extracti64x4_epi64(pair, 1), chosen >> 8);
  __m512i base = _mm512_permutex2var_epi32(low, even_numbers(), high);
  __m512i bitmap = _mm512_permutex2var_epi32(low, odd_numbers(), high);
  __m512i upto = _mm512_sllv_epi32(bitmap, _mm512_andnot_si512(child, all(31)));
  __m512i number = _mm512_add_epi32(base, _mm512_popcnt_epi32(upto));
  return gather_slots(arena, _mm512_sub_epi32(number, all(1)), chosen);
}
inline __m512i branch(const uint32_t* arena, __m512i offset, __m512i key, __mmask16 chosen) {
  // The top three bits of the next byte choose the pair.
  __m512i pair = _mm512_add_epi32(offset, _mm512_srli_epi32(key, 29));
  return children_of(arena, arena, pair, _mm512_srli_epi32(key, 24), chosen);
}

inline void append(Lanes& list, __m512i index, __m512i offset, __m512i key, __mmask16 chosen) {
  _mm512_storeu_si512(list.index + list.count, _mm512_maskz_compress_epi32(chosen, index));
  _mm512_storeu_si512(list.offset + list.count, _mm512_maskz_compress_epi32(chosen, offset));
  _mm512_storeu_si512(list.key + list.count, _mm512_maskz_compress_epi32(chosen, key));
  list.count += count_bits(chosen);
}
inline __m512i offset_of(__m512i slot) {
  return _mm512_and_si512(slot, all(TRIE_OFFSET_MASK));
}
inline __mmask16 is_kind(__m512i slot, uint32_t kind, __mmask16 among) {
  return _mm512_mask_cmpeq_epi32_mask(among, _mm512_srli_epi32(slot, 29), all(kind >> 29));
}
inline __mmask16 is_leaf(__m512i slot, __mmask16 among) {
  return among & static_cast<__mmask16>(~_mm512_movepi32_mask(slot));
}
// Leaves stay where they are.
inline void sort(Waiting& waiting, Lanes& branches, __m512i index, __m512i slot, __m512i key,
                 __mmask16 chosen) {
  __m512i offset = offset_of(slot);
  append(branches, index, offset, key, is_kind(slot, TRIE_BRANCH, chosen));
  append(waiting.ranges, index, offset, key, is_kind(slot, TRIE_RANGES_LINE, chosen));
  append(waiting.fans, index, offset, key, is_kind(slot, TRIE_FAN, chosen));
}

// Takes those in `branches`, whose next byte is `level`, down to what is no branch. `read` is the
// level at which their keys begin; windows are two bytes.
template <typename Keys>
inline void descend(const uint32_t* arena, Keys keys, Waiting& waiting, Lanes* branches,
                    unsigned level, unsigned read) {
  Lanes* next = &waiting.spare;
  while (branches->count != 0) {
    next->count = 0;
    ++level;
    bool reread = level + 2 > read + kKeyBytes;
    if (reread) read = level;
    for (uint32_t k = 0; k < branches->count; k += 16) {
      __mmask16 chosen = first_lanes(branches->count - k);
      __m512i index = _mm512_load_si512(branches->index + k);
      __m512i key = _mm512_load_si512(branches->key + k);
      __m512i slot = branch(arena, _mm512_load_si512(branches->offset + k), key, chosen);
      key = reread ? keys.at(index, level, chosen) : _mm512_slli_epi32(key, 8);
      sort(waiting, *next, index, slot, key, chosen);
      append(waiting.leaves, index, slot, key, is_leaf(slot, chosen));
    }
    Lanes* done = branches;
    branches = next;
    next = done;
  }
}

inline const char* line_at(const uint32_t* arena, uint32_t offset) {
  return reinterpret_cast<const char*>(arena) + size_t{offset} * 8;
}
// The window is the upper half of a key.
inline short window_of(const uint32_t* key) {
  return static_cast<short>(*key >> 16);
}
inline uint32_t count_fan(const char* line, short value) {
  __m512i wanted = _mm512_set1_epi16(value);
  return count_bits(_mm512_cmplt_epu16_mask(_mm512_load_si512(line), wanted));
}
inline const char* result_of(const char* line, short value) {
  __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i*>(line));
  __m256i wanted = _mm256_set1_epi16(value);
  // The sixteenth halfword is a result.
  uint32_t below = count_bits(_mm256_mask_cmplt_epu16_mask(0x7fff, keys, wanted));
  return line + 2 * (TRIE_KEYS + size_t{below});
}
inline void answer(const uint32_t* arena, const Lanes& ranges, char* to) {
  for (uint32_t k = 0; k < ranges.count; ++k) {
    const char* line = line_at(arena, ranges.offset[k]);
    memcpy(to + ranges.index[k], result_of(line, window_of(ranges.key + k)), 2);
  }
}
// From fan number `first` on to the ranges lines behind them; returns how many fans there are.
inline uint32_t open_fans(const uint32_t* arena, Lanes& fans, uint32_t first) {
  for (uint32_t k = first; k < fans.count; ++k) {
    uint32_t below = count_fan(line_at(arena, fans.offset[k]), window_of(fans.key + k));
    fans.offset[k] += TRIE_LINE_UNITS * (1 + below);
    __builtin_prefetch(line_at(arena, fans.offset[k]));
  }
  return fans.count;
}
// The groups of all that have come to leaves, fans and ranges. `opened`: fans done before.
inline void finish(const uint32_t* arena, Waiting& waiting, uint32_t opened, char* to) {
  const Lanes& leaves = waiting.leaves;
  for (uint32_t k = 0; k < leaves.count; ++k) memcpy(to + leaves.index[k], leaves.offset + k, 2);
  Lanes& fans = waiting.fans;
  open_fans(arena, fans, opened);
  answer(arena, waiting.ranges, to);
  answer(arena, fans, to);
}

inline void start(Waiting& waiting) {
  waiting.branches.count = waiting.apart.count = 0;
  waiting.ranges.count = waiting.fans.count = waiting.leaves.count = 0;
}

// From a table's slot, level 0.
template <typename Keys>
inline void walk_table(const uint32_t* arena, uint32_t table, Keys keys, size_t stride, char* to,
                       size_t n) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  __m512i slot = all(__atomic_load_n(arena + header->tables + table, __ATOMIC_ACQUIRE));
  Waiting waiting;
  for (size_t done = 0; done < n; done += kBlock, keys.from += stride * kBlock, to += 2 * kBlock) {
    auto count = static_cast<uint32_t>(n - done < kBlock ? n - done : kBlock);
    start(waiting);
    for (uint32_t k = 0; k < count; k += 16) {
      __mmask16 chosen = first_lanes(count - k);
      __m512i index = indices_from(k);
      store_groups(to + size_t{2} * k, chosen, slot);
      sort(waiting, waiting.branches, index, slot, keys.at(index, 0, chosen), chosen);
    }
    descend(arena, keys, waiting, &waiting.branches, 0, 0);
    finish(arena, waiting, 0, to);
  }
}

// The first 64 bits of sixteen addresses.
struct Heads {
  __m512i first;
  __m512i second;

  Heads(const char* from, uint32_t count) {
    uint64_t words = count < 16 ? (uint64_t{1} << 4 * count) - 1 : ~uint64_t{0};
    const __m512i upper = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    auto load = [&](unsigned part) {
      auto mask = static_cast<__mmask16>(words >> 16 * part);
      return _mm512_maskz_loadu_epi32(mask, from + size_t{64} * part);
    };
    __m512i low = swap_bytes(_mm512_permutex2var_epi64(load(0), upper, load(1)));
    __m512i high = swap_bytes(_mm512_permutex2var_epi64(load(2), upper, load(3)));
    first = _mm512_permutex2var_epi32(low, even_numbers(), high);
    second = _mm512_permutex2var_epi32(low, odd_numbers(), high);
  }
};

// Table 0 of IPv6 (trie_walk.hpp says what `rest` is). Those that go on from there begin at level 0
// and are kept apart. False when the root has answered all of the block.
inline bool enter_root6(const uint32_t* arena, const char* from, char* to, uint32_t count,
                        uint32_t rest, Waiting& waiting) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  const __m512i elsewhere = all(TRIE_ROOT_PAIRS);
  uint32_t nodes = 0;
  for (uint32_t k = 0; k < count; k += 16) {
    __mmask16 chosen = first_lanes(count - k);
    Heads heads(from + size_t{16} * k, count - k);
    __m512i number = _mm512_sub_epi32(_mm512_srli_epi32(heads.first, 13), elsewhere);
    number = _mm512_min_epu32(number, elsewhere);  // 001 goes, all else is too large
    __m512i slot =
        children_of(arena, arena + header->root, number, _mm512_srli_epi32(heads.first, 8), chosen);
    __mmask16 apart = _mm512_mask_cmpeq_epi32_mask(chosen, number, elsewhere);
    if (rest >= TRIE_NODE) {
      nodes |= apart;
      sort(waiting, waiting.apart, indices_from(k), all(rest), heads.first, apart);
      slot = _mm512_mask_mov_epi32(slot, apart, _mm512_setzero_si512());
    } else {
      slot = _mm512_mask_mov_epi32(slot, apart, all(rest));
    }
    nodes |= _mm512_movepi32_mask(slot);
    store_groups(to + size_t{2} * k, chosen, slot);
    _mm512_store_si512(waiting.slot + k, slot);
    _mm512_store_si512(waiting.key + k, _mm512_or_si512(_mm512_slli_epi32(heads.first, 24),
                                                        _mm512_srli_epi32(heads.second, 8)));
  }
  return nodes != 0;
}
// The branch behind the root, for those that have one.
inline void first_branch6(const uint32_t* arena, char* to, uint32_t count, Waiting& waiting) {
  for (uint32_t k = 0; k < count; k += 16) {
    __mmask16 chosen = first_lanes(count - k);
    __m512i slot = _mm512_load_si512(waiting.slot + k);
    __m512i key = _mm512_load_si512(waiting.key + k);
    __mmask16 goes_on = is_kind(slot, TRIE_BRANCH, chosen);
    slot = _mm512_mask_mov_epi32(slot, goes_on, branch(arena, offset_of(slot), key, goes_on));
    key = _mm512_mask_mov_epi32(key, goes_on, _mm512_slli_epi32(key, 8));
    store_groups(to + size_t{2} * k, chosen, slot);
    sort(waiting, waiting.branches, indices_from(k), slot, key, chosen);
  }
}
inline void walk_root6(const uint32_t* arena, const char* from, char* to, size_t n) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  uint32_t rest = __atomic_load_n(arena + header->tables, __ATOMIC_ACQUIRE);
  Waiting waiting;
  for (size_t done = 0; done < n; done += kBlock, from += 16 * kBlock, to += 2 * kBlock) {
    auto count = static_cast<uint32_t>(n - done < kBlock ? n - done : kBlock);
    start(waiting);
    if (!enter_root6(arena, from, to, count, rest, waiting)) continue;
    first_branch6(arena, to, count, waiting);
    uint32_t opened = 0;
    if (count >= kMany) opened = open_fans(arena, waiting.fans, 0);
    descend(arena, WideKeys6{from}, waiting, &waiting.branches, 4, 3);
    descend(arena, WideKeys6{from}, waiting, &waiting.apart, 0, 0);
    finish(arena, waiting, opened, to);
  }
}

inline void walk6(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                  size_t n) {
  auto* from = static_cast<const char*>(destinations);
  auto* to = static_cast<char*>(groups);
  if (table == 0) {
    walk_root6(arena, from, to, n);
  } else {
    walk_table(arena, table, WideKeys6{from}, 16, to, n);
  }
}
inline void walk4(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                  size_t n) {
  walk_table(arena, table, WideKeys4{static_cast<const char*>(destinations)}, 4,
             static_cast<char*>(groups), n);
}

}  // namespace
}  // namespace hecto::lookup
