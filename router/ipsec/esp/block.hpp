// Batches in blocks, runs of one SA within them, and the blocks of its cipher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "router/ipsec/esp/packet.hpp"
#include "router/ipsec/esp/sa.hpp"

namespace hecto::router::esp {

// Packets of one SA that stand together at the head of `packets`.
inline size_t run_of(std::span<const Packet> packets) noexcept {
  size_t n = 1;
  while (n < packets.size() && packets[n].sa == packets[0].sa) ++n;
  return n;
}

// What of so many bytes fills no block of the cipher. Blocks are powers of two, which the compiler
// cannot know: a division a packet.
inline uint32_t beyond_blocks(const Shape& shape, uint32_t bytes) noexcept {
  return bytes & (shape.block_bytes - 1U);
}

// A part of a batch whose packets and work stay in the L1 cache between the passes.
inline constexpr size_t kBlock = 64;

// 10,000 SAs do not fit the caches: what a block needs of them is asked for at its beginning.
inline void prefetch(std::span<const Packet> block, bool inbound) noexcept {
  const Sa* last = nullptr;
  for (const Packet& packet : block) {
    if (packet.sa == last || packet.sa == nullptr) continue;
    last = packet.sa;
    __builtin_prefetch(&last->sequence, 1);
    __builtin_prefetch(&last->shape().salt);
    if (inbound)
      last->replay.prefetch();
    else
      __builtin_prefetch(&last->shape());
  }
}

}  // namespace hecto::router::esp
