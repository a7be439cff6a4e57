// The keys of an SA as ipsec-mb reads them: AES round keys, GHASH's powers, HMAC's states.
#pragma once

#include <cstdint>
#include <new>

#include "router/ipsec/esp/ipsec_mb_manager.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/transform.hpp"

namespace hecto::router::esp {

// GMAC uses `gcm`, ChaCha20-Poly1305 `encrypt` as it is.
struct alignas(64) ExpandedKeys {
  struct Rounds {
    alignas(16) uint8_t encrypt[16 * 15];
    alignas(16) uint8_t decrypt[16 * 15];
    alignas(16) uint8_t inner[64], outer[64];  // HMAC's state behind key ^ ipad, key ^ opad
  };
  union {
    gcm_key_data gcm;
    Rounds rounds;
  };
};

inline const ExpandedKeys& keys_of(const Sa& sa) noexcept {
  return *std::launder(reinterpret_cast<const ExpandedKeys*>(sa.keys()));
}

// Into zeroed key memory, where mb_functions() are.
void expand(const Transform& transform, const Keys& keys, ExpandedKeys& expanded);

}  // namespace hecto::router::esp
