// The Internet checksum (RFC 1071) over a few bytes that need not be aligned.
#pragma once

#include <cstdint>

#include "router/stages/wire.hpp"

namespace hecto::router {

// Of 16-bit words in network order; an odd byte at the end is the upper half of one. Up to 64 KiB
// onto `sum`.
inline uint32_t checksum_of(const uint8_t* data, uint32_t bytes, uint32_t sum) noexcept {
  for (uint32_t i = 0; i + 1 < bytes; i += 2) sum += load16_be(data + i);
  if (bytes % 2 != 0) sum += static_cast<uint32_t>(data[bytes - 1]) << 8;
  return sum;
}
// What the field says; of data that holds its field, 0 where it is right.
inline uint16_t checksum_folded(uint32_t sum) noexcept {
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  return static_cast<uint16_t>(~sum);
}

}  // namespace hecto::router
