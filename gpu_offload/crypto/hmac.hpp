// HMAC (RFC 2104) from prepared states, over messages that need not lie in one piece.
//
// A `Message` has bytes() and word(i): its bytes 4i .. 4i + 3 as a big-endian number, zeros behind
// its end. One thread a packet.
#pragma once

#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/crypto/sha1.hpp"
#include "gpu_offload/crypto/sha256.hpp"

namespace hecto::gpu_offload::crypto {

// Goes on from `state`, reached after `before` bytes (whole blocks), to the end of the message with
// its padding (FIPS 180-4 section 5.1.1).
template <class Hash, class Message>
HD typename Hash::State hash_rest(typename Hash::State state, uint32_t before,
                                  const Message& message) {
  uint32_t bytes = message.bytes();
  uint32_t blocks = (bytes + 1 + 8 + 63) / 64;
  for (uint32_t block = 0; block < blocks; ++block) {
    uint32_t w[16];
    HD_UNROLL
    for (uint32_t i = 0; i < 16; ++i) {
      uint32_t word = block * 16 + i;
      w[i] = 4 * word < bytes ? message.word(word) : 0;
      if (word == bytes / 4) w[i] |= 0x80000000u >> 8 * (bytes % 4);
    }
    if (block == blocks - 1) {
      w[14] = (before + bytes) >> 29;  // the length in bits
      w[15] = (before + bytes) << 3;
    }
    Hash::compress(state, w);
  }
  return state;
}

template <class Hash>
struct Digest {
  typename Hash::State state;
  HD uint32_t bytes() const { return 4 * Hash::kWords; }
  HD uint32_t word(uint32_t i) const { return state.word[i]; }
};

// `inner` and `outer`: the states after key ^ ipad and key ^ opad, as in EspKey.
template <class Hash, class Message>
HD typename Hash::State hmac(const uint32_t* inner, const uint32_t* outer, const Message& message) {
  typename Hash::State first;
  typename Hash::State second;
  HD_UNROLL
  for (uint32_t i = 0; i < Hash::kWords; ++i) {
    first.word[i] = inner[i];
    second.word[i] = outer[i];
  }
  Digest<Hash> digest{hash_rest<Hash>(first, 64, message)};
  return hash_rest<Hash>(second, 64, digest);
}

// What ESP's ICV covers with a separate integrity algorithm (RFC 4303 section 2.8): SPI, low half
// of the sequence number, IV, ciphertext, and with ESN the high half. All whole words.
struct EspMessage {
  const EspPacket& packet;
  const uint8_t* payload;

  HD bool esn() const { return packet.aad_length == 12; }
  HD uint32_t bytes() const { return 8u + 16 + packet.length + (esn() ? 4 : 0); }
  HD uint32_t word(uint32_t i) const {
    if (i == 0) return load_be32(packet.aad);
    if (i == 1) return load_be32(packet.aad + packet.aad_length - 4);
    if (i < 6) return load_be32(packet.iv + 4 * (i - 2));
    uint32_t at = 4 * (i - 6);
    return load_be32(at < packet.length ? payload + at : packet.aad + 4);
  }
};

// The ICV, behind it zeros.
HD inline Block esp_icv(const EspKey& key, const EspPacket& packet, const uint8_t* payload) {
  EspMessage message{packet, payload};
  Block icv{};
  if (key.transform == EspTransform::kCbcSha1) {
    Sha1::State digest = hmac<Sha1>(key.inner, key.outer, message);
    HD_UNROLL
    for (uint32_t i = 0; i < 3; ++i) icv.word[i] = byte_swap(digest.word[i]);
  } else {
    Sha256::State digest = hmac<Sha256>(key.inner, key.outer, message);
    HD_UNROLL
    for (uint32_t i = 0; i < 4; ++i) icv.word[i] = byte_swap(digest.word[i]);
  }
  return icv;
}

}  // namespace hecto::gpu_offload::crypto
