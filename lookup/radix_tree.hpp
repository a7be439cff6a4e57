// An ordered map from prefix to value that answers the questions of routing: which entry covers
// this address, what lies above this prefix, what follows it.
//
// A binary tree with compressed paths: a node stands at every prefix with a value and where two
// of them part ("fork", no value), so there are at most 2n - 1 nodes (1.9n in a real full table).
// Nodes lie in one pool and name their children by index, not their parent, whom every descent
// knows: 16 bytes a node for IPv4 and 28 for IPv6 with a 2-byte value.
//
// Order is that of Prefix: by address, then the shorter first, so a prefix stands directly before
// what it covers. One thread only. Pointers to values hold until the next insert. Values are
// trivially copyable. Prefixes must be valid (no host bits); only memory can be lacking.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "lookup/pool.hpp"
#include "lookup/prefix.hpp"

namespace hecto::lookup {

// An address as an integer whose most significant bit is the first on the wire.
template <typename Address>
struct AddressBits;

template <>
struct AddressBits<Ipv4Address> {
  uint32_t value;

  static AddressBits from(Ipv4Address address) { return {address.value}; }
  Ipv4Address address() const { return {value}; }
  unsigned bit(unsigned index) const { return value >> (31 - index) & 1; }
  unsigned common_length(AddressBits other) const {
    return static_cast<unsigned>(std::countl_zero(value ^ other.value));
  }
};

// Aligned to 4 bytes: with 8 a node would be padded.
template <>
struct [[gnu::packed, gnu::aligned(4)]] AddressBits<Ipv6Address> {
  uint64_t high;
  uint64_t low;

  static AddressBits from(const Ipv6Address& address) {
    AddressBits bits;
    std::memcpy(&bits, address.bytes.data(), sizeof(bits));
    return {to_host(bits.high), to_host(bits.low)};
  }
  Ipv6Address address() const {
    AddressBits wire{to_host(high), to_host(low)};
    Ipv6Address result;
    std::memcpy(result.bytes.data(), &wire, sizeof(wire));
    return result;
  }
  unsigned bit(unsigned index) const {
    return static_cast<unsigned>((index < 64 ? high >> (63 - index) : low >> (127 - index)) & 1);
  }
  unsigned common_length(AddressBits other) const {
    if (high != other.high) return static_cast<unsigned>(std::countl_zero(high ^ other.high));
    return 64 + static_cast<unsigned>(std::countl_zero(low ^ other.low));
  }

 private:
  static uint64_t to_host(uint64_t wire) {
    return std::endian::native == std::endian::little ? __builtin_bswap64(wire) : wire;
  }
};

template <typename Address, typename Value>
class RadixTree {
 public:
  using PrefixType = Prefix<Address>;
  struct Match {
    PrefixType prefix;
    const Value* value;
  };

  // As std::map::insert: an existing value stays, and the flag says whether the entry is new.
  // Throws std::bad_alloc, with the tree as it was, unless reserve() went before.
  std::pair<Value*, bool> insert(const PrefixType& prefix, Value value);
  bool erase(const PrefixType& prefix);
  void clear() { *this = RadixTree(); }
  // Room for one insert; false: no memory, or no index left.
  bool reserve() noexcept { return nodes_.reserve(kNodesOfInsert); }

  Value* find(const PrefixType& prefix) {
    return const_cast<Value*>(std::as_const(*this).find(prefix));
  }
  const Value* find(const PrefixType& prefix) const;
  std::optional<Match> longest_match(const Address& address) const {
    return covering(Bits::from(address), PrefixType::kMaxLength);
  }
  // The longest entry that is strictly shorter than `prefix` and covers it.
  std::optional<Match> parent(const PrefixType& prefix) const {
    if (prefix.length == 0) return std::nullopt;
    return covering(Bits::from(prefix.address), prefix.length - 1u);
  }
  // Calls visit(prefix, value) in order, beginning at the first entry not before `from`, until
  // it returns false. The tree must not change meanwhile.
  template <typename Visit>
  void walk(const PrefixType& from, Visit visit) const;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return nodes_.bytes(); }

 private:
  using Bits = AddressBits<Address>;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t kNodesOfInsert = 2;  // the prefix and a fork above it

  struct Node {
    Bits bits;
    uint32_t children[2];
    Value value;
    uint8_t length;
    bool has_value;

    PrefixType prefix() const { return {bits.address(), length}; }
  };
  // What a walk has yet to go into, the next on top: at most one right child a level.
  struct Pending {
    uint32_t nodes[PrefixType::kMaxLength + 1];
    unsigned count = 0;

    void push(uint32_t node) {
      if (node != kNone) nodes[count++] = node;
    }
    uint32_t pop() { return count == 0 ? kNone : nodes[--count]; }
  };

  std::optional<Match> covering(Bits bits, unsigned max_length) const;
  uint32_t first_from(const PrefixType& from, Pending& pending) const;
  uint32_t new_node(Bits bits, unsigned length);
  uint32_t put_above(uint32_t& link, Bits bits, unsigned length, unsigned common);
  uint32_t find_or_make(Bits bits, unsigned length);

  Pool<Node> nodes_;
  uint32_t root_ = kNone;
  size_t size_ = 0;
};

template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::new_node(Bits bits, unsigned length) {
  uint32_t at = nodes_.allocate();
  // A fork keeps the bits of one of its children behind its own length cleared.
  Address address = PrefixType::make(bits.address(), static_cast<uint8_t>(length)).address;
  nodes_[at] = {Bits::from(address), {kNone, kNone}, Value(), static_cast<uint8_t>(length), false};
  return at;
}

// Makes the node of bits/length, which shares `common` bits with the node that `link` names and is
// not below it: directly above that, or beside it under a new fork.
template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::put_above(uint32_t& link, Bits bits, unsigned length,
                                              unsigned common) {
  uint32_t below = link;
  uint32_t above = link = new_node(bits, common);
  nodes_[above].children[nodes_[below].bits.bit(common)] = below;
  if (common == length) return above;
  return nodes_[above].children[bits.bit(common)] = new_node(bits, length);
}

template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::find_or_make(Bits bits, unsigned length) {
  for (uint32_t* link = &root_;;) {
    if (*link == kNone) return *link = new_node(bits, length);
    Node& node = nodes_[*link];
    unsigned common = std::min<unsigned>({node.bits.common_length(bits), node.length, length});
    if (common < node.length) return put_above(*link, bits, length, common);
    if (node.length == length) return *link;
    link = &node.children[bits.bit(node.length)];
  }
}

template <typename Address, typename Value>
std::pair<Value*, bool> RadixTree<Address, Value>::insert(const PrefixType& prefix, Value value) {
  if (!reserve()) throw std::bad_alloc();
  Node& node = nodes_[find_or_make(Bits::from(prefix.address), prefix.length)];
  bool fresh = !node.has_value;
  if (fresh) {
    node.value = value;
    node.has_value = true;
    ++size_;
  }
  return {&node.value, fresh};
}

// A node without a value stays only where two paths part.
template <typename Address, typename Value>
bool RadixTree<Address, Value>::erase(const PrefixType& prefix) {
  Bits bits = Bits::from(prefix.address);
  uint32_t* above = nullptr;  // what names the parent
  uint32_t* link = &root_;
  while (*link != kNone && nodes_[*link].length < prefix.length) {
    above = std::exchange(link, &nodes_[*link].children[bits.bit(nodes_[*link].length)]);
  }
  if (*link == kNone) return false;
  uint32_t at = *link;
  Node& node = nodes_[at];
  if (!node.has_value || node.prefix() != prefix) return false;
  node.has_value = false;
  node.value = Value();
  --size_;
  auto [left, right] = node.children;
  if (left != kNone && right != kNone) return true;
  *link = left != kNone ? left : right;
  nodes_.release(at);
  if (*link != kNone || above == nullptr || nodes_[*above].has_value) return true;
  uint32_t fork = *above;
  *above = nodes_[fork].children[link == &nodes_[fork].children[0]];  // the one that is left
  nodes_.release(fork);
  return true;
}

template <typename Address, typename Value>
const Value* RadixTree<Address, Value>::find(const PrefixType& prefix) const {
  Bits bits = Bits::from(prefix.address);
  uint32_t at = root_;
  while (at != kNone && nodes_[at].length < prefix.length) {
    at = nodes_[at].children[bits.bit(nodes_[at].length)];
  }
  if (at == kNone || !nodes_[at].has_value || nodes_[at].prefix() != prefix) return nullptr;
  return &nodes_[at].value;
}

// The longest entry of at most `max_length` that covers `bits`.
template <typename Address, typename Value>
auto RadixTree<Address, Value>::covering(Bits bits, unsigned max_length) const
    -> std::optional<Match> {
  const Node* best = nullptr;
  for (uint32_t at = root_; at != kNone;) {
    const Node& node = nodes_[at];
    if (node.length > max_length || node.bits.common_length(bits) < node.length) break;
    if (node.has_value) best = &node;
    if (node.length == PrefixType::kMaxLength) break;
    at = node.children[bits.bit(node.length)];
  }
  if (best == nullptr) return std::nullopt;
  return Match{best->prefix(), &best->value};
}

// The first node, with or without value, that does not stand before `from`.
template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::first_from(const PrefixType& from, Pending& pending) const {
  Bits bits = Bits::from(from.address);
  for (uint32_t at = root_; at != kNone;) {
    const Node& node = nodes_[at];
    unsigned common = std::min<unsigned>({node.bits.common_length(bits), node.length, from.length});
    if (common == from.length) return at;  // `from` itself, or the first below it
    if (common < node.length) {
      if (node.bits.bit(common) == 1) return at;
      break;  // all below it stands before
    }
    unsigned side = bits.bit(node.length);
    if (side == 0) pending.push(node.children[1]);
    at = node.children[side];
  }
  return pending.pop();
}

template <typename Address, typename Value>
template <typename Visit>
void RadixTree<Address, Value>::walk(const PrefixType& from, Visit visit) const {
  Pending pending;
  for (uint32_t at = first_from(from, pending); at != kNone;) {
    const Node& node = nodes_[at];
    if (node.has_value && !visit(node.prefix(), node.value)) return;
    pending.push(node.children[1]);
    at = node.children[0] != kNone ? node.children[0] : pending.pop();
  }
}

}  // namespace hecto::lookup
