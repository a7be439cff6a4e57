#include "router/dataplane/filter/rule_tree.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/bytes.hpp"

namespace hecto::router {
namespace {

struct PrefixMasks {
  uint64_t words[129][2];  // in network order
};
constexpr PrefixMasks make_prefix_masks() {
  PrefixMasks made{};
  for (unsigned length = 0; length <= 128; ++length)
    for (unsigned word = 0; word < 2; ++word) {
      const unsigned bits = length <= word * 64 ? 0 : std::min(length - word * 64, 64u);
      const uint64_t host = bits == 0 ? 0 : ~uint64_t{0} << (64 - bits);
      made.words[length][word] = __builtin_bswap64(host);
    }
  return made;
}
constexpr PrefixMasks kPrefixMasks = make_prefix_masks();

// 1: it is not. Without branches: of most entries nobody can tell beforehand.
unsigned outside(uint16_t value, uint16_t first, uint16_t more) noexcept {
  return static_cast<uint16_t>(value - first) > more;
}

// What a key is compared with, read once for a leaf.
struct Compared4 {
  explicit Compared4(const FilterKey4& key) noexcept
      : source(load32_native(key.source)),
        destination(load32_native(key.destination)),
        sport(load16_be(key.ports)),
        dport(load16_be(key.ports + 2)),
        protocol(key.protocol) {}
  bool holds(const TreeEntry<4>& entry) const noexcept {
    const uint32_t differs =
        ((source ^ entry.source) & entry.source_mask) |
        ((destination ^ entry.destination) & entry.destination_mask) |
        static_cast<uint32_t>((protocol ^ entry.protocol) & entry.protocol_mask);
    return (differs | outside(sport, entry.ports[0], entry.port_spans[0]) |
            outside(dport, entry.ports[1], entry.port_spans[1])) == 0;
  }
  uint32_t source, destination;
  uint16_t sport, dport;
  uint8_t protocol;
};
struct Compared6 {
  explicit Compared6(const FilterKey6& key) noexcept
      : sport(load16_be(key.ports)), dport(load16_be(key.ports + 2)), protocol(key.protocol) {
    std::memcpy(source, key.source, sizeof source);
    std::memcpy(destination, key.destination, sizeof destination);
  }
  bool holds(const TreeEntry<16>& entry) const noexcept {
    const uint64_t* const from = kPrefixMasks.words[entry.source_length];
    const uint64_t* const to = kPrefixMasks.words[entry.destination_length];
    const uint64_t differs =
        ((source[0] ^ entry.source[0]) & from[0]) | ((source[1] ^ entry.source[1]) & from[1]) |
        ((destination[0] ^ entry.destination[0]) & to[0]) |
        ((destination[1] ^ entry.destination[1]) & to[1]) |
        static_cast<uint64_t>((protocol ^ entry.protocol) & entry.protocol_mask);
    return (differs | outside(sport, entry.ports[0], entry.port_spans[0]) |
            outside(dport, entry.ports[1], entry.port_spans[1])) == 0;
  }
  uint64_t source[2], destination[2];
  uint16_t sport, dport;
  uint8_t protocol;
};
Compared4 compared(const FilterKey4& key) noexcept {
  return Compared4(key);
}
Compared6 compared(const FilterKey6& key) noexcept {
  return Compared6(key);
}

bool in_spans(uint32_t value, const TreeWord& word) noexcept {
  const uint32_t high = value >> 16, low = value & 0xffff;
  return high >= word.a >> 16 && high <= word.b >> 16 && low >= (word.a & 0xffff) &&
         low <= (word.b & 0xffff);
}
bool has_bits(uint32_t value, const TreeWord& word) noexcept {
  return ((value ^ word.a) & word.b) == 0;
}

}  // namespace

template <unsigned AddressBytes>
bool RuleTree<AddressBytes>::rest_holds(const Key& key, uint32_t entry) const noexcept {
  const TreeRest& rest = rests_[rest_of_[entry]];
  return has_bits(load32_be(&key.tcp_flags), rest.bits) &&
         in_spans(load32_be(key.classes), rest.classes) &&
         in_spans(load32_be(key.length), rest.sizes) && has_bits(load32_be(key.mark), rest.mark);
}

// The first of a leaf's that holds, if it comes before the one that was found.
template <unsigned AddressBytes>
uint32_t RuleTree<AddressBytes>::scan(const Key& key, uint32_t entry,
                                      uint32_t found) const noexcept {
  const auto packet = compared(key);
  if ((entries_[entry].rule & kGate) != 0 && !packet.holds(entries_[entry++])) return found;
  for (;; ++entry) {
    const TreeEntry<AddressBytes>& each = entries_[entry];
    const uint32_t rule = each.rule & kRuleBits;
    if (rule >= found) return found;
    if (packet.holds(each) && ((each.rule & kMore) == 0 || rest_holds(key, entry))) return rule;
    if ((each.rule & kLast) != 0) return found;
  }
}

// Tree after tree, cut after cut for all keys together: while one's child is on its way from memory the others'
// are asked for.
template <unsigned AddressBytes>
void RuleTree<AddressBytes>::find(const Key* keys, unsigned n, uint32_t* rules) const noexcept {
  static_assert(sizeof(Key) == 32 || sizeof(Key) == 64);
  TreeNode nodes[kMostKeys];
  uint16_t active[kMostKeys];
  uint32_t at[kMostKeys];
  std::fill(rules, rules + n, TreeNode::kNoRule);
  for (unsigned tree = 0; tree < trees_; ++tree) {
    unsigned cuts = 0, leaves = 0;
    uint16_t ended[kMostKeys];
    const auto ask = [&](unsigned i, TreeNode node) {
      nodes[i] = node;
      if (node.is_leaf()) {
        if (node.first_rule() >= rules[i]) return;
        __builtin_prefetch(&entries_[node.entries()]);
        ended[leaves++] = static_cast<uint16_t>(i);
        return;
      }
      at[i] = node.child(reinterpret_cast<const uint8_t*>(&keys[i]));
      __builtin_prefetch(&nodes_[at[i]]);
      active[cuts++] = static_cast<uint16_t>(i);
    };
    for (unsigned i = 0; i < n; ++i) ask(i, roots_[group_[keys[i].protocol]][tree]);
    while (cuts > 0) {
      const unsigned count = std::exchange(cuts, 0);
      for (unsigned k = 0; k < count; ++k) ask(active[k], nodes_[at[active[k]]]);
    }
    for (unsigned k = 0; k < leaves; ++k) {
      const unsigned i = ended[k];
      rules[i] = scan(keys[i], nodes[i].entries(), rules[i]);
    }
  }
  for (unsigned i = 0; i < n; ++i) rules[i] = rules[i] == TreeNode::kNoRule ? 0 : rules[i] + 1;
}

template <unsigned AddressBytes>
uint64_t BuiltTree<AddressBytes>::bytes() const {
  return entries_.size() * sizeof entries_[0] + nodes_.size() * sizeof nodes_[0] +
         rests_.size() * sizeof rests_[0] + rest_of_.size() * sizeof rest_of_[0];
}

template <unsigned AddressBytes>
RuleTree<AddressBytes> BuiltTree<AddressBytes>::placed(uint8_t* memory) const {
  RuleTree<AddressBytes> tree = tree_;
  // What asks for the most alignment first.
  const auto place = [&memory](const auto& from, auto& to) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(memory);
    if (!from.empty()) std::memcpy(memory, from.data(), from.size() * sizeof from[0]);
    memory += from.size() * sizeof from[0];
  };
  place(entries_, tree.entries_);
  place(nodes_, tree.nodes_);
  place(rests_, tree.rests_);
  place(rest_of_, tree.rest_of_);
  return tree;
}

template class RuleTree<4>;
template class RuleTree<16>;
template class BuiltTree<4>;
template class BuiltTree<16>;

}  // namespace hecto::router
