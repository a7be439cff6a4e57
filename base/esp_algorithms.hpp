// ESP's algorithms as the configuration file and `hecto show ipsec` name them, and how long their
// keys and ICVs are: what may be written is what there are transforms for.
//
// Sources: RFC 4106 (GCM), 3602 (CBC), 3686 (CTR), 4543 (GMAC), 7634 (ChaCha20-Poly1305), 2410
// (NULL), 2404 (HMAC-SHA1), 4868 (HMAC-SHA2).
#pragma once

#include <cstdint>
#include <string_view>

namespace hecto {

struct EspCipherEntry {
  std::string_view name;
  uint8_t key_bytes;
  uint8_t salt_bytes;  // behind the key, as iproute2 has it
  uint8_t icv_bytes;   // of an AEAD; 0: the integrity algorithm says
};

inline constexpr EspCipherEntry kEspCiphers[] = {
    {"null", 0, 0, 0},
    {"aes-128-cbc", 16, 0, 0},
    {"aes-192-cbc", 24, 0, 0},
    {"aes-256-cbc", 32, 0, 0},
    {"aes-128-ctr", 16, 4, 0},
    {"aes-192-ctr", 24, 4, 0},
    {"aes-256-ctr", 32, 4, 0},
    {"aes-128-gcm", 16, 4, 16},
    {"aes-192-gcm", 24, 4, 16},
    {"aes-256-gcm", 32, 4, 16},
    {"aes-128-gcm-12", 16, 4, 12},
    {"aes-192-gcm-12", 24, 4, 12},
    {"aes-256-gcm-12", 32, 4, 12},
    {"aes-128-gcm-8", 16, 4, 8},
    {"aes-192-gcm-8", 24, 4, 8},
    {"aes-256-gcm-8", 32, 4, 8},
    {"aes-128-gmac", 16, 4, 16},
    {"aes-192-gmac", 24, 4, 16},
    {"aes-256-gmac", 32, 4, 16},
    {"chacha20-poly1305", 32, 4, 16},
};

struct EspIntegrityEntry {
  std::string_view name;
  uint8_t key_bytes;
  uint8_t icv_bytes;
};

inline constexpr EspIntegrityEntry kEspIntegrities[] = {
    {"hmac-sha1", 20, 12},
    {"hmac-sha2-256", 32, 16},
    // Of a draft before RFC 4868; Linux's own where an SA names no length.
    {"hmac-sha2-256-96", 32, 12},
    {"hmac-sha2-384", 48, 24},
    {"hmac-sha2-512", 64, 32},
};

}  // namespace hecto
