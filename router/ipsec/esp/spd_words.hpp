// A packet's five-tuple and if_id as the SPD compares them, in words: addresses first, then ports
// and if_id, then the protocol. Three of IPv4, six of IPv6.
#pragma once

#include <array>
#include <cstdint>

#include "router/ipsec/esp/hash.hpp"
#include "router/ipsec/esp/tables.hpp"

namespace hecto::router::esp {

template <size_t kWords>
using SpdWords = std::array<uint64_t, kWords>;

template <size_t kWords>
SpdWords<kWords> spd_words(const FlowKey& key, uint32_t if_id) noexcept {
  const uint64_t ports =
      uint64_t{key.source_port} << 48 | uint64_t{key.destination_port} << 32 | if_id;
  if constexpr (kWords == 3) {
    return {load_word<uint32_t>(key.source.bytes.data()) |
                uint64_t{load_word<uint32_t>(key.destination.bytes.data())} << 32,
            ports, key.protocol};
  } else {
    return {load_word<uint64_t>(key.source.bytes.data()),
            load_word<uint64_t>(key.source.bytes.data() + 8),
            load_word<uint64_t>(key.destination.bytes.data()),
            load_word<uint64_t>(key.destination.bytes.data() + 8),
            ports,
            key.protocol};
  }
}

// The same, without an if_id, of a packet that shows all that a selector asks for at once: whole, TCP
// or UDP, no options or extension headers. False: flow_key() is to be asked.
template <size_t kWords>
bool plain_spd_words(const uint8_t* ip, uint32_t bytes, SpdWords<kWords>& words) noexcept {
  constexpr bool kIpv4 = kWords == 3;
  constexpr uint32_t kHeader = kIpv4 ? 20 : 40, kAddresses = kIpv4 ? 12 : 8;
  constexpr uint8_t kTcp = 6, kUdp = 17;
  if (bytes < kHeader + 4) return false;
  const uint8_t protocol = ip[kIpv4 ? 9 : 6];
  const bool whole = !kIpv4 || (ip[0] == 0x45 && (load_word<uint16_t>(ip + 6) & 0xff3f) == 0);
  if (!whole || (protocol != kTcp && protocol != kUdp)) return false;
  for (size_t i = 0; i + 2 < kWords; ++i) words[i] = load_word<uint64_t>(ip + kAddresses + 8 * i);
  words[kWords - 2] = uint64_t{__builtin_bswap32(load_word<uint32_t>(ip + kHeader))} << 32;
  words[kWords - 1] = protocol;
  return true;
}

template <size_t kWords>
SpdWords<kWords> masked(const SpdWords<kWords>& words, const SpdWords<kWords>& mask) noexcept {
  SpdWords<kWords> out;
  for (size_t i = 0; i < kWords; ++i) out[i] = words[i] & mask[i];
  return out;
}

// Whether the policy is the one of these masked words. What == of arrays does by a call of memcmp.
template <size_t kWords>
bool has_key(const Policy& policy, const SpdWords<kWords>& words) noexcept {
  uint64_t difference = 0;
  for (size_t i = 0; i < kWords; ++i) difference |= policy.key[i] ^ words[i];
  return difference == 0;
}

template <size_t kWords>
uint64_t spd_hash(const SpdWords<kWords>& words, const std::array<uint64_t, 6>& seed) noexcept {
  if constexpr (kWords == 3) {
    return fold_product(words[0] ^ seed[0], words[1] ^ seed[1] ^ words[2] << 56);
  } else {
    return fold_product(words[0] ^ seed[0], words[1] ^ seed[1]) ^
           fold_product(words[2] ^ seed[2], words[3] ^ seed[3]) ^
           fold_product(words[4] ^ seed[4], words[5] ^ seed[5]);
  }
}

}  // namespace hecto::router::esp
