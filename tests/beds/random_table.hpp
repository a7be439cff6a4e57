// Random prefixes that nest and touch, and addresses in and beside them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "lookup/prefix.hpp"

namespace hecto::lookup {

using Rng = std::mt19937_64;

inline Ipv4Address random_address(Rng& rng, Ipv4Address) {
  return {static_cast<uint32_t>(rng())};
}

inline Ipv6Address random_address(Rng& rng, Ipv6Address) {
  Ipv6Address address;
  for (auto& byte : address.bytes) byte = static_cast<uint8_t>(rng());
  return address;
}

// `host` with the bits of `prefix` at its head.
inline Ipv4Address put_inside(const Prefix4& prefix, Ipv4Address host) {
  uint32_t tail = Prefix4::make(host, prefix.length).address.value ^ host.value;
  return {prefix.address.value | tail};
}

inline Ipv6Address put_inside(const Prefix6& prefix, Ipv6Address host) {
  Ipv6Address head = Prefix6::make(host, prefix.length).address;
  for (int i = 0; i < 16; ++i) host.bytes[i] ^= head.bytes[i] ^ prefix.address.bytes[i];
  return host;
}

template <typename Address>
class RandomTable {
 public:
  using PrefixType = Prefix<Address>;

  explicit RandomTable(uint64_t seed) : rng_(seed) {}

  // Often below or around a prefix given before, so that tables nest; else anywhere.
  PrefixType prefix() {
    Address address = random_address(rng_, Address{});
    if (rng_() % 2 == 0) make_unicast(address);
    if (!given_.empty() && rng_() % 4 != 0) address = put_inside(some(), address);
    auto length = static_cast<uint8_t>(rng_() % (PrefixType::kMaxLength + 1));
    if (rng_() % 8 == 0) length = PrefixType::kMaxLength;
    // Expanding short prefixes is slow and tells little: few of them.
    if (length < 12 && rng_() % 16 != 0) length = static_cast<uint8_t>(length + 12);
    given_.push_back(PrefixType::make(address, length));
    return given_.back();
  }
  const PrefixType& some() { return given_[rng_() % given_.size()]; }

  // Inside some prefix, its first or last address, one of their neighbours, or anywhere.
  Address destination() {
    Address any = random_address(rng_, Address{});
    if (given_.empty() || rng_() % 8 == 0) return any;
    const PrefixType& prefix = some();
    switch (rng_() % 4) {
      case 0:
        return prefix.address;
      case 1: {
        Address last = put_inside(prefix, all_ones());
        return rng_() % 2 ? last : put_inside(PrefixType::make(last, kAllButOne), any);
      }
      default:
        return put_inside(prefix, any);
    }
  }
  Rng& rng() { return rng_; }

 private:
  static constexpr uint8_t kAllButOne = PrefixType::kMaxLength - 1;
  // IPv6's is 2000::/3, a region of its own in the main table.
  static void make_unicast(Ipv4Address&) {}
  static void make_unicast(Ipv6Address& address) {
    address.bytes[0] = static_cast<uint8_t>(0x20 | (address.bytes[0] & 0x1f));
  }
  static Address all_ones() {
    if constexpr (sizeof(Address) == 4) {
      return {~uint32_t{0}};
    } else {
      Address ones;
      ones.bytes.fill(0xff);
      return ones;
    }
  }

  Rng rng_;
  std::vector<PrefixType> given_;
};

}  // namespace hecto::lookup
