// A security association as workers use it: what it says, its keys expanded, its numbers.
//
// Made by control in memory that is locked, kept out of core dumps, and wiped when it dies; read by
// all workers. What they write (sequence, replay window, use) is atomic: one SA's traffic may
// spread over all of them. Control frees it after every worker has been through a quiescent state.
//
// An SA that replaces another one with the same keys starts with the other's `sequence`: a number
// that was used before with a key of GCM, GMAC, CTR or ChaCha20 would give the key away. As a
// second line of defence each Sa adds a random mask to the IVs of these (as Linux does), so that a
// router that was started anew with keys from a file does not repeat them either.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/reason.hpp"
#include "router/ipsec/esp/crypto_library.hpp"
#include "router/ipsec/esp/replay.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {
struct NicSa;
}

namespace hecto::router::esp {

// The reasons that are counted for each SA.
inline constexpr Reason kFirstSaReason = Reason::kEspMalformed;
inline constexpr size_t kSaReasons =
    static_cast<size_t>(Reason::kEspNoRoom) - static_cast<size_t>(kFirstSaReason) + 1;

// What every packet of an SA has in common on the wire, worked out once: two cache lines, of which
// inbound needs the second alone.
struct alignas(64) Shape {
  // Outer IP header and UDP header as far as there are any, SPI, a sequence number of 0. Total
  // length, id, TTL, traffic class, checksums and numbers are 0.
  std::array<uint8_t, 56> header{};
  uint32_t checksum = 0;  // sum of the outer IPv4 header's words, not folded

  alignas(64) std::array<uint8_t, 4> salt{};
  uint8_t outer_bytes = 0;  // IP header of tunnel mode: 20, 40; 0 in transport mode
  uint8_t udp_bytes = 0;    // 8 or 0
  uint8_t iv_bytes = 0;
  uint8_t icv_bytes = 0;
  uint8_t block_bytes = 4;
  uint8_t key_index = 0;  // of AES: 0, 1, 2 for 128, 192, 256 bits
  Cipher cipher = Cipher::kNull;
  Integrity integrity = Integrity::kNone;
  bool tunnel = true;
  bool outer_ipv4 = true;  // family of both ends of the SA
  bool esn = false;
  bool copy_dscp = true, copy_dont_fragment = true, ecn = true;
  uint32_t tfc_pad = 0;
  uint64_t last_number = 0;  // never given out beyond it
  uint64_t iv_mask = 0;
  uint64_t hard_bytes = 0, hard_packets = 0;

  // In front of the ciphertext.
  uint32_t front_bytes() const noexcept { return outer_bytes + udp_bytes + 8U + iv_bytes; }
  // Ciphertext of `payload` bytes: padding, pad length and next header filled up to a block.
  uint32_t text_bytes(uint32_t payload) const noexcept {
    return (payload + 2 + block_bytes - 1) & ~(block_bytes - 1U);
  }
};
static_assert(sizeof(Shape) == 128);

inline constexpr uint32_t kNoDeviceKey = ~uint32_t{0};

class Sa {
 public:
  // For engines of `library`. Refuses keys that do not fit, and memory that cannot be had. One line
  // for the operator.
  static Result<std::unique_ptr<Sa>> create(const SaState& state,
                                            CryptoLibrary library = best_crypto());
  ~Sa();
  Sa(const Sa&) = delete;
  Sa& operator=(const Sa&) = delete;

  // How many bytes a packet of `inner` bytes (its IP header and all) becomes, and the other way:
  // the largest inner packet that fits `outer_mtu`; 0: none. Transport mode: of packets without
  // options or extension headers (a block cipher may pad others up to 12 bytes more).
  uint32_t outer_bytes(uint32_t inner) const noexcept {
    const uint32_t header = shape_.tunnel ? 0 : shape_.outer_ipv4 ? 20 : 40;  // stays in front
    const uint32_t payload = std::max(inner - std::min(header, inner), shape_.tfc_pad);
    return header + shape_.front_bytes() + shape_.text_bytes(payload) + shape_.icv_bytes;
  }
  uint32_t inner_mtu(uint32_t outer_mtu) const noexcept;

  // The path's MTU as routers on it have told (RFC 4301 §8.2): kept for ten minutes (RFC 1191
  // §6.3), 0 when nothing is known. A smaller one is heard at once, none below what Linux takes:
  // nobody vouches for it.
  static constexpr uint32_t kPathMtu_s = 600, kLeastPathMtu4 = 552, kLeastPathMtu6 = 1280;
  uint32_t path_mtu(uint32_t now_s) const noexcept {
    const uint64_t heard = path_mtu_.load(std::memory_order_relaxed);
    return now_s < static_cast<uint32_t>(heard) ? static_cast<uint32_t>(heard >> 32) : 0;
  }
  void update_path_mtu(uint32_t mtu, uint32_t now_s) noexcept;

  const Shape& shape() const noexcept { return shape_; }
  static constexpr size_t kKeyBytes = 1088;
  const std::byte* keys() const noexcept { return keys_.data(); }  // as its library reads them

  // Key memory (base/secret_memory.hpp); null when there is none.
  static void* operator new(size_t bytes, std::align_val_t) noexcept;
  static void operator delete(void* memory, std::align_val_t) noexcept;

  // ---- constant but for the path's MTU: in one cache line with it what packets are held against
  SaId id;
  IpAddress source;
  IpsecMode mode;
  Transform transform;
  uint32_t reqid, if_id;

 private:
  std::atomic<uint64_t> path_mtu_{0};  // MTU << 32 | the second when it is forgotten

 public:
  uint32_t number = 0;                 // dense, given by control: index of its counters in views
  uint32_t device_key = kNoDeviceKey;  // given by control: index of its keys on offload devices
  std::atomic<NicSa*> nic{nullptr};    // given by control: what ports' NICs do of it

 private:
  Sa(const SaState& state, CryptoLibrary library, uint64_t iv_mask);

  Shape shape_;
  alignas(64) std::array<std::byte, kKeyBytes> keys_{};

 public:
  // ---- written by workers
  alignas(64) std::atomic<uint64_t> sequence{0};          // last one given out
  std::atomic<uint64_t> bytes{0}, packets{0};             // ciphertext (RFC 4301 §4.4.2.1)
  std::atomic<uint32_t> first_used_s{0}, last_used_s{0};  // seconds of `now_s`
  std::atomic<bool> expired{false};  // hard lifetime over, or sequence numbers used up
  ReplayWindow replay;
  // This SA's packets that were dropped, counted by whoever drops them.
  std::array<std::atomic<uint64_t>, kSaReasons> drops{};
  void count_drop(Reason reason) noexcept {
    const size_t index = static_cast<size_t>(reason) - static_cast<size_t>(kFirstSaReason);
    if (index < kSaReasons) drops[index].fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace hecto::router::esp
