// AES-CBC (NIST SP 800-38A section 6.2, RFC 3602) with HMAC, encrypt-then-MAC (RFC 4303).
//
// A block's encryption waits for the one before it, and so does a hash: both one thread a packet,
// so a GPU wants thousands in flight. Decryption is parallel over blocks.
#pragma once

#include "gpu_offload/crypto/aes.hpp"
#include "gpu_offload/crypto/hmac.hpp"

namespace hecto::gpu_offload::crypto {

template <class Tables>
HD void cbc_encrypt(const Tables& tables, const EspKey& key, const EspPacket& packet,
                    uint8_t* payload) {
  Block before = load(packet.iv);
  for (uint32_t at = 0; at < packet.length; at += kBlockBytes) {
    before = aes_encrypt(tables, key.encrypt, key.rounds, before ^ load(payload + at));
    store(payload + at, before);
  }
}

// In place: from the last blocks to the first, as each needs the ciphertext before it.
template <class Lanes, class Tables>
HD void cbc_decrypt(const Lanes& lanes, const Tables& tables, const EspKey& key,
                    const EspPacket& packet, uint8_t* payload) {
  uint32_t blocks = packet.length / kBlockBytes;
  uint32_t groups = (blocks + Lanes::kWidth - 1) / Lanes::kWidth;
  for (uint32_t group = groups; group-- > 0;) {
    lanes.each([&](uint32_t lane) {
      uint32_t block = group * Lanes::kWidth + lane;
      uint8_t* at = payload + block * kBlockBytes;
      Block plain{};
      if (block < blocks) {
        plain = aes_decrypt(tables, key.decrypt, key.rounds, load(at)) ^
                load(block == 0 ? packet.iv : at - kBlockBytes);
      }
      lanes.sync();
      if (block < blocks) store(at, plain);
    });
  }
}

template <class Tables>
HD void cbc_seal(const Tables& tables, const EspKey& key, const EspPacket& packet,
                 uint8_t* payload) {
  cbc_encrypt(tables, key, packet, payload);
  store_part(payload + packet.icv, esp_icv(key, packet, payload), key.icv_bytes);
}

// Whether the packet's ICV is right: what comes before cbc_decrypt().
HD inline bool cbc_authentic(const EspKey& key, const EspPacket& packet, const uint8_t* payload) {
  Block sent = load_part(payload + packet.icv, key.icv_bytes);
  return equal(sent, esp_icv(key, packet, payload));
}

}  // namespace hecto::gpu_offload::crypto
