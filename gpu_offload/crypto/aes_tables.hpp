// AES's tables (FIPS 197 sections 5.1 and 5.3 merged), made by the compiler, and their reader for
// the host.
//
// One table a direction: the entries of the other three byte positions are rotations of it. On a
// host their lines come into the cache as the data says, so timing can tell of the key: the host's
// reader is for tests and for devices played by CPU threads. The device's reader (bank_tables.hpp)
// has no such leak.
#pragma once

#include <cstdint>

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

struct AesTables {
  uint32_t encrypt[256];      // S-box x (2, 1, 1, 3), the first lowest
  uint32_t decrypt[256];      // inverse S-box x (14, 9, 13, 11)
  uint32_t inverse[256 / 4];  // inverse S-box, four a word
};

constexpr uint32_t times(uint32_t a, uint32_t b) {  // in GF(2^8), FIPS 197 section 4.2
  uint32_t product = 0;
  for (; b != 0; b >>= 1) {
    if (b & 1) product ^= a;
    a = a << 1 ^ (a & 0x80 ? 0x11b : 0);
  }
  return product;
}

constexpr AesTables make_aes_tables() {
  AesTables tables{};
  uint32_t power = 1;    // 3^i
  uint32_t inverse = 1;  // 3^-i, by 0xf6 = 1/3
  for (int i = 0; i < 256; ++i, power = times(power, 3), inverse = times(inverse, 0xf6)) {
    uint32_t x = i == 255 ? 0 : power;  // the powers of 3 are all but 0
    uint32_t y = i == 255 ? 0 : inverse;
    uint32_t spread = y ^ y << 1 ^ y << 2 ^ y << 3 ^ y << 4;
    uint32_t s = (spread ^ spread >> 8 ^ 0x63) & 0xff;
    tables.encrypt[x] = times(s, 2) | s << 8 | s << 16 | times(s, 3) << 24;
    tables.decrypt[s] = times(x, 14) | times(x, 9) << 8 | times(x, 13) << 16 | times(x, 11) << 24;
    tables.inverse[s / 4] |= x << 8 * (s % 4);
  }
  return tables;
}

inline constexpr AesTables kAesTables = make_aes_tables();

// What aes.hpp asks of a reader: the entry for byte `position` (0 lowest) of a word.
struct HostTables {
  uint32_t encrypt(uint32_t word, uint32_t position) const {
    return kAesTables.encrypt[word >> 8 * position & 0xff];
  }
  uint32_t decrypt(uint32_t word, uint32_t position) const {
    return kAesTables.decrypt[word >> 8 * position & 0xff];
  }
  uint32_t inverse(uint32_t word, uint32_t position) const {
    uint32_t byte = word >> 8 * position & 0xff;
    return kAesTables.inverse[byte / 4] >> 8 * (byte % 4) & 0xff;
  }
};

}  // namespace hecto::gpu_offload::crypto
