// Hashes of the keys of control's tables, word by word. Not seeded: no peer chooses these keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lookup/prefix.hpp"

namespace hecto::router {

inline size_t mix(size_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

inline size_t mix(size_t hash, const lookup::IpAddress& address) {
  uint64_t words[2];
  static_assert(sizeof(words) == sizeof(address.bytes));
  std::copy(address.bytes.begin(), address.bytes.end(), reinterpret_cast<uint8_t*>(words));
  return mix(mix(mix(hash, static_cast<uint64_t>(address.family)), words[0]), words[1]);
}

}  // namespace hecto::router
