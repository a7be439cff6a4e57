// Reading and writing packet bytes: unaligned loads and stores, byte order in the name.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace hecto::router {

static_assert(std::endian::native == std::endian::little, "written for little-endian machines");

inline uint16_t load16_be(const uint8_t* p) noexcept {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap16(v);
}
inline uint32_t load32_be(const uint8_t* p) noexcept {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap32(v);
}
// As the bytes lie: for comparing and summing, not for arithmetic on the value.
inline uint16_t load16(const uint8_t* p) noexcept {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint32_t load32(const uint8_t* p) noexcept {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint64_t load64(const uint8_t* p) noexcept {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// EtherTypes as load16 sees them.
inline constexpr uint16_t kEtherIpv4 = 0x0008;
inline constexpr uint16_t kEtherIpv6 = 0xdd86;
inline constexpr uint16_t kEtherArp = 0x0608;
inline constexpr uint16_t kEtherVlan = 0x0081;

inline constexpr unsigned kEthernetBytes = 14;
inline constexpr unsigned kVlanTagBytes = 4;
inline constexpr unsigned kIpv4Bytes = 20;
inline constexpr unsigned kIpv6Bytes = 40;

// Whether the one's complement sum of 20 header bytes is right (RFC 1071). That sum is the header's
// value modulo 65535, of which 2^64 leaves 1: so carries come back in as they do there, and a
// multiple of 65535 is known by one multiplication with its inverse (Granlund and Montgomery 1994).
inline bool ipv4_checksum_holds(uint64_t word0, uint64_t word1, uint32_t word2) noexcept {
  constexpr uint64_t kInverse = 0xfffefffefffeffff;  // of 65535, modulo 2^64
  static_assert(kInverse * 65535 == 1);
  uint64_t sum = word0 + word1;
  sum += sum < word1;
  sum += word2;
  sum += sum < word2;
  return sum * kInverse <= ~uint64_t{0} / 65535;
}

}  // namespace hecto::router
