// Builds a RuleTree (rule_tree.hpp). Work and memory are bounded by the number of entries, whatever they ask for: a cut that would
// copy rules into more children than a share of kMostCopies is not made, and what is left is a leaf.
#pragma once

#include <span>
#include <vector>

#include "router/dataplane/filter/rule_tree.hpp"

namespace hecto::router {

template <unsigned AddressBytes>
class TreeBuilder {
 public:
  using Rule = TreeRule<AddressBytes>;
  using Tree = RuleTree<AddressBytes>;
  static constexpr size_t kMostCopies = 8;  // of an entry, on the average; of very many two
  static constexpr size_t kLeaf = 6;        // what so few are is not cut
  static constexpr size_t kGated = 16;      // a leaf of so many is asked as a whole first
  static constexpr unsigned kDepth = 24;

  // At most, for a moment, of so many.
  static uint64_t most_bytes(uint64_t rules);
  // In order. Throws std::bad_alloc.
  static BuiltTree<AddressBytes> build(std::span<const Rule> rules);

 private:
  using List = std::vector<uint32_t>;  // places in rules_, in order
  // What is known of keys in a part of a tree.
  struct Box {
    std::array<TreeWord, Rule::kWords> words;  // value, mask
  };
  struct Cut {
    unsigned word = 0, shift = 0, bits = 0;
    uint32_t mask() const { return (uint32_t{1} << bits) - 1; }
  };

  static size_t copies_of(uint64_t rules) { return rules > 400'000 ? 2 : kMostCopies; }
  explicit TreeBuilder(std::span<const Rule> rules) : rules_(rules) {}
  void deal_out();
  void add_group(List list, const Box& box);
  TreeNode node(List& list, const Box& box, size_t copies, unsigned depth);
  TreeNode leaf(const List& list);
  void add_gate(const List& list);
  bool choose(const List& list, const Box& box, size_t copies, Cut& best);
  double rate(const List& sample, const Box& box, const Cut& cut, double most_copies);
  void cut_off(List& list, const Box& box) const;
  template <typename Each>
  void each_child(const Rule& rule, const Box& box, const Cut& cut, Each&& each) const;
  size_t children(const Rule& rule, const Box& box, const Cut& cut) const;

  const std::span<const Rule> rules_;
  BuiltTree<AddressBytes> built_;
  unsigned groups_ = 0;
  size_t spare_ = 0;             // entries that there may be beyond those there are
  double price_ = 0;             // of copies, in that
  std::vector<uint32_t> sizes_;  // of children, while a cut is rated
};

extern template class TreeBuilder<4>;
extern template class TreeBuilder<16>;

}  // namespace hecto::router
