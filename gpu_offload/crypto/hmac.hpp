// HMAC (RFC 2104) from prepared states, over messages that need not lie in one piece.
//
// A `Message` has bytes() and word(i): its bytes 4i .. 4i + 3 as a big-endian number, zeros behind
// its end. One thread a packet.
#pragma once

#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/crypto/sha1.hpp"
#include "gpu_offload/crypto/sha256.hpp"

namespace hecto::gpu_offload::crypto {

inline constexpr uint32_t kHashBlockBytes = 64;

// Of the message with its padding (FIPS 180-4 section 5.1.1).
template <class Message>
HD uint32_t hash_blocks(const Message& message) {
  return (message.bytes() + 1 + 8 + kHashBlockBytes - 1) / kHashBlockBytes;
}

// One of them, after all before it and `before` bytes (whole blocks) in front of the message.
template <class Hash, class Message>
HD void hash_block(typename Hash::State& state, uint32_t before, const Message& message,
                   uint32_t block) {
  uint32_t bytes = message.bytes();
  uint32_t w[16];
  HD_UNROLL
  for (uint32_t i = 0; i < 16; ++i) {
    uint32_t word = block * 16 + i;
    w[i] = 4 * word < bytes ? message.word(word) : 0;
    if (word == bytes / 4) w[i] |= 0x80000000u >> 8 * (bytes % 4);
  }
  if (block == hash_blocks(message) - 1) {
    w[14] = (before + bytes) >> 29;  // the length in bits
    w[15] = (before + bytes) << 3;
  }
  Hash::compress(state, w);
}

// Goes on from `state`, reached after `before` bytes, to the end of the message.
template <class Hash, class Message>
HD typename Hash::State hash_rest(typename Hash::State state, uint32_t before,
                                  const Message& message) {
  uint32_t blocks = hash_blocks(message);
  for (uint32_t block = 0; block < blocks; ++block) hash_block<Hash>(state, before, message, block);
  return state;
}

template <class Hash>
struct Digest {
  typename Hash::State state;
  HD uint32_t bytes() const { return 4 * Hash::kWords; }
  HD uint32_t word(uint32_t i) const { return state.word[i]; }
};

// A state as EspKey has it.
template <class Hash>
HD typename Hash::State state_of(const uint32_t* words) {
  typename Hash::State state;
  HD_UNROLL
  for (uint32_t i = 0; i < Hash::kWords; ++i) state.word[i] = words[i];
  return state;
}

// `inner`: the state after key ^ ipad and the message; `outer`: that after key ^ opad.
template <class Hash>
HD typename Hash::State hmac_end(const typename Hash::State& inner, const uint32_t* outer) {
  return hash_rest<Hash>(state_of<Hash>(outer), kHashBlockBytes, Digest<Hash>{inner});
}

// `inner` and `outer`: the states after key ^ ipad and key ^ opad, as in EspKey.
template <class Hash, class Message>
HD typename Hash::State hmac(const uint32_t* inner, const uint32_t* outer, const Message& message) {
  return hmac_end<Hash>(hash_rest<Hash>(state_of<Hash>(inner), kHashBlockBytes, message), outer);
}

// What ESP's ICV covers with a separate integrity algorithm (RFC 4303 section 2.8): SPI, low half
// of the sequence number, IV, ciphertext, and with ESN the high half. All whole words.
struct EspMessage {
  const EspPacket& packet;
  const uint8_t* payload;

  static constexpr uint32_t kHeadBytes = 8 + 16;  // in front of the ciphertext
  HD bool esn() const { return packet.aad_length == 12; }
  HD uint32_t bytes() const { return kHeadBytes + packet.length + (esn() ? 4 : 0); }
  HD uint32_t word(uint32_t i) const {
    if (i == 0) return load_be32(packet.aad);
    if (i == 1) return load_be32(packet.aad + packet.aad_length - 4);
    if (i < 6) return load_be32(packet.iv + 4 * (i - 2));
    uint32_t at = 4 * (i - 6);
    return load_be32(at < packet.length ? payload + at : packet.aad + 4);
  }
};

// Of a digest: the ICV, behind it zeros.
template <class Hash>
HD Block icv_of(const typename Hash::State& digest) {
  Block icv{};
  HD_UNROLL
  for (uint32_t i = 0; i < (Hash::kWords == Sha1::kWords ? 3 : 4); ++i)
    icv.word[i] = byte_swap(digest.word[i]);
  return icv;
}

HD inline Block esp_icv(const EspKey& key, const EspPacket& packet, const uint8_t* payload) {
  EspMessage message{packet, payload};
  if (key.transform == EspTransform::kCbcSha1)
    return icv_of<Sha1>(hmac<Sha1>(key.inner, key.outer, message));
  return icv_of<Sha256>(hmac<Sha256>(key.inner, key.outer, message));
}

}  // namespace hecto::gpu_offload::crypto
