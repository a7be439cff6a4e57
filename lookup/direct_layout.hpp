// How the bytes of a DIR-24-8 arena are read. C types only and nothing that leaves its file, so
// that kernels for any instruction set (and for a GPU) can include it.
//
//   words  0..15   ArenaHeader, zero padding
//   root           2^24 entries, one for each value of the first 24 bits of an address
//   nodes          256 entries each, one for each value of the last 8 bits
//
// An entry is two bytes: a leaf (the next-hop group) or, with its top bit set, the index of a node.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  DIRECT_ROOT_WORD = 16,
  DIRECT_ROOT_ENTRIES = 1 << 24,
  DIRECT_NODE_ENTRIES = 256,
  DIRECT_NODES_WORD = DIRECT_ROOT_WORD + DIRECT_ROOT_ENTRIES / 2,
  DIRECT_NODE_WORDS = DIRECT_NODE_ENTRIES / 2,
  DIRECT_MAX_NODES = 0x8000,
};

#define DIRECT_NODE 0x8000u
