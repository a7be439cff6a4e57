// A batch of random packets under random SAs, plain and as OpenSSL seals them.
#pragma once

#include <random>

#include "gpu_offload/crypto/esp.hpp"
#include "tests/unit/gpu_offload/crypto_hex.hpp"

namespace hecto::gpu_offload::crypto {

struct Batch {
  bool gcm = true;
  std::vector<EspKey> keys;
  std::vector<EspPacket> packets;
  Bytes plain;   // the buffer: random bytes between the packets as well
  Bytes sealed;  // the same after sealing
  std::vector<EspVerdict> verdicts;

  // Over `buffer`, with poisoned verdicts.
  EspJob job(EspKind kind, Bytes& buffer) {
    verdicts.assign(packets.size(), EspVerdict::kPending);
    uint32_t payload_bytes = 0;
    for (const EspPacket& packet : packets) payload_bytes += packet.length;
    return {kind,
            static_cast<uint32_t>(packets.size()),
            static_cast<uint32_t>(keys.size()),
            payload_bytes,
            buffer.size(),
            buffer.data(),
            packets.data(),
            keys.data(),
            verdicts.data()};
  }
  EspKind seal() const { return gcm ? EspKind::kSealGcm : EspKind::kSealCbc; }
  EspKind open() const { return gcm ? EspKind::kOpenGcm : EspKind::kOpenCbc; }
};

// One packet for each of `lengths` (CBC: multiples of 16), at all alignments, with and without ESN,
// ICVs behind their payload or a little further.
Batch random_batch(std::mt19937_64& random, bool gcm, const std::vector<uint16_t>& lengths);

// Every `step`th length of what tests sample.
inline std::vector<uint16_t> lengths_up_to(uint16_t most, uint16_t step) {
  std::vector<uint16_t> lengths;
  for (uint32_t length = 0; length <= most; length += step) {
    lengths.push_back(static_cast<uint16_t>(length));
  }
  return lengths;
}

}  // namespace hecto::gpu_offload::crypto
