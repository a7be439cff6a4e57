// An ordered map from prefix to value that answers the questions of routing: which entry covers
// this address, what lies above this prefix, what follows it.
//
// A binary tree with compressed paths: a node stands at every prefix with a value and where two
// of them part ("fork", no value), so there are at most 2n - 1 nodes. Nodes lie in one array and
// name each other by index: 20 bytes a node for IPv4 and 32 for IPv6 with a 2-byte value.
//
// Order is that of Prefix: by address, then the shorter first, so a prefix stands directly before
// what it covers. One thread only. Pointers to values hold until the next insert.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

template <>
struct AddressBits<Ipv6Address> {
  uint64_t high;
  uint64_t low;

  static AddressBits from(const Ipv6Address& address) {
    AddressBits bits{0, 0};
    for (int i = 0; i < 8; ++i) {
      bits.high = bits.high << 8 | address.bytes[i];
      bits.low = bits.low << 8 | address.bytes[8 + i];
    }
    return bits;
  }
  Ipv6Address address() const {
    Ipv6Address result;
    for (int i = 0; i < 8; ++i) {
      result.bytes[i] = static_cast<uint8_t>(high >> (56 - 8 * i));
      result.bytes[8 + i] = static_cast<uint8_t>(low >> (56 - 8 * i));
    }
    return result;
  }
  unsigned bit(unsigned index) const {
    return static_cast<unsigned>((index < 64 ? high >> (63 - index) : low >> (127 - index)) & 1);
  }
  unsigned common_length(AddressBits other) const {
    if (high != other.high) return static_cast<unsigned>(std::countl_zero(high ^ other.high));
    return 64 + static_cast<unsigned>(std::countl_zero(low ^ other.low));
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
  std::pair<Value*, bool> insert(const PrefixType& prefix, Value value);
  bool erase(const PrefixType& prefix);
  void clear() { *this = RadixTree(); }

  Value* find(const PrefixType& prefix) {
    return const_cast<Value*>(std::as_const(*this).find(prefix));
  }
  const Value* find(const PrefixType& prefix) const {
    uint32_t at = find_node(prefix);
    return at == kNone ? nullptr : &nodes_[at].value;
  }
  std::optional<Match> longest_match(const Address& address) const {
    return match_of(covering(Bits::from(address), PrefixType::kMaxLength));
  }
  // The longest entry that is strictly shorter than `prefix` and covers it.
  std::optional<Match> parent(const PrefixType& prefix) const {
    if (prefix.length == 0) return std::nullopt;
    return match_of(covering(Bits::from(prefix.address), prefix.length - 1u));
  }
  // Calls visit(prefix, value) in order, beginning at the first entry not before `from`, until
  // it returns false. The tree must not change meanwhile.
  template <typename Visit>
  void walk(const PrefixType& from, Visit visit) const {
    for (uint32_t at = first_from(from); at != kNone; at = next(at)) {
      if (nodes_[at].has_value && !visit(prefix_of(at), nodes_[at].value)) return;
    }
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return nodes_.capacity() * sizeof(Node); }

 private:
  using Bits = AddressBits<Address>;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Node {
    Bits bits;
    uint32_t children[2];
    uint32_t parent;  // in the free list: the next free node
    Value value;
    uint8_t length;
    bool has_value;
  };

  PrefixType prefix_of(uint32_t at) const { return {nodes_[at].bits.address(), nodes_[at].length}; }
  std::optional<Match> match_of(uint32_t at) const {
    if (at == kNone) return std::nullopt;
    return Match{prefix_of(at), &nodes_[at].value};
  }
  uint32_t find_node(const PrefixType& prefix) const;
  uint32_t covering(Bits bits, unsigned max_length) const;
  uint32_t first_from(const PrefixType& from) const;
  uint32_t next(uint32_t at) const;
  uint32_t next_outside(uint32_t at) const;
  uint32_t new_node(Bits bits, unsigned length, uint32_t parent);
  void free_node(uint32_t at);
  void replace_child(uint32_t parent, uint32_t old_child, uint32_t new_child);
  uint32_t put_above(uint32_t at, Bits bits, unsigned length, unsigned common);
  void unlink_if_needless(uint32_t at);

  std::vector<Node> nodes_;
  uint32_t root_ = kNone;
  uint32_t free_ = kNone;
  size_t size_ = 0;
};

template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::new_node(Bits bits, unsigned length, uint32_t parent) {
  uint32_t at = free_;
  if (at != kNone) {
    free_ = nodes_[at].parent;
  } else {
    at = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  // A fork keeps the bits of one of its children behind its own length cleared.
  Address address = PrefixType::make(bits.address(), static_cast<uint8_t>(length)).address;
  nodes_[at] = {Bits::from(address),          {kNone, kNone}, parent, Value(),
                static_cast<uint8_t>(length), false};
  return at;
}

template <typename Address, typename Value>
void RadixTree<Address, Value>::free_node(uint32_t at) {
  nodes_[at].value = Value();
  nodes_[at].parent = free_;
  free_ = at;
}

template <typename Address, typename Value>
void RadixTree<Address, Value>::replace_child(uint32_t parent, uint32_t old_child,
                                              uint32_t new_child) {
  if (parent == kNone) {
    root_ = new_child;
  } else {
    auto& children = nodes_[parent].children;
    children[children[1] == old_child] = new_child;
  }
  if (new_child != kNone) nodes_[new_child].parent = parent;
}

// Makes the node of bits/length, which shares `common` bits with the node `at` and is not below
// it: directly above `at`, or beside it under a new fork.
template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::put_above(uint32_t at, Bits bits, unsigned length,
                                              unsigned common) {
  uint32_t parent = nodes_[at].parent;
  uint32_t above = new_node(bits, common, parent);
  replace_child(parent, at, above);
  nodes_[above].children[nodes_[at].bits.bit(common)] = at;
  nodes_[at].parent = above;
  if (common == length) return above;
  uint32_t fresh = new_node(bits, length, above);
  nodes_[above].children[bits.bit(common)] = fresh;
  return fresh;
}

template <typename Address, typename Value>
std::pair<Value*, bool> RadixTree<Address, Value>::insert(const PrefixType& prefix, Value value) {
  // Two nodes at most are made; with room for them nothing below can fail half-way.
  if (nodes_.capacity() - nodes_.size() < 2) nodes_.reserve(nodes_.size() * 2 + 2);
  Bits bits = Bits::from(prefix.address);
  uint32_t at = root_;
  if (at == kNone) at = root_ = new_node(bits, prefix.length, kNone);
  for (;;) {
    Node& node = nodes_[at];
    unsigned common =
        std::min<unsigned>({node.bits.common_length(bits), node.length, prefix.length});
    if (common < node.length) {
      at = put_above(at, bits, prefix.length, common);
      break;
    }
    if (node.length == prefix.length) break;
    uint32_t child = node.children[bits.bit(node.length)];
    if (child == kNone) {
      child = new_node(bits, prefix.length, at);
      nodes_[at].children[bits.bit(nodes_[at].length)] = child;
      at = child;
      break;
    }
    at = child;
  }
  Node& node = nodes_[at];
  bool fresh = !node.has_value;
  if (fresh) {
    node.value = std::move(value);
    node.has_value = true;
    ++size_;
  }
  return {&node.value, fresh};
}

// A node without a value stays only where two paths part.
template <typename Address, typename Value>
void RadixTree<Address, Value>::unlink_if_needless(uint32_t at) {
  while (at != kNone && !nodes_[at].has_value) {
    auto [left, right] = nodes_[at].children;
    if (left != kNone && right != kNone) return;
    uint32_t child = left != kNone ? left : right;
    uint32_t parent = nodes_[at].parent;
    replace_child(parent, at, child);
    free_node(at);
    if (child != kNone) return;  // the parent has as many children as before
    at = parent;
  }
}

template <typename Address, typename Value>
bool RadixTree<Address, Value>::erase(const PrefixType& prefix) {
  uint32_t at = find_node(prefix);
  if (at == kNone) return false;
  nodes_[at].has_value = false;
  nodes_[at].value = Value();
  --size_;
  unlink_if_needless(at);
  return true;
}

template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::find_node(const PrefixType& prefix) const {
  Bits bits = Bits::from(prefix.address);
  uint32_t at = root_;
  while (at != kNone && nodes_[at].length < prefix.length) {
    at = nodes_[at].children[bits.bit(nodes_[at].length)];
  }
  if (at == kNone || !nodes_[at].has_value || prefix_of(at) != prefix) return kNone;
  return at;
}

// The deepest node with a value, of at most `max_length`, that covers `bits`.
template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::covering(Bits bits, unsigned max_length) const {
  uint32_t best = kNone;
  for (uint32_t at = root_; at != kNone;) {
    const Node& node = nodes_[at];
    if (node.length > max_length || node.bits.common_length(bits) < node.length) break;
    if (node.has_value) best = at;
    if (node.length == PrefixType::kMaxLength) break;
    at = node.children[bits.bit(node.length)];
  }
  return best;
}

// The first node, with or without value, that does not stand before `from`.
template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::first_from(const PrefixType& from) const {
  Bits bits = Bits::from(from.address);
  uint32_t at = root_;
  while (at != kNone) {
    const Node& node = nodes_[at];
    unsigned common = std::min<unsigned>({node.bits.common_length(bits), node.length, from.length});
    if (common == from.length) return at;  // `from` itself, or the first below it
    if (common < node.length) return node.bits.bit(common) == 1 ? at : next_outside(at);
    unsigned side = bits.bit(node.length);
    uint32_t child = node.children[side];
    if (child == kNone)
      return side == 0 && node.children[1] != kNone ? node.children[1] : next_outside(at);
    at = child;
  }
  return kNone;
}

template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::next(uint32_t at) const {
  for (uint32_t child : nodes_[at].children) {
    if (child != kNone) return child;
  }
  return next_outside(at);
}

// The node that follows everything below `at`.
template <typename Address, typename Value>
uint32_t RadixTree<Address, Value>::next_outside(uint32_t at) const {
  for (uint32_t parent; (parent = nodes_[at].parent) != kNone; at = parent) {
    uint32_t right = nodes_[parent].children[1];
    if (right != kNone && right != at) return right;
  }
  return kNone;
}

}  // namespace hecto::lookup
