// AES-CBC (NIST SP 800-38A section 6.2, RFC 3602) with HMAC, encrypt-then-MAC (RFC 4303).
//
// A block's encryption waits for the one before it, and so does a hash: two threads a packet, one behind
// the other, so a GPU wants thousands in flight. Decryption is parallel over blocks.
#pragma once

#include "gpu_offload/crypto/aes.hpp"
#include "gpu_offload/crypto/hmac.hpp"

namespace hecto::gpu_offload::crypto {

// The payload's bytes from `from` to `to`, whole blocks; `before`: the ciphertext in front, the IV at
// first, and the last one afterwards.
template <class Tables>
HD void cbc_encrypt(const Tables& tables, const EspKey& key, uint8_t* payload, uint32_t from,
                    uint32_t to, Block& before) {
  for (uint32_t at = from; at < to; at += kBlockBytes) {
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

// A packet's sealing in steps, each a block of the hash: one thread encrypts a step while another one
// hashes the step before, with a barrier of both between them; or one thread does both in turn. Each has
// an object of its own, and reads no key before its first step.
template <class Tables>
class CbcSeal {
 public:
  HD CbcSeal(const Tables& tables, const EspKey& key, const EspPacket& packet, uint8_t* payload)
      : tables_(tables), key_(key), message_{packet, payload}, payload_(payload) {}

  // What the hash's block has of the ciphertext, up to a whole block of AES.
  HD void encrypt(uint32_t step) {
    const uint32_t length = message_.packet.length;
    const uint32_t from = step == 0 ? 0 : end_of(step - 1), to = end_of(step);
    if (step == 0) before_ = load(message_.packet.iv);
    cbc_encrypt(tables_, key_, payload_, from, to < length ? to : length, before_);
  }
  HD void hash(uint32_t step) { is_sha1() ? hash_one<Sha1>(step) : hash_one<Sha256>(step); }
  // Behind the hash's last step.
  HD void write_icv() const {
    const Block icv = is_sha1() ? end<Sha1>() : end<Sha256>();
    store_part(payload_ + message_.packet.icv, icv, key_.icv_bytes);
  }

 private:
  HD static uint32_t end_of(uint32_t step) {
    constexpr uint32_t kEnd = kHashBlockBytes - EspMessage::kHeadBytes;
    constexpr uint32_t kWhole = (kEnd + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    return step * kHashBlockBytes + kWhole;
  }
  HD bool is_sha1() const { return key_.transform == EspTransform::kCbcSha1; }
  template <class Hash>
  HD void hash_one(uint32_t step) {
    typename Hash::State state = state_of<Hash>(state_);
    if (step == 0) state = state_of<Hash>(key_.inner);
    hash_block<Hash>(state, kHashBlockBytes, message_, step);
    HD_UNROLL
    for (uint32_t i = 0; i < Hash::kWords; ++i) state_[i] = state.word[i];
  }

  template <class Hash>
  HD Block end() const {
    return icv_of<Hash>(hmac_end<Hash>(state_of<Hash>(state_), key_.outer));
  }

  Tables tables_;
  const EspKey& key_;
  EspMessage message_;
  uint8_t* payload_;
  Block before_{};          // of who encrypts
  uint32_t state_[8] = {};  // of who hashes
};

// Whether the packet's ICV is right: what comes before cbc_decrypt().
HD inline bool cbc_authentic(const EspKey& key, const EspPacket& packet, const uint8_t* payload) {
  Block sent = load_part(payload + packet.icv, key.icv_bytes);
  return equal(sent, esp_icv(key, packet, payload));
}

}  // namespace hecto::gpu_offload::crypto
