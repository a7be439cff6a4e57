// What the blocks of a trie (trie_layout.hpp) hold, as ranges of addresses and as bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lookup/intervals.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {

// The slots of a branch, one a child.
using Children = std::array<uint32_t, TRIE_CHILDREN>;
// Room for the largest block, as it is made before it is copied into the arena.
using BlockBuffer = std::array<uint32_t, 32 * TRIE_LINE_WORDS>;

inline bool is_node(uint32_t slot) {
  return (slot & TRIE_NODE) != 0;
}
inline uint32_t line_of(uint32_t slot) {
  return (slot & TRIE_OFFSET_MASK) / TRIE_LINE_UNITS;
}
inline uint32_t word_of(uint32_t slot) {
  return (slot & TRIE_OFFSET_MASK) * 2;
}
// A pair of a branch or of the root as the 64 bits that a reader loads at once.
inline uint64_t pair_of(uint32_t base, uint32_t bitmap) {
  if constexpr (std::endian::native == std::endian::little) {
    return uint64_t{bitmap} << 32 | base;
  } else {
    return uint64_t{base} << 32 | bitmap;
  }
}

// Packs children into slots, each run of one leaf once, and says where runs begin. A block is
// never in two runs, even if two children had the same.
inline uint32_t pack(std::span<const uint32_t> children, uint32_t* slots, uint32_t& count) {
  uint32_t bitmap = 0;
  count = 0;
  for (size_t i = 0; i < children.size(); ++i) {
    if (i != 0 && children[i] == children[i - 1]) continue;
    bitmap |= uint32_t{1} << i;
    slots[count++] = children[i];
  }
  return bitmap;
}
// The other way round: the children of the pair at `word`.
inline void unpack(const uint32_t* arena, uint32_t word, std::span<uint32_t> children) {
  const uint32_t* slot = arena + arena[word] - 1;
  for (size_t i = 0; i < children.size(); ++i) {
    slot += arena[word + 1] >> i & 1;
    children[i] = *slot;
  }
}
// The children of several pairs, one behind the other.
inline void unpack_all(const uint32_t* arena, uint32_t word, std::span<uint32_t> children) {
  for (size_t i = 0; i < children.size(); i += TRIE_PAIR_CHILDREN, word += 2) {
    unpack(arena, word, children.subspan(i, TRIE_PAIR_CHILDREN));
  }
}

// What a leaf, a ranges line or a fan says of the 16 bits that it looks at, in order: range r
// begins behind key r (the first at 0; its key is not used) and has group r.
struct WindowRanges {
  static constexpr size_t kMax = TRIE_FAN_LINES * TRIE_RANGES;

  size_t count = 0;
  // Room for unused keys and groups of the last line.
  std::array<uint16_t, kMax + TRIE_RANGES> keys;
  std::array<GroupId, kMax + TRIE_RANGES> groups;

  // Starts rise. False when there is no room; neighbors of one group become one.
  bool put(uint32_t start, GroupId group) {
    if (count != 0 && groups[count - 1] == group) return true;
    if (count == kMax) return false;
    keys[count] = static_cast<uint16_t>(start - 1);
    groups[count++] = group;
    return true;
  }
  uint32_t start_of(size_t range) const { return range == 0 ? 0 : keys[range] + 1u; }
  // The range in which `value` lies.
  size_t index_of(uint32_t value) const {
    auto first = keys.begin() + 1;
    auto last = keys.begin() + static_cast<ptrdiff_t>(count);
    auto behind = std::partition_point(first, last, [value](uint16_t key) { return key < value; });
    return static_cast<size_t>(behind - keys.begin()) - 1;
  }
  bool append(const WindowRanges& from, size_t first, size_t last) {
    if (first >= last) return true;
    if (!put(from.start_of(first), from.groups[first])) return false;
    ++first;
    size_t more = last - first;
    if (count + more > kMax) return false;
    std::copy_n(from.keys.begin() + static_cast<ptrdiff_t>(first), more,
                keys.begin() + static_cast<ptrdiff_t>(count));
    std::copy_n(from.groups.begin() + static_cast<ptrdiff_t>(first), more,
                groups.begin() + static_cast<ptrdiff_t>(count));
    count += more;
    return true;
  }

  void read(const uint32_t* arena, uint32_t slot) {
    count = 0;
    if (!is_node(slot)) {
      put(0, static_cast<GroupId>(slot));
      return;
    }
    auto* line = reinterpret_cast<const uint16_t*>(arena + word_of(slot));
    if ((slot & TRIE_FAN) != TRIE_FAN) {
      read_line(line);
      return;
    }
    const uint16_t* fan = line;
    uint32_t lines = 1 + static_cast<uint32_t>(std::find(fan, fan + TRIE_FAN_KEYS, 0xffff) - fan);
    for (uint32_t i = 0; i < lines; ++i) {
      line += TRIE_LINE_WORDS * 2;
      if (i != 0) keys[count] = fan[i - 1];
      read_line(line);
    }
  }

  // Fills the block; the slot's kind without its line. More than one range.
  uint32_t write(BlockBuffer& block) {
    std::fill_n(keys.begin() + static_cast<ptrdiff_t>(count), TRIE_RANGES, uint16_t{0xffff});
    std::fill_n(groups.begin() + static_cast<ptrdiff_t>(count), TRIE_RANGES, groups[count - 1]);
    auto* line = reinterpret_cast<uint16_t*>(block.data());
    if (count <= TRIE_RANGES) {
      write_line(0, line);
      return TRIE_RANGES_LINE;
    }
    for (uint32_t i = 0; i < TRIE_FAN_KEYS; ++i) {
      size_t range = (size_t{i} + 1) * TRIE_RANGES;
      line[i] = range < count ? keys[range] : uint16_t{0xffff};
    }
    for (size_t range = 0; range < count; range += TRIE_RANGES) {
      line += TRIE_LINE_WORDS * 2;
      write_line(range, line);
    }
    return TRIE_FAN;
  }
  uint32_t lines() const {
    if (count <= TRIE_RANGES) return 1;
    return 1 + static_cast<uint32_t>((count + TRIE_RANGES - 1) / TRIE_RANGES);
  }

 private:
  void read_line(const uint16_t* line) {
    size_t used = static_cast<size_t>(std::find(line, line + TRIE_KEYS, 0xffff) - line) + 1;
    std::copy_n(line, used - 1, keys.begin() + static_cast<ptrdiff_t>(count) + 1);
    std::transform(line + TRIE_KEYS, line + TRIE_KEYS + used,
                   groups.begin() + static_cast<ptrdiff_t>(count),
                   [](uint16_t group) { return GroupId(group); });
    count += used;
  }
  void write_line(size_t range, uint16_t* line) const {
    std::memcpy(line, &keys[range + 1], TRIE_KEYS * sizeof(uint16_t));
    std::memcpy(line + TRIE_KEYS, &groups[range], TRIE_RANGES * sizeof(GroupId));
    line[TRIE_KEYS + TRIE_RANGES] = 0;
  }
};

// Addresses as a trie of one family sees them.
template <typename Address>
struct TrieShape {
  using Bits = typename BitsOf<Address>::Type;
  using Item = Interval<Bits>;
  static constexpr unsigned kBits = Prefix<Address>::kMaxLength;

  // The bits that ranges at `depth` look at; zeros behind the address's end.
  static uint16_t window(Bits bits, unsigned depth) {
    return static_cast<uint16_t>(static_cast<Bits>(bits << depth) >> (kBits - TRIE_WINDOW));
  }
  static Bits from_window(unsigned key, unsigned depth) {
    return static_cast<Bits>(Bits{key} << (kBits - TRIE_WINDOW)) >> depth;
  }
  static Bits child_start(uint32_t child, unsigned depth) {
    return from_window(child << (TRIE_WINDOW - TRIE_STRIDE), depth);
  }
  // Whether ranges at `depth` can begin there.
  static bool fits(Bits start, unsigned depth) {
    if (depth + TRIE_WINDOW >= kBits) return true;
    return static_cast<Bits>(start << (depth + TRIE_WINDOW)) == 0;
  }
  // Ranges of a region at `depth`; the first may begin before it. False when they do not fit.
  static bool to_window(std::span<const Item> ranges, unsigned depth, WindowRanges& out) {
    out.count = 0;
    out.put(0, ranges[0].group);
    for (const Item& range : ranges.subspan(1)) {
      if (!fits(range.start, depth) || !out.put(window(range.start, depth), range.group))
        return false;
    }
    return true;
  }
  static void from_window(const WindowRanges& ranges, Bits start, unsigned depth,
                          Intervals<Bits>& out) {
    for (size_t i = 0; i < ranges.count; ++i) {
      out.put(start | from_window(ranges.start_of(i), depth), ranges.groups[i]);
    }
  }
};

}  // namespace hecto::lookup
