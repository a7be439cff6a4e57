// How the bytes of a trie arena are read. C types only and nothing that leaves its file, so that
// kernels for any instruction set (and for a GPU) can include it.
//
//   words  0..15   ArenaHeader, zero padding
//   root           IPv6: 65,536 pairs, one for each value of the 16 bits behind 001 (2000::/3), and
//                  one for all other addresses, whose child is table 0's slot
//   groups         IPv6: word g holds g; what a pair of one group points to
//   tables         one slot for each table
//   lines          64 bytes each, the blocks below
//
// A slot is 32 bits: a leaf (the next-hop group), or a block, its kind in the top three bits and
// its offset from word 0, in units of 8 bytes, below them.
// `depth` is the number of address bits that lead to a slot.
//
//   branch   the next 8 bits choose one of 256 children. Eight pairs {base, bitmap} of 32 children
//            each; a bit is set where a child differs from the one before; the slot of a child is
//            word base + (number of bits set up to its own) - 1. The slots follow in the block.
//   ranges   the next 16 bits, compared with 15 sorted keys: result r counts the keys below.
//            Halfwords: 15 keys (first value of a range less one; 0xffff where unused), 16 groups.
//   fan      the next 16 bits, compared with 32 keys likewise: line 1 + r of the block is a
//            `ranges` line for the same 16 bits.
#pragma once

#include <stdint.h>

enum {
  TRIE_LINE_WORDS = 16,
  TRIE_LINE_BYTES = 64,
  TRIE_LINE_UNITS = 8,  // a line in a slot's units
  TRIE_STRIDE = 8,      // bits a branch takes
  TRIE_CHILDREN = 256,
  TRIE_PAIR_CHILDREN = 32,
  TRIE_PAIRS = TRIE_CHILDREN / TRIE_PAIR_CHILDREN,
  TRIE_WINDOW = 16,  // bits that ranges and fans look at
  TRIE_RANGES = 16,  // results of a ranges line
  TRIE_KEYS = TRIE_RANGES - 1,
  TRIE_FAN_KEYS = 32,
  TRIE_FAN_LINES = 31,  // ranges lines of a fan: a block has 32 lines at most
  TRIE_ROOT_BITS = 24,  // bits that a pair of the root decides: 001, its index, its child
  TRIE_ROOT_PAIRS = 65536,
};

#define TRIE_NODE 0x80000000u
#define TRIE_BRANCH 0x80000000u
#define TRIE_RANGES_LINE 0xc0000000u
#define TRIE_FAN 0xe0000000u
#define TRIE_OFFSET_MASK 0x1fffffffu

static inline int trie_is_branch(uint32_t slot) {
  return (slot >> 30) == 2;
}
