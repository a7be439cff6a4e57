// ESP's transforms on batches of packets: what a key, a packet and a job are, for CPU and GPU.
//
//   AES-128/192/256-GCM, ICV of 16 bytes                      RFC 4106, NIST SP 800-38D
//   AES-128/192/256-CBC + HMAC-SHA-1-96 (ICV of 12 bytes)     RFC 3602, RFC 2404, RFC 2104
//   AES-128/192/256-CBC + HMAC-SHA-256-128 (16)               RFC 3602, RFC 4868
//
// All of it works in place and is plain data without pointers of its own, so that the same bytes
// serve host and device. Sequence numbers, windows, padding and trailer are the caller's (RFC
// 4303). Not handled: GCM with ICVs of 8 or 12 bytes, ESP without encryption or without integrity.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

enum class EspTransform : uint32_t { kNone, kGcm, kCbcSha1, kCbcSha256 };

inline constexpr uint32_t kMaxLanes = 32;  // that work on one packet together

// What an SA's keys become once, on the host. Secret as the keys are: see wipe().
struct alignas(16) EspKey {
  EspTransform transform;
  uint32_t rounds;             // 10, 12 or 14
  uint32_t salt;               // GCM: as it lies in memory
  uint32_t icv_bytes;          // 12 or 16
  Block encrypt[15];           // AES round keys, FIPS 197 section 5.2
  Block decrypt[15];           // CBC: for the equivalent inverse cipher, section 5.3.5
  Block power[kMaxLanes + 1];  // GCM: H^0 .. H^32 as ghash.hpp holds elements
  uint32_t inner[8];           // CBC: the hash after key ^ ipad, RFC 2104; five words for SHA-1
  uint32_t outer[8];           // and after key ^ opad
};
static_assert(std::is_trivially_copyable_v<EspKey>);

// One packet in a job's buffer: [SPI, sequence number, IV,] payload, ICV. The brackets are not read
// there but here. Offsets of any alignment work, payloads at multiples of 16 are fast on a GPU.
struct alignas(16) EspPacket {
  uint8_t iv[16];    // as on the wire; GCM: the first 8 bytes
  uint8_t aad[12];   // as on the wire: SPI, with ESN the high half of the sequence number, low half
  uint32_t key;      // index in the job's keys
  uint64_t payload;  // bytes from the buffer's start to what is encrypted
  uint16_t length;   // bytes of payload with padding and trailer; CBC: a multiple of 16
  uint16_t icv;      // bytes from the payload's start to the ICV, at least `length`
  uint32_t aad_length;  // 8, or 12 with ESN
};
static_assert(std::is_trivially_copyable_v<EspPacket> && sizeof(EspPacket) == 48);

enum class EspVerdict : uint8_t {
  kPending,     // what the caller writes before a job: nobody has answered
  kDone,        // sealed, or opened and authentic
  kForged,      // the ICV is another: nothing was written
  kUnservable,  // wrong key, length or offset: nothing was written
};

// Packets of one kind and direction. `packet_count` packets and verdicts, `key_count` keys, a
// buffer of `buffer_bytes`: all where the launcher's threads can read (device memory, or pinned and
// mapped).
enum class EspKind : uint32_t { kSealGcm, kOpenGcm, kSealCbc, kOpenCbc };

struct EspJob {
  EspKind kind;
  uint32_t packet_count;
  uint32_t key_count;
  uint32_t payload_bytes;  // of all packets: how many lanes a packet gets
  uint64_t buffer_bytes;
  uint8_t* buffer;
  const EspPacket* packets;
  const EspKey* keys;
  EspVerdict* verdicts;
};
static_assert(std::is_trivially_copyable_v<EspJob>);

// Key preparation, host only, any thread. False, and `key` wiped, where a length is wrong.
// Encryption keys: 16, 24 or 32 bytes. Table look-ups on key bytes: not for hosts whose caches
// attackers watch.
bool prepare_gcm(EspKey& key, std::span<const uint8_t> cipher_key, std::span<const uint8_t> salt4);
bool prepare_cbc_sha1(EspKey& key, std::span<const uint8_t> cipher_key,
                      std::span<const uint8_t> hmac_key20);
bool prepare_cbc_sha256(EspKey& key, std::span<const uint8_t> cipher_key,
                        std::span<const uint8_t> hmac_key32);

// Zeros that no compiler leaves out. A copy in device memory is its owner's to clear (cudaMemset).
void wipe(EspKey& key) noexcept;

// Whether the job's packet fits key, kind and buffer: what each launcher asks first.
HD inline bool servable(const EspJob& job, const EspPacket& packet) {
  if (packet.key >= job.key_count) return false;
  if (packet.aad_length != 8 && packet.aad_length != 12) return false;
  if (packet.icv < packet.length) return false;
  const EspKey& key = job.keys[packet.key];
  bool gcm = job.kind == EspKind::kSealGcm || job.kind == EspKind::kOpenGcm;
  if (key.transform == EspTransform::kNone || (key.transform == EspTransform::kGcm) != gcm)
    return false;
  if (!gcm && packet.length % kBlockBytes != 0) return false;
  uint64_t behind = static_cast<uint64_t>(packet.icv) + key.icv_bytes;
  return behind <= job.buffer_bytes && packet.payload <= job.buffer_bytes - behind;
}

}  // namespace hecto::gpu_offload::crypto
