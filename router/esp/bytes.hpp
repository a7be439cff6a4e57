// Numbers in network order at any address, and the Internet checksum (RFC 1071).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace hecto::router::esp {

inline uint16_t load16(const uint8_t* at) noexcept {
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}
inline void store16(uint8_t* at, uint32_t value) noexcept {
  const auto swapped = __builtin_bswap16(static_cast<uint16_t>(value));
  memcpy(at, &swapped, 2);
}
inline uint32_t load32(const uint8_t* at) noexcept {
  uint32_t value;
  memcpy(&value, at, 4);
  return __builtin_bswap32(value);
}
inline void store32(uint8_t* at, uint32_t value) noexcept {
  value = __builtin_bswap32(value);
  memcpy(at, &value, 4);
}
inline void store64(uint8_t* at, uint64_t value) noexcept {
  value = __builtin_bswap64(value);
  memcpy(at, &value, 8);
}

// Sum of 16-bit words, not folded. `bytes` is even, below 128 KiB.
inline uint32_t sum_words(const uint8_t* at, uint32_t bytes) noexcept {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < bytes; i += 2) sum += load16(at + i);
  return sum;
}
inline uint16_t fold(uint64_t sum) noexcept {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}
inline uint16_t ipv4_checksum(const uint8_t* header, uint32_t bytes) noexcept {
  return static_cast<uint16_t>(~fold(sum_words(header, bytes)));
}
// Of a whole packet's data: eight bytes at a time, in whichever order the CPU has.
inline uint16_t sum_data(const uint8_t* at, uint32_t bytes) noexcept {
  uint64_t sum = 0;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    sum += word;
    sum += sum < word ? 1 : 0;
  }
  uint64_t rest = 0;
  memcpy(&rest, at, bytes);
  sum += rest;
  sum += sum < rest ? 1 : 0;
  const uint16_t folded = fold((sum >> 32) + (sum & 0xffffffff));
  return std::endian::native == std::endian::little ? __builtin_bswap16(folded) : folded;
}

}  // namespace hecto::router::esp
