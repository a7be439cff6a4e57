// Where the sequence numbers and windows of SAs stand that nobody else remembers: those of the file
// and the API. A peer drops what comes with a number again, and a window that begins anew takes what
// was sent before. (Nonces have a random part of each process, too: Sa::iv_mask.)
//
// Values only. A fingerprint says nothing of the keys: 64 bits of SHA-256.
#pragma once

#include <cstdint>
#include <vector>

#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

struct SaNumbers {
  // More than one SA sends until the numbers are written down again, a second or two, or until a
  // watchdog ends a control that stands still: what is written down lies ahead by so much. Without ESN
  // 128 starts of that kind use them up.
  static constexpr uint64_t kReserve = 1 << 25;

  SaId id;
  uint64_t fingerprint = 0;      // of transform and keys
  uint64_t sequence = 0;         // sent so far
  uint64_t replay_sequence = 0;  // highest received so far
  bool operator==(const SaNumbers&) const = default;
};

uint64_t fingerprint(const esp::Transform& transform, const esp::Keys& keys);

}  // namespace hecto::router
