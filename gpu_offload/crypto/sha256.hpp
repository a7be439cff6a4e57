// SHA-256's compression function (FIPS 180-4 section 6.2.2), for HMAC only.
#pragma once

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

struct Sha256 {
  static constexpr uint32_t kWords = 8;  // of state and digest
  struct State {
    uint32_t word[kWords];
  };
  static constexpr State kInitial = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                      0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};

  // `w`: the 16 words of a message block, big-endian bytes as numbers; overwritten.
  HD static void compress(State& state, uint32_t (&w)[16]) {
    constexpr uint32_t kRound[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};
    State s = state;
    HD_UNROLL
    for (uint32_t t = 0; t < 64; ++t) {
      if (t >= 16) {
        w[t % 16] +=
            small_sigma1(w[(t + 14) % 16]) + w[(t + 9) % 16] + small_sigma0(w[(t + 1) % 16]);
      }
      round(s, kRound[t] + w[t % 16]);
    }
    HD_UNROLL
    for (uint32_t i = 0; i < kWords; ++i) state.word[i] += s.word[i];
  }

 private:
  HD static uint32_t rotate_right(uint32_t x, uint32_t bits) { return rotate_left(x, 32 - bits); }
  HD static uint32_t small_sigma0(uint32_t x) {
    return rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
  }
  HD static uint32_t small_sigma1(uint32_t x) {
    return rotate_right(x, 17) ^ rotate_right(x, 19) ^ x >> 10;
  }
  HD static void round(State& s, uint32_t constant_and_word) {
    const uint32_t* v = s.word;
    uint32_t sum1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t t1 = v[7] + sum1 + choice + constant_and_word;
    uint32_t sum0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    s = {{t1 + sum0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]}};
  }
};

}  // namespace hecto::gpu_offload::crypto
