// AES-GCM on one packet by many lanes (NIST SP 800-38D section 7, RFC 4106).
//
// GHASH runs over positions 0 (AAD), 1 .. n (ciphertext), n + 1 (lengths); counter block j + 1 is
// the one of position j. Counter block 1 masks the ICV: to seal, it is a position n + 2. Lane l has
// positions l, l + W, l + 2W ...: it multiplies by H^W between them and by the power that remains
// at its last one, so that the lanes' sums need only be added.
#pragma once

#include "gpu_offload/crypto/aes.hpp"
#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/crypto/ghash.hpp"

namespace hecto::gpu_offload::crypto {

// One packet's view: nothing is copied but small numbers.
template <class Lanes, class Tables>
struct Gcm {
  const Lanes& lanes;
  const Tables& tables;
  const EspKey& key;
  const EspPacket& packet;
  uint8_t* payload;

  // Of AAD, ciphertext and lengths.
  HD uint32_t positions() const { return (packet.length + kBlockBytes - 1) / kBlockBytes + 2; }
  HD bool is_data(uint32_t position) const { return position != 0 && position < positions() - 1; }
  HD Block aad_or_lengths(uint32_t position) const {
    if (position == 0) return load_part(packet.aad, packet.aad_length);
    return {{0, byte_swap(packet.aad_length * 8), 0, byte_swap(packet.length * 8u)}};
  }

  // E(K, salt | IV | counter)
  HD Block key_stream(uint32_t counter) const {
    Block iv = load(packet.iv);
    Block block{{key.salt, iv.word[0], iv.word[1], byte_swap(counter)}};
    return aes_encrypt(tables, key.encrypt, key.rounds, block);
  }

  // Bytes of a data position: 16, fewer at the end.
  HD uint32_t bytes_at(uint32_t position) const {
    uint32_t left = packet.length - (position - 1) * kBlockBytes;
    return left < kBlockBytes ? left : kBlockBytes;
  }
  HD Block data(uint32_t position) const {
    const uint8_t* from = payload + (position - 1) * kBlockBytes;
    uint32_t bytes = bytes_at(position);
    return bytes == kBlockBytes ? load(from) : load_part(from, bytes);
  }
  HD void put(uint32_t position, const Block& block) const {
    uint8_t* to = payload + (position - 1) * kBlockBytes;
    uint32_t bytes = bytes_at(position);
    if (bytes == kBlockBytes) {
      store(to, block);
    } else {
      store_part(to, block, bytes);
    }
  }

  // A lane's sum with the block of one more position, times the power of H up to its next one or,
  // from its last, to the end.
  HD Block absorb(const Block& sum, const Block& block, uint32_t position) const {
    uint32_t left = positions() - position;
    uint32_t power = left < Lanes::kWidth ? left : Lanes::kWidth;
    return multiply(sum ^ to_element(block), key.power[power]);
  }

  HD void seal() const {
    Block icv = lanes.xor_sum([&](uint32_t lane) {
      uint32_t mask = positions();
      Block sum{};
      for (uint32_t position = lane; position <= mask; position += Lanes::kWidth) {
        Block block = key_stream(position == mask ? 1 : position + 1);
        if (is_data(position)) {
          block = first_bytes(data(position) ^ block, bytes_at(position));
          put(position, block);
        } else if (position != mask) {
          block = aad_or_lengths(position);
        }
        sum = absorb(sum, block, position);
      }
      return from_element(sum);
    });
    lanes.each([&](uint32_t lane) {
      if (lane == 0) store(payload + packet.icv, icv);
    });
  }

  // False, and nothing written, where the ICV is another.
  HD bool open() const {
    typename Lanes::template PerLane<Block> first;  // key stream: lane 0's is the mask
    Block difference = lanes.xor_sum([&](uint32_t lane) {
      first[lane] = key_stream(lane + 1);
      Block sum{};
      for (uint32_t position = lane; position < positions(); position += Lanes::kWidth) {
        sum = absorb(sum, is_data(position) ? data(position) : aad_or_lengths(position), position);
      }
      Block share = from_element(sum);
      return lane == 0 ? share ^ first[lane] ^ load(payload + packet.icv) : share;
    });
    if (!equal(difference, Block{})) return false;
    lanes.each([&](uint32_t lane) {
      for (uint32_t position = lane; position < positions(); position += Lanes::kWidth) {
        if (!is_data(position)) continue;
        Block stream = position == lane ? first[lane] : key_stream(position + 1);
        put(position, data(position) ^ stream);
      }
    });
    return true;
  }
};

}  // namespace hecto::gpu_offload::crypto
