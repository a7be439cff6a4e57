// The Internet checksum (RFC 1071).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"

namespace hecto {

// Sum of 16-bit words, not folded. `bytes` is even, below 128 KiB.
inline uint32_t sum_words(const uint8_t* at, uint32_t bytes) noexcept {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < bytes; i += 2) sum += load16_be(at + i);
  return sum;
}
inline uint16_t fold_sum(uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}
inline uint16_t ipv4_checksum(const uint8_t* header, uint32_t bytes) noexcept {
  return static_cast<uint16_t>(~fold_sum(sum_words(header, bytes)));
}
// Of a whole packet's data: eight bytes at a time, in the CPU's order.
inline uint16_t sum_data(const uint8_t* at, uint32_t bytes) noexcept {
  uint64_t sum = 0;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    const uint64_t word = load64_native(at);
    sum += word;
    sum += sum < word ? 1 : 0;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, at, bytes);
  sum += rest;
  sum += sum < rest ? 1 : 0;
  return __builtin_bswap16(fold_sum((sum >> 32) + (sum & 0xffffffff)));
}

// Whether the one's complement sum of 20 header bytes is right. That sum is the header's value
// modulo 65535, of which 2^64 leaves 1: so carries come back in as they do there, and a multiple of
// 65535 is known by one multiplication with its inverse (Granlund and Montgomery 1994). Words as
// load64_native and load32_native give them.
inline bool ipv4_checksum_holds(uint64_t word0, uint64_t word1, uint32_t word2) noexcept {
  constexpr uint64_t kInverse = 0xfffefffefffeffff;  // of 65535, modulo 2^64
  static_assert(kInverse * 65535 == 1);
  uint64_t sum = word0 + word1;
  sum += sum < word1;
  sum += word2;
  sum += sum < word2;
  return sum * kInverse <= ~uint64_t{0} / 65535;
}

}  // namespace hecto
