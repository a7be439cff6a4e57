// What a library of cryptography does for an Engine: keys laid down, batches sealed and opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/ipsec/esp/crypto_library.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router::esp {

// Not thread-safe. Calls are virtual: one for a block of packets, none for each.
class Crypto {
 public:
  static Result<std::unique_ptr<Crypto>> create(CryptoLibrary library);
  virtual ~Crypto() = default;

  // Encrypt in place and put the ICV behind; decrypt in place and make the ICV that should be
  // there. Work stays where it is until `drain`, after which `failed` tells what was not done.
  virtual void seal(std::span<Work> batch) noexcept = 0;
  virtual void open(std::span<Work> batch) noexcept = 0;
  virtual void drain() noexcept = 0;
  // Unpredictable IVs (of CBC): `count` of 16 bytes, at most kMostIvs. Valid until the next call.
  static constexpr unsigned kMostIvs = 256;
  virtual const uint8_t* random_ivs(unsigned count) noexcept = 0;

  // After open and drain, in constant time. If not, the bytes are worth nothing.
  static bool icv_is_right(const Work& work) noexcept;
};

// Into zeroed key memory, of Sa::kKeyBytes, as `library` reads them.
void lay_keys(CryptoLibrary library, const Transform& transform, const Keys& keys, std::byte* to);

inline constexpr uint32_t kEspHeaderBytes = 8;
inline uint8_t* text_of(const Work& work, const Shape& shape) noexcept {
  return work.esp + kEspHeaderBytes + shape.iv_bytes;
}
inline uint8_t* icv_of(const Work& work, const Shape& shape) noexcept {
  return text_of(work, shape) + work.text_bytes;
}

// Differences of all bytes at once: the time does not tell where the first one is. ICVs have 8 to 32
// bytes, in fours.
inline bool Crypto::icv_is_right(const Work& work) noexcept {
  const Shape& shape = work.sa->shape();
  const uint8_t* received =
      shape.integrity == Integrity::kNone ? icv_of(work, shape) : work.received;
  uint64_t difference = load64_native(received) ^ load64_native(work.icv);
  for (uint32_t i = 8; i < shape.icv_bytes; i += 4)
    difference |= load32_native(received + i) ^ load32_native(work.icv + i);
  return difference == 0;
}

// An AEAD's additional data: SPI, which is in the packet, and sequence number (RFC 4106 §5), 8
// bytes, 12 with ESN. Without ESN it stands in the packet as it is.
inline const uint8_t* aad_of(const Work& work, const Shape& shape) noexcept {
  return shape.esn ? work.aad : work.esp;
}
inline void write_aad(const Work& work, const Shape& shape, uint8_t* to) noexcept {
  memcpy(to, work.esp, 4);
  if (shape.esn) return store64_be(to + 4, work.number);
  store32_be(to + 4, static_cast<uint32_t>(work.number));
}

}  // namespace hecto::router::esp
