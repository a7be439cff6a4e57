// The writer's half of a FIB, the same for both families: which entries of the arena (walk.hpp) a
// change touches, and in which order readers see the stores.
//
// Every prefix is expanded into the leaves it covers ("leaf pushing"), so readers never look back
// up. For that the writer alone keeps, beside each entry, the length of the prefix that owns the
// leaf (`depth`): an added prefix takes the leaves whose owner is not longer, a removed one gives
// its own leaves to the next shorter prefix. A node exists while a prefix ends in it or below it.
//
//   add 10.1.2.128/25:   root[10.1.2] ──► node: fill 256 leaves with what root[10.1.2] held,
//                                               then store its index into root[10.1.2] (release),
//                                               then overwrite leaves 128..255
//
// Node 0 begins right behind the root, so one position names any entry of the arena.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <tl/expected.hpp>
#include <vector>

#include "lookup/fib.hpp"
#include "lookup/memory_block.hpp"
#include "lookup/radix_tree.hpp"
#include "lookup/walk.hpp"

namespace hecto::lookup {

// FNV-1a over the header's words but the checksum itself.
inline uint32_t checksum_of(const ArenaHeader& header) {
  uint32_t words[sizeof(ArenaHeader) / 4];
  std::memcpy(words, &header, sizeof(header));
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < offsetof(ArenaHeader, checksum) / 4; ++i) {
    sum = (sum ^ words[i]) * 16777619u;
  }
  return sum;
}

// Traits: Address, Entry (unsigned), kExtended (its top bit), kMagic, kDefaultNodes, kMaxNodes.
template <typename Traits>
class MultibitTable {
  using Address = typename Traits::Address;
  using Entry = typename Traits::Entry;
  using PrefixType = Prefix<Address>;
  using Position = uint32_t;  // of an entry: root, then the nodes one after the other

 public:
  MultibitTable(const FibOptions& options, Reclaimer& reclaimer)
      : reclaimer_(reclaimer),
        node_count_(std::min(options.max_nodes == 0 ? Traits::kDefaultNodes : options.max_nodes,
                             Traits::kMaxNodes)) {}

  bool allocate(const FibOptions& options, Memory& memory) {
    size_t entries = LOOKUP_ROOT_ENTRIES + size_t{node_count_} * LOOKUP_NODE_ENTRIES;
    size_t bytes = LOOKUP_ROOT_WORD * 4 + entries * sizeof(Entry);
    depth_block_ = MemoryBlock(Memory::system(), entries, 0);
    depth_ = depth_block_.template as<uint8_t>();
    if (depth_ == nullptr) return false;
    for (int socket : options.sockets) {
      MemoryBlock block(memory, bytes, socket);
      auto* words = block.template as<uint32_t>();
      if (words == nullptr) return false;
      replicas_.push_back(
          {socket, std::move(block), words, reinterpret_cast<Entry*>(words + LOOKUP_ROOT_WORD)});
    }
    prefixes_below_.resize(node_count_);
    header_ = {Traits::kMagic,
               static_cast<uint32_t>(bytes / 4),
               0,
               LOOKUP_ROOT_WORD,
               static_cast<uint32_t>(LOOKUP_ROOT_WORD + LOOKUP_ROOT_ENTRIES * sizeof(Entry) / 4),
               node_count_,
               0};
    header_.checksum = checksum_of(header_);
    for (Replica& replica : replicas_) std::memcpy(replica.words, &header_, sizeof(header_));
    return !replicas_.empty();
  }

  tl::expected<void, Error> add(const PrefixType& prefix, GroupId group) {
    if (!is_valid(prefix)) return tl::unexpected(Error::kBadPrefix);
    if (group > kMaxGroupId) return tl::unexpected(Error::kUnknownGroup);
    if (!have_nodes_for(prefix)) return tl::unexpected(Error::kTableFull);
    auto [known, fresh] = prefixes_.insert(prefix, group);
    if (!fresh && *known == group) return {};
    *known = group;
    uint32_t node = make_path(prefix);
    if (fresh && node != kNoNode) ++prefixes_below_[node];
    fill(span_of(prefix, node), prefix.length, {group, prefix.length});
    return {};
  }

  tl::expected<void, Error> remove(const PrefixType& prefix) {
    if (!is_valid(prefix)) return tl::unexpected(Error::kBadPrefix);
    if (!prefixes_.erase(prefix)) return tl::unexpected(Error::kNotFound);
    auto uncovered = prefixes_.parent(prefix);
    Leaf below{kNoRoute, 0};
    if (uncovered) below = {*uncovered->value, uncovered->prefix.length};
    uint32_t path[kMaxLevels];
    unsigned levels = find_path(prefix, path);
    uint32_t node = levels == 0 ? kNoNode : path[levels - 1];
    fill(span_of(prefix, node), prefix.length, below);
    if (levels != 0) --prefixes_below_[node];
    collapse(prefix, path, levels);
    return {};
  }

  void publish() {
    reclaim();
    ++header_.generation;
    header_.checksum = checksum_of(header_);
    for (Replica& replica : replicas_) {
      auto* header = reinterpret_cast<ArenaHeader*>(replica.words);
      __atomic_store_n(&header->checksum, header_.checksum, __ATOMIC_RELAXED);
      __atomic_store_n(&header->generation, header_.generation, __ATOMIC_RELEASE);
    }
  }

  const uint32_t* arena(int socket) const {
    for (const Replica& replica : replicas_) {
      if (replica.socket == socket) return replica.words;
    }
    return replicas_.front().words;
  }

  FibStatistics statistics() const {
    return {prefixes_.size(), next_node_ - free_nodes_.size(), node_count_,
            replicas_.front().block.bytes(), header_.generation};
  }

 private:
  static constexpr uint32_t kNoNode = ~uint32_t{0};
  static constexpr unsigned kMaxLevels =
      (PrefixType::kMaxLength - LOOKUP_ROOT_BITS) / LOOKUP_STEP_BITS;

  struct Replica {
    int socket;
    MemoryBlock block;
    uint32_t* words;
    Entry* entries;
  };
  struct Leaf {
    GroupId group;
    uint8_t depth;
  };
  struct Span {
    Position first;
    uint32_t count;
  };

  static bool is_valid(const PrefixType& prefix) {
    return prefix.length <= PrefixType::kMaxLength &&
           PrefixType::make(prefix.address, prefix.length) == prefix;
  }
  // Nodes on the way to the table in which the prefix ends: 0 is the root.
  static unsigned levels_of(const PrefixType& prefix) {
    if (prefix.length <= LOOKUP_ROOT_BITS) return 0;
    return (prefix.length - LOOKUP_ROOT_BITS + LOOKUP_STEP_BITS - 1u) / LOOKUP_STEP_BITS;
  }
  static Position position_of(uint32_t node) {
    return LOOKUP_ROOT_ENTRIES + node * LOOKUP_NODE_ENTRIES;
  }
  // Where the address leads in the table `level` nodes below the root.
  static Position step(const Address& address, unsigned level, uint32_t node) {
    if (level == 0) return Traits::root_index(address);
    return position_of(node) + Traits::node_index(address, level - 1);
  }

  Entry entry(Position at) const { return replicas_.front().entries[at]; }
  static bool is_extended(Entry entry) { return (entry & Traits::kExtended) != 0; }
  static uint32_t node_of(Entry entry) { return entry & (Traits::kExtended - 1u); }

  void store(Position at, Entry value) {
    for (Replica& replica : replicas_) {
      __atomic_store_n(&replica.entries[at], value, __ATOMIC_RELEASE);
    }
  }

  unsigned find_path(const PrefixType& prefix, uint32_t* path) const {
    unsigned levels = levels_of(prefix);
    unsigned found = 0;
    for (uint32_t node = kNoNode; found < levels; path[found++] = node) {
      Entry here = entry(step(prefix.address, found, node));
      if (!is_extended(here)) break;
      node = node_of(here);
    }
    return found;
  }

  bool have_nodes_for(const PrefixType& prefix) {
    uint32_t path[kMaxLevels];
    size_t missing = levels_of(prefix) - find_path(prefix, path);
    if (free_count() < missing) reclaim();
    return free_count() >= missing;
  }
  size_t free_count() const { return free_nodes_.size() + node_count_ - next_node_; }

  // The node in which the prefix ends, made with those above it where they are missing.
  uint32_t make_path(const PrefixType& prefix) {
    unsigned levels = levels_of(prefix);
    uint32_t node = kNoNode;
    for (unsigned level = 0; level < levels; ++level) {
      Position at = step(prefix.address, level, node);
      Entry here = entry(at);
      if (is_extended(here)) {
        node = node_of(here);
        continue;
      }
      uint32_t child = take_node();
      for (unsigned i = 0; i < LOOKUP_NODE_ENTRIES; ++i) store(position_of(child) + i, here);
      std::memset(depth_ + position_of(child), depth_[at], LOOKUP_NODE_ENTRIES);
      store(at, static_cast<Entry>(Traits::kExtended | child));
      if (node != kNoNode) ++prefixes_below_[node];
      node = child;
    }
    return node;
  }

  static Span span_of(const PrefixType& prefix, uint32_t node) {
    unsigned levels = levels_of(prefix);
    unsigned bits = LOOKUP_ROOT_BITS + levels * LOOKUP_STEP_BITS;
    return {step(prefix.address, levels, node), uint32_t{1} << (bits - prefix.length)};
  }

  // Gives the leaves in and below `span` whose owner is not longer than `length` to `leaf`.
  void fill(Span span, uint8_t length, Leaf leaf) {
    for (Position at = span.first; at != span.first + span.count; ++at) {
      Entry here = entry(at);
      if (is_extended(here)) {
        fill({position_of(node_of(here)), LOOKUP_NODE_ENTRIES}, length, leaf);
      } else if (depth_[at] <= length) {
        store(at, leaf.group);
        depth_[at] = leaf.depth;
      }
    }
  }

  // Takes out the nodes of `path`, deepest first, in or below which no prefix ends any more: all
  // their leaves belong to one shorter prefix.
  void collapse(const PrefixType& prefix, const uint32_t* path, unsigned levels) {
    while (levels != 0 && prefixes_below_[path[levels - 1]] == 0) {
      uint32_t node = path[--levels];
      uint32_t above = levels == 0 ? kNoNode : path[levels - 1];
      Position at = step(prefix.address, levels, above);
      depth_[at] = depth_[position_of(node)];
      store(at, entry(position_of(node)));
      retired_.push_back(node);
      if (above != kNoNode) --prefixes_below_[above];
    }
  }

  uint32_t take_node() {
    if (free_nodes_.empty()) return next_node_++;
    uint32_t node = free_nodes_.back();
    free_nodes_.pop_back();
    return node;
  }

  void reclaim() {
    if (!retired_.empty()) {
      waiting_.push_back({reclaimer_.start(), std::move(retired_)});
      retired_.clear();
    }
    while (!waiting_.empty() && reclaimer_.passed(waiting_.front().token)) {
      auto& nodes = waiting_.front().nodes;
      free_nodes_.insert(free_nodes_.end(), nodes.begin(), nodes.end());
      waiting_.pop_front();
    }
  }

  struct Retired {
    uint64_t token;
    std::vector<uint32_t> nodes;
  };

  Reclaimer& reclaimer_;
  uint32_t node_count_;
  ArenaHeader header_{};
  std::vector<Replica> replicas_;
  MemoryBlock depth_block_;
  uint8_t* depth_ = nullptr;              // by position
  std::vector<uint16_t> prefixes_below_;  // by node: prefixes that end in it, and child nodes
  RadixTree<Address, GroupId> prefixes_;
  uint32_t next_node_ = 0;  // never used so far
  std::vector<uint32_t> free_nodes_;
  std::vector<uint32_t> retired_;  // since the last token
  std::deque<Retired> waiting_;    // in the order of their tokens
};

}  // namespace hecto::lookup
