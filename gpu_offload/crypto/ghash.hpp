// GHASH's field, GF(2^128) modulo x^128 + x^7 + x^2 + x + 1 (NIST SP 800-38D section 6.3).
//
// GPUs have no carry-less multiplication. This one makes it of integer multiplications: of each
// operand only every fourth bit is kept, so that up to 15 ones meet in a bit position without their
// carries reaching the next bit that counts. No tables, no branches: constant time on host and
// device, and an SA needs one element a lane instead of a 256-byte table each.
#pragma once

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

// An element is a Block whose word 0 holds x^127 .. x^96 from its lowest bit on, and word 3 x^31 ..
// x^0: the wire's 16 bytes as one big-endian number, lowest word first.
HD inline Block to_element(const Block& bytes) {
  return {{byte_swap(bytes.word[3]), byte_swap(bytes.word[2]), byte_swap(bytes.word[1]),
           byte_swap(bytes.word[0])}};
}
HD inline Block from_element(const Block& element) {
  return to_element(element);
}

HD inline uint64_t wide(uint32_t a, uint32_t b) {
  return static_cast<uint64_t>(a) * b;
}

// Polynomials over GF(2) with 32 coefficients each. At most 8 ones meet in a position.
HD inline uint64_t multiply_32(uint32_t a, uint32_t b) {
  constexpr uint32_t kEvery4 = 0x11111111;
  constexpr uint64_t kWide = 0x1111111111111111;
  uint32_t a0 = a & kEvery4, a1 = a & kEvery4 << 1, a2 = a & kEvery4 << 2, a3 = a & kEvery4 << 3;
  uint32_t b0 = b & kEvery4, b1 = b & kEvery4 << 1, b2 = b & kEvery4 << 2, b3 = b & kEvery4 << 3;
  uint64_t z0 = wide(a0, b0) ^ wide(a1, b3) ^ wide(a2, b2) ^ wide(a3, b1);
  uint64_t z1 = wide(a0, b1) ^ wide(a1, b0) ^ wide(a2, b3) ^ wide(a3, b2);
  uint64_t z2 = wide(a0, b2) ^ wide(a1, b1) ^ wide(a2, b0) ^ wide(a3, b3);
  uint64_t z3 = wide(a0, b3) ^ wide(a1, b2) ^ wide(a2, b1) ^ wide(a3, b0);
  return (z0 & kWide) | (z1 & kWide << 1) | (z2 & kWide << 2) | (z3 & kWide << 3);
}

struct Words4 {
  uint32_t word[4];
};
// 64 coefficients each, after Karatsuba: three products instead of four.
HD inline Words4 multiply_64(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
  uint64_t low = multiply_32(a0, b0);
  uint64_t high = multiply_32(a1, b1);
  uint64_t middle = multiply_32(a0 ^ a1, b0 ^ b1) ^ low ^ high;
  return {{static_cast<uint32_t>(low),
           static_cast<uint32_t>(low >> 32) ^ static_cast<uint32_t>(middle),
           static_cast<uint32_t>(high) ^ static_cast<uint32_t>(middle >> 32),
           static_cast<uint32_t>(high >> 32)}};
}

// 255 coefficients down to 128. Bits are reflected (the lowest is the highest power), so x^128
// folds upwards, and the product sits one bit too low.
HD inline Block reduce(uint32_t (&z)[8]) {
  HD_UNROLL
  for (uint32_t i = 7; i > 0; --i) z[i] = z[i] << 1 | z[i - 1] >> 31;
  z[0] <<= 1;
  HD_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    z[i + 4] ^= z[i] ^ z[i] >> 1 ^ z[i] >> 2 ^ z[i] >> 7;
    z[i + 3] ^= z[i] << 31 ^ z[i] << 30 ^ z[i] << 25;
  }
  return {{z[4], z[5], z[6], z[7]}};
}

HD inline Block multiply(const Block& a, const Block& b) {
  const uint32_t* x = a.word;
  const uint32_t* y = b.word;
  Words4 low = multiply_64(x[0], x[1], y[0], y[1]);
  Words4 high = multiply_64(x[2], x[3], y[2], y[3]);
  Words4 middle = multiply_64(x[0] ^ x[2], x[1] ^ x[3], y[0] ^ y[2], y[1] ^ y[3]);
  uint32_t z[8];
  HD_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    z[i] = low.word[i];
    z[i + 4] = high.word[i];
  }
  HD_UNROLL
  for (uint32_t i = 0; i < 4; ++i) z[i + 2] ^= middle.word[i] ^ low.word[i] ^ high.word[i];
  return reduce(z);
}

}  // namespace hecto::gpu_offload::crypto
