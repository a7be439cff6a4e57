// Which rules share a tree (rule_tree.hpp): those that say so many leading bits of one field that these tell most
// of them apart.
#pragma once

#include <span>
#include <vector>

#include "router/dataplane/filter/tree_rule.hpp"

namespace hecto::router {

// Of a word that is two spans.
struct Half {
  uint32_t first, last;
};
inline Half half_of(const TreeWord& word, bool high) {
  return high ? Half{word.a >> 16, word.b >> 16} : Half{word.a & 0xffff, word.b & 0xffff};
}

// Evenly over the list.
std::vector<uint32_t> sample_of(const std::vector<uint32_t>& list, size_t most);

// Places in `rules`, in order; of at most `most` lists what says most first.
template <unsigned AddressBytes>
std::vector<std::vector<uint32_t>> deal_trees(std::span<const TreeRule<AddressBytes>> rules,
                                              std::vector<uint32_t> list, size_t most);

}  // namespace hecto::router
