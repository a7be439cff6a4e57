// The writer's half of a trie (trie_layout.hpp), the same for both families: several tables in one
// arena that grows, changed while they are read.
//
// A change is made beside what readers see: the blocks it alters are built anew, then one store in
// the slot above puts each in place. A look-up runs through the old block or the new one. Blocks
// that went out of use return after a grace period.
//
//   add 2001:db8::/32:   ranges of the routes ─► paint (intervals.hpp): what the prefix covers now
//                        slot above the change ─► its ranges, the painted ones spliced in
//                                              ─► build: leaf, ranges, fan or branch ─► store
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "lookup/arena.hpp"
#include "lookup/line_heap.hpp"
#include "lookup/trie_blocks.hpp"

namespace hecto::lookup {

template <typename Address>
class Trie {
  using Shape = TrieShape<Address>;
  using Bits = typename Shape::Bits;
  using Item = Interval<Bits>;
  using PrefixType = Prefix<Address>;

 public:
  Trie(const FibOptions& options, Memory& memory, Reclaimer& reclaimer);
  bool allocate();

  tl::expected<void, Error> add(TableId table, const PrefixType& prefix, GroupId group);
  tl::expected<void, Error> load(TableId table, std::span<const Route<Address>> routes);
  tl::expected<void, Error> remove(TableId table, const PrefixType& prefix);
  void publish();
  void reclaim();

  const GroupId* find(TableId table, const PrefixType& prefix) const {
    return routes_[table].find(prefix);
  }
  const Arena& arena() const { return arena_; }
  void attach(Journal* journal) { arena_.attach(journal); }
  FibStatistics statistics() const;

 private:
  // IPv6 unicast is 2000::/3: table 0 has a root for it, and its slot is for the rest.
  static constexpr bool kHasRoot = sizeof(Address) == sizeof(Ipv6Address);
  static constexpr Bits kRootStart = kHasRoot ? Bits{1} << (Shape::kBits - 3) : 0;
  static constexpr Bits kRootLast = static_cast<Bits>(kRootStart << 1) - 1;
  static constexpr unsigned kRootPairBits = TRIE_ROOT_BITS - 5;
  static constexpr size_t kOffsetWords = (size_t{TRIE_OFFSET_MASK} + 1) * 2;  // that slots reach
  static constexpr size_t kRetiredAtOnce = 256;

  struct Change {
    Bounds<Address> bounds;
    unsigned length;
    const Intervals<Bits>* painted;
  };
  struct Store {
    uint32_t word;
    uint32_t slot;
  };
  struct PairStore {
    uint32_t word;
    uint64_t pair;
  };
  struct Waiting {
    uint64_t token;
    std::vector<uint32_t> lines;
  };

  enum class Edit : uint8_t { kNoRoom, kInPlace, kChanged };

  bool apply(TableId table, const PrefixType& prefix);
  bool change_table(TableId table, const Change& change);
  bool change_root(const Change& change);
  bool change_pair(uint32_t pair, const Change& change);
  std::optional<uint32_t> edit(uint32_t slot, Bits start, unsigned depth, const Change& change);
  std::optional<uint32_t> edit_branch(uint32_t slot, Bits start, unsigned depth,
                                      const Change& change);
  Edit edit_children(uint32_t pairs_word, std::span<uint32_t> before, std::span<uint32_t> after,
                     Bits start, unsigned depth, const Change& change);
  uint32_t slot_word(uint32_t pairs_word, size_t child) const;
  bool replace_in_place(uint32_t pairs_word, std::span<const uint32_t> before,
                        std::span<const uint32_t> after);
  bool fit_a_fan(const Children& children, WindowRanges& out);
  bool splice(const WindowRanges& old, const Change& change, Bits start, unsigned depth,
              WindowRanges& out) const;
  auto splice_wide(const WindowRanges& ranges, const Change& change, Bits start,
                   unsigned depth) const -> Intervals<Bits>;

  std::optional<uint32_t> build(std::span<const Item> ranges, Bits start, unsigned depth);
  std::optional<uint32_t> build_window(WindowRanges& ranges);
  std::optional<uint32_t> build_branch(const Children& children);
  std::optional<uint32_t> put_block(uint32_t kind, uint32_t lines);
  std::optional<uint32_t> take(uint32_t lines);
  void drop(uint32_t slot) { dropped_.push_back(line_of(slot)); }
  void drop_all(uint32_t slot);
  bool grow();
  void commit();
  void roll_back();
  void forget_change();

  Arena arena_;
  LineHeap heap_;
  Reclaimer& reclaimer_;
  size_t max_words_;
  uint64_t max_prefixes_;
  std::vector<RadixTree<Address, GroupId>> routes_;  // by table
  uint64_t prefixes_ = 0;

  // The change in progress.
  bool removing_ = false;
  std::vector<uint32_t> fresh_;    // lines of new blocks
  std::vector<uint32_t> dropped_;  // lines of blocks that it makes needless
  std::vector<Store> stores_;
  std::vector<PairStore> pair_stores_;
  Intervals<Bits> painted_;
  WindowRanges old_;
  WindowRanges ranges_;
  BlockBuffer block_;

  std::vector<uint32_t> retired_;  // since the last token
  std::deque<Waiting> waiting_;    // in the order of their tokens
};

}  // namespace hecto::lookup
