// AES's tables with a copy for each of shared memory's 32 banks, and their readers for a GPU.
//
// A lane reads its own bank only, whatever the index: no look-up ever waits for another, and how
// long it takes says nothing of key or data. That is as constant in time as bitslicing, with 4
// look-ups and about 12 other instructions a column and round, and lets 32 lanes work on one
// packet's blocks without gathering 32 blocks a lane first.
#pragma once

#include "gpu_offload/crypto/aes_tables.hpp"

namespace hecto::gpu_offload::crypto {

inline constexpr uint32_t kBanks = 32;
inline constexpr uint32_t kRowBytes = kBanks * 4;

// Entry x of bank b is word[32x + b].
template <uint32_t Entries>
struct Banks {
  uint32_t word[Entries * kBanks];

  // The share of one of so many threads.
  HD void fill(const uint32_t* table, uint32_t thread, uint32_t threads) {
#ifdef __CUDA_ARCH__
#pragma unroll 8  // several loads at once, as each waits for memory
#endif
    for (uint32_t i = thread; i < Entries * kBanks; i += threads) word[i] = table[i / kBanks];
  }
  HD uint32_t at(uint32_t row_bytes, uint32_t bank_bytes) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(word);
    return *reinterpret_cast<const uint32_t*>(bytes + (row_bytes | bank_bytes));
  }
};

// Where the row of a word's byte `position` begins: 128 times its value, in one shift and one mask.
HD inline uint32_t row_of(uint32_t word, uint32_t position) {
  return (position == 0 ? word << 7 : word >> (8 * position - 7)) & 255 * kRowBytes;
}

// Shared memory of kernels that encrypt.
struct EncryptBanks {
  Banks<256> encrypt;

  HD void fill(const AesTables& tables, uint32_t thread, uint32_t threads) {
    encrypt.fill(tables.encrypt, thread, threads);
  }
};

// Of those that decrypt.
struct DecryptBanks {
  Banks<256> decrypt;
  Banks<64> inverse;

  HD void fill(const AesTables& tables, uint32_t thread, uint32_t threads) {
    decrypt.fill(tables.decrypt, thread, threads);
    inverse.fill(tables.inverse, thread, threads);
  }
};

// The readers that aes.hpp takes. `bank_bytes`: four times the lane's bank.
struct EncryptTables {
  const EncryptBanks& banks;
  uint32_t bank_bytes;

  HD uint32_t encrypt(uint32_t word, uint32_t position) const {
    return banks.encrypt.at(row_of(word, position), bank_bytes);
  }
};

struct DecryptTables {
  const DecryptBanks& banks;
  uint32_t bank_bytes;

  HD uint32_t decrypt(uint32_t word, uint32_t position) const {
    return banks.decrypt.at(row_of(word, position), bank_bytes);
  }
  HD uint32_t inverse(uint32_t word, uint32_t position) const {
    uint32_t row = row_of(word, position) / 4 & 63 * kRowBytes;  // four values a word
    uint32_t place = word >> 8 * position & 3;
    return banks.inverse.at(row, bank_bytes) >> 8 * place & 0xff;
  }
};

}  // namespace hecto::gpu_offload::crypto
