// What stands first in every arena, for readers of its bytes: kernels, a GPU, a dump.
#pragma once

#include <cstdint>

namespace hecto::lookup {

// Offsets are in 32-bit words from the arena's start.
inline constexpr uint32_t kDirectMagic = 0x01344448;  // "HD4\1": direct_layout.hpp
inline constexpr uint32_t kTrie4Magic = 0x01345448;   // "HT4\1": trie_layout.hpp
inline constexpr uint32_t kTrie6Magic = 0x01365448;   // "HT6\1"

struct ArenaHeader {
  uint32_t magic = 0;       // which engine
  uint32_t words = 0;       // size of the arena
  uint64_t generation = 0;  // grows with every publish(); written last
  uint32_t root = 0;        // the first level of table 0, 0 where it has none
  uint32_t groups = 0;      // tries with a root: word g holds g
  uint32_t tables = 0;      // tries: one slot a table
  uint32_t table_count = 0;
  uint32_t nodes = 0;     // what follows the fixed sections
  uint32_t checksum = 0;  // FNV-1a of the words before it
};

}  // namespace hecto::lookup
