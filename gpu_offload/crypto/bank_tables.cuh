// AES's tables in shared memory, a copy for each of its 32 banks.
//
// A lane reads its own bank only, whatever the index: no look-up ever waits for another, and how
// long it takes says nothing of key or data. That is as constant in time as bitslicing, with 4
// look-ups and about 13 other instructions a column and round, and lets 32 lanes work on one
// packet's blocks without gathering 32 blocks a lane first.
#pragma once

#include "gpu_offload/crypto/aes_tables.hpp"

namespace hecto::gpu_offload::crypto {

// Constants of the device: read once a thread block.
__device__ const AesTables kDeviceTables = make_aes_tables();

template <uint32_t Entries>
struct Banks {
  uint32_t word[Entries * 32];  // entry x of bank b at 32x + b

  // By all threads of the block; __syncthreads() afterwards.
  __device__ void fill(const uint32_t* table) {
#pragma unroll 8  // several loads at once, as each waits for memory
    for (uint32_t i = threadIdx.x; i < Entries * 32; i += blockDim.x) word[i] = table[i / 32];
  }
  // The entry that the byte's upper bits name, which `byte_offset` has at 128 bytes each.
  __device__ uint32_t at(uint32_t byte_offset, uint32_t lane_offset) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(word);
    return *reinterpret_cast<const uint32_t*>(bytes + (byte_offset | lane_offset));
  }
};

// Byte `position` of a word, as an offset of 128 bytes for each of its values.
inline __device__ uint32_t row_offset(uint32_t word, uint32_t position) {
  return (position == 0 ? word << 7 : word >> (8 * position - 7)) & 0x7f80;
}

// Shared memory of kernels that encrypt.
struct EncryptBanks {
  Banks<256> encrypt;
  __device__ void fill() { encrypt.fill(kDeviceTables.encrypt); }
};

// Of those that decrypt.
struct DecryptBanks {
  Banks<256> decrypt;
  Banks<64> inverse;
  __device__ void fill() {
    decrypt.fill(kDeviceTables.decrypt);
    inverse.fill(kDeviceTables.inverse);
  }
};

// The readers of aes.hpp. `lane_offset`: four times the thread's bank.
struct EncryptTables {
  const EncryptBanks& banks;
  uint32_t lane_offset;
  __device__ uint32_t encrypt(uint32_t word, uint32_t position) const {
    return banks.encrypt.at(row_offset(word, position), lane_offset);
  }
};

struct DecryptTables {
  const DecryptBanks& banks;
  uint32_t lane_offset;
  __device__ uint32_t decrypt(uint32_t word, uint32_t position) const {
    return banks.decrypt.at(row_offset(word, position), lane_offset);
  }
  __device__ uint32_t inverse(uint32_t word, uint32_t position) const {
    uint32_t row = row_offset(word, position) >> 2 & 0x1f80;  // four values a word
    return banks.inverse.at(row, lane_offset) >> 8 * (word >> 8 * position & 3) & 0xff;
  }
};

}  // namespace hecto::gpu_offload::crypto
