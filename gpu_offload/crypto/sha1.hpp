// SHA-1's compression function (FIPS 180-4 section 6.1.2), for HMAC only.
#pragma once

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

struct Sha1 {
  static constexpr uint32_t kWords = 5;  // of state and digest
  struct State {
    uint32_t word[kWords];
  };
  static constexpr State kInitial = {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};

  // `w`: the 16 words of a message block, big-endian bytes as numbers; overwritten.
  HD static void compress(State& state, uint32_t (&w)[16]) {
    uint32_t a = state.word[0], b = state.word[1], c = state.word[2], d = state.word[3],
             e = state.word[4];
    HD_UNROLL
    for (uint32_t t = 0; t < 80; ++t) {
      if (t >= 16) {
        w[t % 16] =
            rotate_left(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ w[t % 16], 1);
      }
      uint32_t next = rotate_left(a, 5) + mix(t, b, c, d) + e + w[t % 16];
      e = d;
      d = c;
      c = rotate_left(b, 30);
      b = a;
      a = next;
    }
    state.word[0] += a;
    state.word[1] += b;
    state.word[2] += c;
    state.word[3] += d;
    state.word[4] += e;
  }

 private:
  // f_t and K_t
  HD static uint32_t mix(uint32_t t, uint32_t b, uint32_t c, uint32_t d) {
    if (t < 20) return ((b & c) | (~b & d)) + 0x5a827999;
    if (t < 40) return (b ^ c ^ d) + 0x6ed9eba1;
    if (t < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
  }
};

}  // namespace hecto::gpu_offload::crypto
