// Where the sequence numbers and windows of SAs stand that nobody else remembers: those of the file
// and the API. With the same keys a number that is given out twice is a nonce that is used twice (RFC
// 4106 §2), and a window that begins anew takes what was sent before.
//
// Values only. A fingerprint says nothing of the keys: 64 bits of SHA-256.
#pragma once

#include <cstdint>
#include <vector>

#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

struct SaNumbers {
  // More than one SA sends within the second or two until the numbers are written down again: what
  // is written down lies ahead by so much. Without ESN 256 starts of that kind use them up.
  static constexpr uint64_t kReserve = 1 << 24;

  SaId id;
  uint64_t fingerprint = 0;      // of transform and keys
  uint64_t sequence = 0;         // sent so far
  uint64_t replay_sequence = 0;  // highest received so far
  bool operator==(const SaNumbers&) const = default;
};

uint64_t fingerprint(const esp::Transform& transform, const esp::Keys& keys);

}  // namespace hecto::router
