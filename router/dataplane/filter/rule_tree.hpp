// The rules of a filter and family as decision trees: from keys to the first rule that holds.
//
//   protocol ─► its trees ─► cuts: some bits of the key choose a child ─► leaf: a few rules, compared in order
//
// Rules are dealt out to several trees by what they say much about (long sources, long destinations, ports), so
// that few are copied into many children (CutSplit, HiCuts). A packet asks each tree, and a leaf only while that
// may hold an earlier rule than the one found. What no cut tells apart stays a long leaf: that costs packets time,
// and never the build more than its bound of work and memory.
//
// Immutable once built (tree_builder.hpp), so thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "router/dataplane/filter/tree_rule.hpp"

namespace hecto::router {

// A cut: where its children begin, and which bits of the key choose among them. A leaf: where its entries begin,
// and the first rule that they have.
class TreeNode {
 public:
  static constexpr uint32_t kNoRule = 0x7fffffff;  // more than any

  constexpr TreeNode() : TreeNode(leaf(0, kNoRule)) {}
  static constexpr TreeNode cut(uint32_t children, unsigned byte, unsigned shift, uint32_t mask) {
    return TreeNode(uint64_t{mask} << 45 | uint64_t{shift} << 40 | uint64_t{byte} << 32 | children);
  }
  static constexpr TreeNode leaf(uint32_t entries, uint32_t first_rule) {
    return TreeNode(uint64_t{1} << 63 | uint64_t{first_rule} << 32 | entries);
  }
  bool is_leaf() const noexcept { return bits_ >> 63 != 0; }
  uint32_t entries() const noexcept { return static_cast<uint32_t>(bits_); }
  uint32_t first_rule() const noexcept { return static_cast<uint32_t>(bits_ >> 32) & kNoRule; }
  // Of a cut, for this key.
  uint32_t child(const uint8_t* key) const noexcept {
    uint32_t word;
    __builtin_memcpy(&word, key + (bits_ >> 32 & 0xff), sizeof word);
    const uint32_t chosen = __builtin_bswap32(word) >> (bits_ >> 40 & 0x1f);
    return static_cast<uint32_t>(bits_) + (chosen & static_cast<uint32_t>(bits_ >> 45));
  }

 private:
  explicit constexpr TreeNode(uint64_t bits) : bits_(bits) {}
  uint64_t bits_;
};

// One in a leaf: what most rules ask for. Address words are as the key has them.
template <unsigned AddressBytes>
struct TreeEntry;
template <>
struct alignas(32) TreeEntry<4> {
  uint32_t source, source_mask, destination, destination_mask;
  uint16_t ports[2], port_spans[2];  // first, and how many more
  uint8_t protocol, protocol_mask;
  uint16_t unused;
  uint32_t rule;  // and kLast, kMore
};
template <>
struct alignas(64) TreeEntry<16> {
  uint64_t source[2], destination[2];
  uint16_t ports[2], port_spans[2];
  uint8_t protocol, protocol_mask;
  uint8_t source_length, destination_length;
  uint32_t rule;
  uint32_t unused[4];
};
static_assert(sizeof(TreeEntry<4>) == 32 && sizeof(TreeEntry<16>) == 64);

// What only some rules ask for.
struct TreeRest {
  TreeWord classes, bits, sizes, mark;
};

// Trees that lie somewhere in memory.
template <unsigned AddressBytes>
class RuleTree {
 public:
  using Key = FilterKey<AddressBytes>;
  using Rule = TreeRule<AddressBytes>;
  static constexpr unsigned kMostTrees = 6, kMostGroups = 5;
  static constexpr unsigned kMostKeys = 256;  // at once
  static constexpr uint32_t kLast = uint32_t{1} << 31, kMore = uint32_t{1} << 30,
                            kGate = uint32_t{1} << 29;
  static constexpr uint32_t kRuleBits = kGate - 1;

  // Of n keys the rule from 1, or 0.
  void find(const Key* keys, unsigned n, uint32_t* rules) const noexcept;
  unsigned trees() const { return trees_; }

 private:
  template <unsigned>
  friend class TreeBuilder;
  template <unsigned>
  friend class BuiltTree;

  uint32_t scan(const Key& key, uint32_t entry, uint32_t found) const noexcept;
  bool rest_holds(const Key& key, uint32_t entry) const noexcept;

  const TreeEntry<AddressBytes>* entries_ = nullptr;
  const TreeNode* nodes_ = nullptr;
  const uint32_t* rest_of_ = nullptr;  // by entry, where it has kMore
  const TreeRest* rests_ = nullptr;
  unsigned trees_ = 0;
  std::array<uint8_t, 256> group_{};  // by protocol
  TreeNode roots_[kMostGroups][kMostTrees];
};

// Trees as they are made; where they are to lie is said then.
template <unsigned AddressBytes>
class BuiltTree {
 public:
  // 64-aligned memory; it outlives what is returned.
  RuleTree<AddressBytes> placed(uint8_t* memory) const;
  uint64_t bytes() const;
  size_t longest_leaf() const { return longest_leaf_; }

 private:
  template <unsigned>
  friend class TreeBuilder;
  RuleTree<AddressBytes> tree_;
  std::vector<TreeEntry<AddressBytes>> entries_;
  std::vector<TreeNode> nodes_;
  std::vector<TreeRest> rests_;
  std::vector<uint32_t> rest_of_;
  size_t longest_leaf_ = 0;
};

extern template class RuleTree<4>;
extern template class RuleTree<16>;
extern template class BuiltTree<4>;
extern template class BuiltTree<16>;

}  // namespace hecto::router
