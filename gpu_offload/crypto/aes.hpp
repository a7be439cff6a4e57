// AES on one block (FIPS 197), by tables. `Tables` reads them: HostTables or BankTables.
//
// `keys` are rounds + 1 round keys of EspKey; a 16-byte state is four columns, one a word.
#pragma once

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

// SubBytes, ShiftRows, MixColumns, AddRoundKey.
template <class Tables>
HD Block aes_round(const Tables& tables, const Block& s, Block key) {
  Block out;
  HD_UNROLL
  for (uint32_t c = 0; c < 4; ++c) {
    out.word[c] = tables.encrypt(s.word[c], 0) ^
                  rotate_left(tables.encrypt(s.word[(c + 1) % 4], 1), 8) ^
                  rotate_left(tables.encrypt(s.word[(c + 2) % 4], 2), 16) ^
                  rotate_left(tables.encrypt(s.word[(c + 3) % 4], 3), 24) ^ key.word[c];
  }
  return out;
}

template <class Tables>
HD Block aes_encrypt(const Tables& tables, const Block* keys, uint32_t rounds, const Block& in) {
  Block s = in ^ keys[0];
  for (uint32_t r = 1; r < rounds; ++r) s = aes_round(tables, s, keys[r]);
  Block out;
  HD_UNROLL
  for (uint32_t c = 0; c < 4; ++c) {  // the S-box alone is an entry's second byte
    out.word[c] = (tables.encrypt(s.word[c], 0) >> 8 & 0xff) |
                  (tables.encrypt(s.word[(c + 1) % 4], 1) & 0xff00) |
                  (tables.encrypt(s.word[(c + 2) % 4], 2) << 8 & 0xff0000) |
                  (tables.encrypt(s.word[(c + 3) % 4], 3) << 16 & 0xff000000);
  }
  return out ^ keys[rounds];
}

// InvSubBytes, InvShiftRows, InvMixColumns, AddRoundKey.
template <class Tables>
HD Block aes_inverse_round(const Tables& tables, const Block& s, Block key) {
  Block out;
  HD_UNROLL
  for (uint32_t c = 0; c < 4; ++c) {
    out.word[c] = tables.decrypt(s.word[c], 0) ^
                  rotate_left(tables.decrypt(s.word[(c + 3) % 4], 1), 8) ^
                  rotate_left(tables.decrypt(s.word[(c + 2) % 4], 2), 16) ^
                  rotate_left(tables.decrypt(s.word[(c + 1) % 4], 3), 24) ^ key.word[c];
  }
  return out;
}

template <class Tables>
HD Block aes_decrypt(const Tables& tables, const Block* keys, uint32_t rounds, const Block& in) {
  Block s = in ^ keys[0];
  for (uint32_t r = 1; r < rounds; ++r) s = aes_inverse_round(tables, s, keys[r]);
  Block out;
  HD_UNROLL
  for (uint32_t c = 0; c < 4; ++c) {
    out.word[c] = tables.inverse(s.word[c], 0) | tables.inverse(s.word[(c + 3) % 4], 1) << 8 |
                  tables.inverse(s.word[(c + 2) % 4], 2) << 16 |
                  tables.inverse(s.word[(c + 1) % 4], 3) << 24;
  }
  return out ^ keys[rounds];
}

}  // namespace hecto::gpu_offload::crypto
