// The look-up in a trie, included once by the file of each instruction set: everything in it is
// that file's own. The file defines first what it is made of: count_bits, count_fan (how many of 32
// keys are below a value), result_of (the group that a ranges line has for a value), sort_by_kind.
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
#include "lookup/trie_steps.hpp"

namespace hecto::lookup {
namespace {

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

// Those outside of 2000::/3 have the table's slot and begin at level 0.
inline void descend_apart(const uint32_t* arena, Keys6 keys, char* to, Arrivals& arrived) {
  Arrivals unicast;
  Arrivals others;
  unicast.count = others.count = 0;
  for (uint32_t i = 0; i < arrived.count; ++i) {
    bool is_unicast = keys.byte(2 * i, 0) >> 5 == 1;
    unicast.index[unicast.count] = others.index[others.count] = 2 * i;
    unicast.slot[unicast.count] = others.slot[others.count] = arrived.slot[i];
    unicast.count += is_unicast;
    others.count += !is_unicast;
  }
  descend(arena, keys, to, unicast, 3);
  descend(arena, keys, to, others, 0);
}

// Table 0 of IPv6: 2000::/3 from the root, all else from the table's slot. That is read once: while
// it changes, all destinations of a call have its old or its new value and begin at its level.
inline void walk_root6(const uint32_t* arena, const char* from, char* to, size_t n) {
  auto* header = reinterpret_cast<const ArenaHeader*>(arena);
  auto* root = reinterpret_cast<const uint64_t*>(arena + header->root);
  constexpr uint32_t kElsewhere = TRIE_ROOT_PAIRS;
  uint32_t rest = load_slot(arena + header->tables);
  for (size_t done = 0; done < n; done += kBlock, from += 16 * kBlock, to += 2 * kBlock) {
    Keys6 keys{from};
    Arrivals arrived;
    auto count = static_cast<uint32_t>(n - done < kBlock ? n - done : kBlock);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t word = keys.word(2 * i);
      uint32_t number = (word >> 13) - kElsewhere;  // 001 goes, all else is too large
      number = number < kElsewhere ? number : kElsewhere;
      uint64_t pair = __atomic_load_n(root + number, kLoadOrder);
      uint32_t slot = load_slot(slot_at(arena, pair, word >> 8));
      slot = number == kElsewhere ? rest : slot;
      __builtin_prefetch(block_of(arena, slot));
      arrived.slot[i] = slot;
    }
    for (uint32_t i = 0; i < count; ++i) store16(to + 2 * i, arrived.slot[i]);
    for (uint32_t i = 0; i < count; ++i) arrived.index[i] = 2 * i;
    arrived.count = count;
    if (rest < TRIE_NODE) {
      descend(arena, keys, to, arrived, 3);
    } else {
      descend_apart(arena, keys, to, arrived);
    }
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
