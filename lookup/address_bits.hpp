// Addresses as unsigned integers, the first bit on the wire on top: what a trie computes with.
#pragma once

#include <cstdint>
#include <limits>

#include "lookup/prefix.hpp"

namespace hecto::lookup {

__extension__ typedef unsigned __int128 Uint128;

template <typename Address>
struct BitsOf;
template <>
struct BitsOf<Ipv4Address> {
  using Type = uint32_t;
  static Type of(Ipv4Address address) { return address.value; }
  static Ipv4Address address(Type bits) { return {bits}; }
};
template <>
struct BitsOf<Ipv6Address> {
  using Type = Uint128;
  static Type of(const Ipv6Address& address) {
    Type bits = 0;
    for (uint8_t byte : address.bytes) bits = bits << 8 | byte;
    return bits;
  }
};

// Inclusive bounds of what a prefix covers.
template <typename Address>
struct Bounds {
  using Bits = typename BitsOf<Address>::Type;
  Bits first;
  Bits last;

  static Bounds of(const Prefix<Address>& prefix) {
    Bits first = BitsOf<Address>::of(prefix.address);
    return {first, first | below(prefix.length)};
  }
  // Ones in all bits behind the first `length`.
  static Bits below(unsigned length) {
    return length == Prefix<Address>::kMaxLength ? Bits{0} : static_cast<Bits>(~Bits{0}) >> length;
  }
};

}  // namespace hecto::lookup
