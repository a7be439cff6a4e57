// ESP's algorithms: their sizes, their names, their keys.
//
// Sources: RFC 4106 (GCM), 3602 (CBC), 3686 (CTR), 4543 (GMAC), 7634 (ChaCha20-Poly1305), 2410
// (NULL), 2404 (HMAC-SHA1), 4868 (HMAC-SHA2). All functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace hecto::router::esp {

enum class Cipher : uint8_t { kNull, kAesCbc, kAesCtr, kAesGcm, kAesGmac, kChaCha20Poly1305 };
enum class Integrity : uint8_t { kNone, kHmacSha1, kHmacSha256, kHmacSha384, kHmacSha512 };

struct Transform {
  Cipher cipher = Cipher::kNull;
  Integrity integrity =
      Integrity::kNone;   // kNone with GCM, GMAC, ChaCha20-Poly1305, and only there
  uint8_t key_bytes = 0;  // of the cipher, without salt
  uint8_t icv_bytes = 0;  // that go on the wire
  bool operator==(const Transform&) const = default;

  bool aead() const { return integrity == Integrity::kNone; }
  unsigned salt_bytes() const;           // behind the cipher's key: 4 of GCM, GMAC, CTR, ChaCha20
  unsigned iv_bytes() const;             // on the wire: 16 CBC, 0 NULL, else 8
  unsigned block_bytes() const;          // that payload and trailer fill: 16 CBC, else 4
  unsigned integrity_key_bytes() const;  // 20, 32, 48, 64; 0 of AEAD
};

// Key material; wiped when it is destroyed, moved from or assigned to. Never printed.
class Keys {
 public:
  static constexpr unsigned kMaxCipher = 36;     // AES-256 and its salt
  static constexpr unsigned kMaxIntegrity = 64;  // HMAC-SHA-512
  Keys() = default;
  ~Keys() { wipe(); }
  Keys(const Keys& other) = default;
  Keys& operator=(const Keys& other) = default;
  Keys(Keys&& other) noexcept;
  Keys& operator=(Keys&& other) noexcept;

  std::array<uint8_t, kMaxCipher> cipher{};  // key, then salt
  uint8_t cipher_bytes = 0;
  std::array<uint8_t, kMaxIntegrity> integrity{};
  uint8_t integrity_bytes = 0;
  void wipe() noexcept;
  bool operator==(const Keys&) const = default;
};

// A copy in secret memory, wiped when the last one lets go of it; null when there is no memory.
std::shared_ptr<const Keys> keep_keys(const Keys& keys);

// As the file and `hecto show ipsec` name them: "aes-128-gcm", "aes-256-cbc + hmac-sha2-256", …;
// the words of `ip xfrm` are the mirror's business.
std::string to_string(const Transform& transform);
Result<Transform> transform_by_name(std::string_view cipher, std::string_view integrity);

// One line when the lengths do not fit each other or the algorithm.
Result<void> check(const Transform& transform, const Keys& keys);

}  // namespace hecto::router::esp
