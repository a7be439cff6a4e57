// Keys of the flow table: those of filters (filter/key.hpp), masked, and their hash.
//
// The hash is NH (Black et al. 1999, of UMAC: almost universal over 64-bit words) with words of this
// process, folded by two secret factors: who does not know them can make no two keys that meet more often
// than chance has it. CRC32C would not do: whatever it begins with, the same keys meet.
#pragma once

#include <cstring>

#include "base/bytes.hpp"
#include "router/dataplane/filter/key.hpp"

namespace hecto::router {

template <typename Key>
inline constexpr unsigned kFlowKeyWords = 0;
template <>
inline constexpr unsigned kFlowKeyWords<FilterKey4> = 4;
template <>
inline constexpr unsigned kFlowKeyWords<FilterKey6> = 7;

struct FlowSeed {
  uint64_t words[8];
  uint64_t low, high;  // odd
};
FlowSeed random_flow_seed();

namespace flow_detail {

inline const uint8_t* bytes_of(const void* at) noexcept {
  return static_cast<const uint8_t*>(at);
}
inline uint64_t word(const void* key, unsigned i) noexcept {
  return load64_native(bytes_of(key) + i * 8);
}

}  // namespace flow_detail

template <typename Key>
inline uint64_t flow_hash_of(const Key& key, const Key& mask, const FlowSeed& seed) noexcept {
  using flow_detail::word;
  __extension__ typedef unsigned __int128 Wide;
  constexpr unsigned kWords = kFlowKeyWords<Key>;
  Wide sum = 0;
#pragma GCC unroll 4
  for (unsigned i = 0; i < kWords; i += 2) {
    const uint64_t left = (word(&key, i) & word(&mask, i)) + seed.words[i];
    const uint64_t right =
        (i + 1 < kWords ? word(&key, i + 1) & word(&mask, i + 1) : 0) + seed.words[i + 1];
    sum += static_cast<Wide>(left) * right;
  }
  // The high half of each product depends on all bits of its word.
  const Wide low = static_cast<Wide>(static_cast<uint64_t>(sum)) * seed.low;
  const Wide high = static_cast<Wide>(static_cast<uint64_t>(sum >> 64)) * seed.high;
  const Wide both = low + high;
  return static_cast<uint64_t>(both) ^ static_cast<uint64_t>(both >> 64);
}

template <typename Key>
inline bool same_flow(const Key& key, const Key& mask, const Key& wanted) noexcept {
  using flow_detail::word;
  uint64_t differs = 0;
#pragma GCC unroll 7
  for (unsigned i = 0; i < kFlowKeyWords<Key>; ++i)
    differs |= (word(&key, i) & word(&mask, i)) ^ word(&wanted, i);
  return differs == 0;
}

template <typename Key>
inline Key masked(const Key& key, const Key& mask) noexcept {
  using flow_detail::word;
  Key out;
  std::memset(&out, 0, sizeof out);
  for (unsigned i = 0; i < kFlowKeyWords<Key>; ++i) {
    const uint64_t both = word(&key, i) & word(&mask, i);
    std::memcpy(reinterpret_cast<uint8_t*>(&out) + i * 8, &both, 8);
  }
  return out;
}

}  // namespace hecto::router
