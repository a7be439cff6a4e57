// The writer's half of DIR-24-8 (direct_layout.hpp): which entries a change touches, and in which
// order readers see the stores.
//
// Every prefix is expanded into the leaves it covers ("leaf pushing"), so readers never look back
// up. For that the writer alone keeps, beside each entry, the length of the prefix that owns the
// leaf (`depth`): an added prefix takes the leaves whose owner is not longer, a removed one gives
// its own leaves to the next shorter prefix. A node exists while a prefix ends in it.
//
//   add 10.1.2.128/25:   root[10.1.2] ──► node: fill 256 leaves with what root[10.1.2] held,
//                                               then store its index into root[10.1.2] (release),
//                                               then overwrite leaves 128..255
//
// Node 0 begins right behind the root, so one position names any entry of the arena.
#pragma once

#include <deque>
#include <tl/expected.hpp>
#include <vector>

#include "lookup/arena.hpp"
#include "lookup/direct_layout.hpp"
#include "lookup/fib.hpp"
#include "lookup/prefix_map.hpp"

namespace hecto::lookup {

class DirectTable {
 public:
  DirectTable(const FibOptions& options, Memory& memory, Reclaimer& reclaimer);
  bool allocate();

  // Prefixes are valid, groups in range.
  tl::expected<void, Error> add(const Prefix4& prefix, GroupId group);
  tl::expected<void, Error> load(std::span<const Route<Ipv4Address>> routes);
  tl::expected<void, Error> remove(const Prefix4& prefix);
  void publish();

  const GroupId* find(const Prefix4& prefix) const { return prefixes_.find(prefix); }
  const Arena& arena() const { return arena_; }
  void attach(Journal* journal) { arena_.attach(journal); }
  FibStatistics statistics() const;

 private:
  using Entry = uint16_t;
  using Position = uint32_t;  // of an entry: root, then the nodes one after the other
  struct Leaf {
    GroupId group;
    uint8_t depth;
  };
  struct Waiting {
    uint64_t token;
    std::vector<uint32_t> nodes;
  };

  static Position position_of(uint32_t node) {
    return DIRECT_ROOT_ENTRIES + node * DIRECT_NODE_ENTRIES;
  }
  Entry entry(Position at) const {
    return reinterpret_cast<const Entry*>(arena_.words() + DIRECT_ROOT_WORD)[at];
  }
  void fill(Position first, uint32_t count, uint8_t length, Leaf leaf);
  void apply(const Prefix4& prefix, Leaf leaf);
  bool have_node();
  uint32_t make_node(Position at);
  void collapse(Position at, uint32_t node);
  void reclaim();
  bool resize(uint32_t nodes);

  Arena arena_;
  Reclaimer& reclaimer_;
  size_t max_words_;
  uint64_t max_prefixes_;
  uint32_t node_count_ = 0;            // that the arena has room for
  std::vector<uint8_t> depth_;         // by position
  std::vector<uint16_t> prefixes_in_;  // by node: prefixes that end in it
  PrefixMap prefixes_;
  uint32_t next_node_ = 0;  // never used so far
  std::vector<uint32_t> free_nodes_;
  std::vector<uint32_t> retired_;  // since the last token
  std::deque<Waiting> waiting_;    // in the order of their tokens
};

}  // namespace hecto::lookup
