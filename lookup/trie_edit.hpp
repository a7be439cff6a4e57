// How a change goes through a trie: down to the slots that it meets, their ranges read, changed and
// built into blocks again. Included by trie_writer.hpp.
#pragma once

#include "lookup/trie.hpp"

namespace hecto::lookup {

// Edits the children that the change meets of the region start/depth, whose pairs are at
// `pairs_word`. Where more than a store is needed, `before` and `after` hold all children.
template <typename Address>
auto Trie<Address>::edit_children(uint32_t pairs_word, std::span<uint32_t> before,
                                  std::span<uint32_t> after, Bits start, unsigned depth,
                                  const Change& change) -> Edit {
  unsigned child_depth = depth + static_cast<unsigned>(std::countr_zero(before.size()));
  unsigned shift = Shape::kBits - child_depth;
  size_t mask = before.size() - 1;
  auto first = static_cast<size_t>(change.bounds.first >> shift) & mask;
  auto last = static_cast<size_t>(change.bounds.last >> shift) & mask;
  if (change.length <= depth) {
    first = 0;
    last = mask;
  }
  auto edit_child = [&](size_t i, uint32_t slot) {
    return edit(slot, start | static_cast<Bits>(i) << shift, child_depth, change);
  };
  if (first == last) {
    uint32_t word = slot_word(pairs_word, first);
    uint32_t slot = arena_.words()[word];
    auto changed = edit_child(first, slot);
    if (!changed) return Edit::kNoRoom;
    if (*changed == slot) return Edit::kInPlace;
    if (is_node(slot) && is_node(*changed)) {  // no other child has the same slot
      stores_.push_back({word, *changed});
      return Edit::kInPlace;
    }
    unpack_all(arena_.words(), pairs_word, before);
    std::copy(before.begin(), before.end(), after.begin());
    after[first] = *changed;
    return Edit::kChanged;
  }
  unpack_all(arena_.words(), pairs_word, before);
  std::copy(before.begin(), before.end(), after.begin());
  for (size_t i = first; i <= last; ++i) {
    auto changed = edit_child(i, before[i]);
    if (!changed) return Edit::kNoRoom;
    after[i] = *changed;
  }
  return std::equal(before.begin(), before.end(), after.begin()) ? Edit::kInPlace : Edit::kChanged;
}

template <typename Address>
uint32_t Trie<Address>::slot_word(uint32_t pairs_word, size_t child) const {
  const uint32_t* pair = arena_.words() + pairs_word + child / TRIE_PAIR_CHILDREN * 2;
  uint32_t upto = pair[1] << (TRIE_PAIR_CHILDREN - 1 - child % TRIE_PAIR_CHILDREN);
  return pair[0] + static_cast<uint32_t>(std::popcount(upto)) - 1;
}

// The slot that takes the place of `slot`, or nothing without room.
template <typename Address>
std::optional<uint32_t> Trie<Address>::edit(uint32_t slot, Bits start, unsigned depth,
                                            const Change& change) {
  std::span<const Item> painted = change.painted->items();
  if (change.length <= depth) {
    Bits last = start | Bounds<Address>::below(depth);
    size_t from = change.painted->index_of(start);
    size_t to = change.painted->index_of(last);
    if (from == to && slot == painted[from].group) return slot;
    auto built = build(painted.subspan(from, to - from + 1), start, depth);
    if (built) drop_all(slot);
    return built;
  }
  if (trie_is_branch(slot)) return edit_branch(slot, start, depth, change);

  std::optional<uint32_t> built;
  old_.read(arena_.words(), slot);
  if (splice(old_, change, start, depth, ranges_)) {
    built = build_window(ranges_);
  } else {
    built = build(splice_wide(old_, change, start, depth).items(), start, depth);
  }
  if (built && is_node(slot)) drop(slot);
  return built;
}

// `old` of the region start/depth with the change in it; false where it does not fit a window.
template <typename Address>
bool Trie<Address>::splice(const WindowRanges& old, const Change& change, Bits start,
                           unsigned depth, WindowRanges& out) const {
  if (change.length > depth + TRIE_WINDOW) return false;
  uint32_t first = Shape::window(change.bounds.first, depth);
  out.count = 0;
  size_t from = old.index_of(first);
  if (!out.append(old, 0, from + (old.start_of(from) < first))) return false;
  for (const Item& item : change.painted->items()) {
    if (!Shape::fits(item.start, depth)) return false;
    if (!out.put(Shape::window(item.start, depth), item.group)) return false;
  }
  if (change.bounds.last == (start | Bounds<Address>::below(depth))) return true;
  uint32_t behind = Shape::window(change.bounds.last + 1, depth);
  size_t to = old.index_of(behind);
  return out.put(behind, old.groups[to]) && out.append(old, to + 1, old.count);
}

// The same without the limits of a window.
template <typename Address>
auto Trie<Address>::splice_wide(const WindowRanges& ranges, const Change& change, Bits start,
                                unsigned depth) const -> Intervals<Bits> {
  Intervals<Bits> old;
  Intervals<Bits> out;
  Shape::from_window(ranges, start, depth, old);
  for (const Item& item : old.items()) {
    if (item.start < change.bounds.first) out.put(item.start, item.group);
  }
  for (const Item& item : change.painted->items()) out.put(item.start, item.group);
  if (change.bounds.last == (start | Bounds<Address>::below(depth))) return out;
  Bits behind = change.bounds.last + 1;
  out.put(behind, old.group_at(behind));
  for (const Item& item : old.items()) {
    if (item.start > behind) out.put(item.start, item.group);
  }
  return out;
}

template <typename Address>
std::optional<uint32_t> Trie<Address>::edit_branch(uint32_t slot, Bits start, unsigned depth,
                                                   const Change& change) {
  Children before;
  Children children;
  Edit done = edit_children(word_of(slot), before, children, start, depth, change);
  if (done == Edit::kNoRoom) return std::nullopt;
  if (done == Edit::kInPlace) return slot;
  bool fewer_nodes = false;
  bool uniform = !is_node(children[0]);
  for (size_t i = 0; i < children.size(); ++i) {
    fewer_nodes |= is_node(before[i]) && !is_node(children[i]);
    uniform &= children[i] == children[0];
  }
  if (uniform) {
    drop(slot);
    return children[0];
  }
  if (fewer_nodes) {
    if (fit_a_fan(children, ranges_)) {
      auto built = build_window(ranges_);
      if (!built) return std::nullopt;
      for (uint32_t child : children) {
        if (is_node(child)) drop(child);
      }
      drop(slot);
      return built;
    }
  }
  if (replace_in_place(word_of(slot), before, children)) return slot;
  auto built = build_branch(children);
  if (built) drop(slot);
  return built;
}

// One store is enough where a single child differs and has a slot of its own. `pairs_word` is the
// pair of the first 32 children, the others follow.
template <typename Address>
bool Trie<Address>::replace_in_place(uint32_t pairs_word, std::span<const uint32_t> before,
                                     std::span<const uint32_t> after) {
  auto differs = std::mismatch(before.begin(), before.end(), after.begin());
  auto i = static_cast<size_t>(differs.first - before.begin());
  if (!std::equal(before.begin() + static_cast<ptrdiff_t>(i) + 1, before.end(),
                  differs.second + 1)) {
    return false;
  }
  bool first = i % TRIE_PAIR_CHILDREN == 0;
  bool last = i % TRIE_PAIR_CHILDREN == TRIE_PAIR_CHILDREN - 1;
  for (auto children : {before, after}) {
    if (!first && children[i] == children[i - 1]) return false;
    if (!last && children[i] == children[i + 1]) return false;
  }
  stores_.push_back({slot_word(pairs_word, i), after[i]});
  return true;
}

// Whether a branch has become small enough for a fan, which then holds `out`.
template <typename Address>
bool Trie<Address>::fit_a_fan(const Children& children, WindowRanges& out) {
  out.count = 0;
  for (uint32_t i = 0; i < TRIE_CHILDREN; ++i) {
    if (trie_is_branch(children[i])) return false;
    old_.read(arena_.words(), children[i]);
    for (size_t k = 0; k < old_.count; ++k) {
      // What a child looks at begins behind its own eight bits.
      uint32_t start = old_.start_of(k);
      if (start % TRIE_CHILDREN != 0) return false;
      if (!out.put(i * TRIE_CHILDREN + start / TRIE_CHILDREN, old_.groups[k])) return false;
    }
    // Half of what a fan holds, so that a table at the edge does not go back and forth.
    if (out.count > WindowRanges::kMax / 2) return false;
  }
  return true;
}

template <typename Address>
std::optional<uint32_t> Trie<Address>::build_window(WindowRanges& ranges) {
  if (ranges.count == 1) return ranges.groups[0];
  uint32_t kind = ranges.write(block_);
  return put_block(kind, ranges.lines());
}

// `ranges` cover the region; the first may begin before it.
template <typename Address>
std::optional<uint32_t> Trie<Address>::build(std::span<const Item> ranges, Bits start,
                                             unsigned depth) {
  if (ranges.size() == 1) return ranges[0].group;
  if (ranges.size() <= WindowRanges::kMax && Shape::to_window(ranges, depth, ranges_)) {
    return build_window(ranges_);
  }
  Children children;
  size_t from = 0;
  for (uint32_t i = 0; i < TRIE_CHILDREN; ++i) {
    Bits child = start | Shape::child_start(i, depth);
    Bits last = child | Bounds<Address>::below(depth + TRIE_STRIDE);
    while (from + 1 < ranges.size() && ranges[from + 1].start <= child) ++from;
    size_t to = from;
    while (to + 1 < ranges.size() && ranges[to + 1].start <= last) ++to;
    auto built = build(ranges.subspan(from, to - from + 1), child, depth + TRIE_STRIDE);
    if (!built) return std::nullopt;
    children[i] = *built;
    from = to;
  }
  return build_branch(children);
}

template <typename Address>
std::optional<uint32_t> Trie<Address>::build_branch(const Children& children) {
  uint32_t words = 2 * TRIE_PAIRS;
  std::array<uint32_t, TRIE_PAIRS> bases;
  std::array<uint32_t, TRIE_PAIRS> bitmaps;
  for (uint32_t pair = 0; pair < TRIE_PAIRS; ++pair) {
    uint32_t count = 0;
    bases[pair] = words;
    bitmaps[pair] = pack(std::span(children).subspan(pair * TRIE_PAIR_CHILDREN, TRIE_PAIR_CHILDREN),
                         &block_[words], count);
    words += count;
  }
  uint32_t lines = (words + TRIE_LINE_WORDS - 1) / TRIE_LINE_WORDS;
  auto line = take(lines);
  if (!line) return std::nullopt;
  for (uint32_t pair = 0; pair < TRIE_PAIRS; ++pair) {
    uint64_t both = pair_of(bases[pair] + *line * TRIE_LINE_WORDS, bitmaps[pair]);
    std::memcpy(&block_[2 * pair], &both, sizeof(both));
  }
  arena_.write(*line * TRIE_LINE_WORDS, block_.data(), words);
  return TRIE_BRANCH | *line * TRIE_LINE_UNITS;
}

// Copies block_ into `lines` fresh lines.
template <typename Address>
std::optional<uint32_t> Trie<Address>::put_block(uint32_t kind, uint32_t lines) {
  auto line = take(lines);
  if (!line) return std::nullopt;
  arena_.write(*line * TRIE_LINE_WORDS, block_.data(), lines * TRIE_LINE_WORDS);
  return kind | *line * TRIE_LINE_UNITS;
}

// A block and all below it.
template <typename Address>
void Trie<Address>::drop_all(uint32_t slot) {
  if (!is_node(slot)) return;
  if (trie_is_branch(slot)) {
    Children children;
    unpack_all(arena_.words(), word_of(slot), children);
    for (uint32_t child : children) drop_all(child);
  }
  drop(slot);
}

}  // namespace hecto::lookup
