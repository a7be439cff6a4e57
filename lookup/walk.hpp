// How the bytes of an arena are read. C types only and nothing that leaves its file, so that
// kernels for any instruction set (and for a GPU) can include it.
//
//   words  0..15   ArenaHeader, zero padding
//   root           2^24 entries, one for each value of the first 24 bits of an address
//   nodes          256 entries each, one for each value of the next 8 bits
//
// An entry is a leaf (the next-hop group) or, with its top bit set, the index of a node. IPv4 has
// 2-byte entries and one level of nodes; IPv6 has 4-byte entries and up to 13 levels.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  LOOKUP_ROOT_WORD = 16,
  LOOKUP_ROOT_BITS = 24,
  LOOKUP_STEP_BITS = 8,
  LOOKUP_ROOT_ENTRIES = 1 << LOOKUP_ROOT_BITS,
  LOOKUP_NODE_ENTRIES = 1 << LOOKUP_STEP_BITS,
  LOOKUP_NODES_WORD4 = LOOKUP_ROOT_WORD + LOOKUP_ROOT_ENTRIES / 2,
  LOOKUP_NODES_WORD6 = LOOKUP_ROOT_WORD + LOOKUP_ROOT_ENTRIES,
};

#define LOOKUP_EXTENDED4 0x8000u
#define LOOKUP_EXTENDED6 0x80000000u
