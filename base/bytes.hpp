// Numbers in packets, at any address. The name says the order: `_be` is network order, `_native` is
// as the bytes lie, for comparing, summing and copying, not for arithmetic on the value.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace hecto {

static_assert(std::endian::native == std::endian::little, "written for little-endian machines");

inline uint16_t load16_native(const uint8_t* at) noexcept {
  uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline uint32_t load32_native(const uint8_t* at) noexcept {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline uint64_t load64_native(const uint8_t* at) noexcept {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline uint16_t load16_be(const uint8_t* at) noexcept {
  return __builtin_bswap16(load16_native(at));
}
inline uint32_t load32_be(const uint8_t* at) noexcept {
  return __builtin_bswap32(load32_native(at));
}
inline uint64_t load64_be(const uint8_t* at) noexcept {
  return __builtin_bswap64(load64_native(at));
}

inline void store16_be(uint8_t* at, uint32_t value) noexcept {
  const uint16_t swapped = __builtin_bswap16(static_cast<uint16_t>(value));
  std::memcpy(at, &swapped, sizeof swapped);
}
inline void store32_be(uint8_t* at, uint32_t value) noexcept {
  value = __builtin_bswap32(value);
  std::memcpy(at, &value, sizeof value);
}
inline void store64_be(uint8_t* at, uint64_t value) noexcept {
  value = __builtin_bswap64(value);
  std::memcpy(at, &value, sizeof value);
}

}  // namespace hecto
