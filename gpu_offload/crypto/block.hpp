// 16 bytes as four 32-bit words, and how they come out of packets.
//
// Bytes lie in the words as in memory on x86, ARM and GPUs: the first one lowest. Packets may lie
// at any address; a GPU reads multiples of 16 (blocks) and of 4 (words) in one go, others by bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpu_offload/crypto/hd.hpp"

namespace hecto::gpu_offload::crypto {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint32_t kBlockBytes = 16;

struct alignas(16) Block {
  uint32_t word[4];
};
static_assert(std::is_trivially_copyable_v<Block> && sizeof(Block) == kBlockBytes);

HD inline Block operator^(const Block& a, const Block& b) {
  return {
      {a.word[0] ^ b.word[0], a.word[1] ^ b.word[1], a.word[2] ^ b.word[2], a.word[3] ^ b.word[3]}};
}

HD inline uint32_t rotate_left(uint32_t value, uint32_t bits) {  // 0 < bits < 32
  return value << bits | value >> (32 - bits);
}

HD inline uint32_t byte_swap(uint32_t value) {
#ifdef __CUDA_ARCH__
  return __byte_perm(value, 0, 0x0123);
#else
  return __builtin_bswap32(value);
#endif
}

// The first `bytes` (at most 16) of a block, zeros behind them.
HD inline Block load_part(const uint8_t* from, uint32_t bytes) {
  Block block{};
  HD_UNROLL
  for (uint32_t i = 0; i < kBlockBytes; ++i) {
    if (i < bytes) block.word[i / 4] |= static_cast<uint32_t>(from[i]) << 8 * (i % 4);
  }
  return block;
}

HD inline void store_part(uint8_t* to, const Block& block, uint32_t bytes) {
  HD_UNROLL
  for (uint32_t i = 0; i < kBlockBytes; ++i) {
    if (i < bytes) to[i] = static_cast<uint8_t>(block.word[i / 4] >> 8 * (i % 4));
  }
}

HD inline Block load(const uint8_t* from) {
#ifdef __CUDA_ARCH__
  bool aligned = reinterpret_cast<uintptr_t>(from) % kBlockBytes == 0;
  return aligned ? *reinterpret_cast<const Block*>(from) : load_part(from, kBlockBytes);
#else
  Block block;
  std::memcpy(&block, from, kBlockBytes);
  return block;
#endif
}

HD inline void store(uint8_t* to, const Block& block) {
#ifdef __CUDA_ARCH__
  if (reinterpret_cast<uintptr_t>(to) % kBlockBytes != 0) {
    store_part(to, block, kBlockBytes);
  } else {
    *reinterpret_cast<Block*>(to) = block;
  }
#else
  std::memcpy(to, &block, kBlockBytes);
#endif
}

// Four bytes, the first one highest.
HD inline uint32_t load_be32(const uint8_t* from) {
#ifdef __CUDA_ARCH__
  if (reinterpret_cast<uintptr_t>(from) % 4 == 0) {
    return byte_swap(*reinterpret_cast<const uint32_t*>(from));
  }
#endif
  return static_cast<uint32_t>(from[0]) << 24 | static_cast<uint32_t>(from[1]) << 16 |
         static_cast<uint32_t>(from[2]) << 8 | from[3];
}

// The first `bytes` (at most 16) as they are, zeros behind them.
HD inline Block first_bytes(const Block& block, uint32_t bytes) {
  Block part{};
  HD_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t kept = bytes <= 4 * i ? 0 : bytes - 4 * i;
    part.word[i] = block.word[i] & (kept >= 4 ? ~0u : (1u << 8 * kept) - 1);
  }
  return part;
}

// All bits of both, whatever they hold: how long it takes says nothing of where they differ.
HD inline bool equal(const Block& a, const Block& b) {
  Block differing = a ^ b;
  return (differing.word[0] | differing.word[1] | differing.word[2] | differing.word[3]) == 0;
}

}  // namespace hecto::gpu_offload::crypto
