// Sorts what has arrived into lists, for instruction sets that cannot pack lanes of a vector.
#pragma once

#include "lookup/arrivals.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

// Each is stored in all lists; it stays in the one that counts on.
inline void sort_by_kind(const Arrivals& arrived, Arrivals& branches, Arrivals& ranges,
                         Arrivals& fans) {
  branches.count = ranges.count = fans.count = 0;
  auto put = [&](Arrivals& list, uint32_t k, bool there) {
    list.index[list.count] = arrived.index[k];
    list.slot[list.count] = arrived.slot[k];
    list.count += there;
  };
  for (uint32_t k = 0; k < arrived.count; ++k) {
    uint32_t kind = arrived.slot[k] >> 29;
    put(branches, k, kind >> 1 == TRIE_BRANCH >> 30);
    put(ranges, k, kind == TRIE_RANGES_LINE >> 29);
    put(fans, k, kind == TRIE_FAN >> 29);
  }
}

}  // namespace
}  // namespace hecto::lookup
