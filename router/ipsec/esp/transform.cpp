#include "router/ipsec/esp/transform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/secret_memory.hpp"

namespace hecto::router::esp {
namespace {

struct CipherName {
  std::string_view name;
  Cipher cipher;
  uint8_t key_bytes;
  uint8_t icv_bytes;  // of an AEAD; 0: the integrity algorithm says
};

constexpr std::array<CipherName, 20> kCiphers = {{
    {"null", Cipher::kNull, 0, 0},
    {"aes-128-cbc", Cipher::kAesCbc, 16, 0},
    {"aes-192-cbc", Cipher::kAesCbc, 24, 0},
    {"aes-256-cbc", Cipher::kAesCbc, 32, 0},
    {"aes-128-ctr", Cipher::kAesCtr, 16, 0},
    {"aes-192-ctr", Cipher::kAesCtr, 24, 0},
    {"aes-256-ctr", Cipher::kAesCtr, 32, 0},
    {"aes-128-gcm", Cipher::kAesGcm, 16, 16},
    {"aes-192-gcm", Cipher::kAesGcm, 24, 16},
    {"aes-256-gcm", Cipher::kAesGcm, 32, 16},
    {"aes-128-gcm-12", Cipher::kAesGcm, 16, 12},
    {"aes-192-gcm-12", Cipher::kAesGcm, 24, 12},
    {"aes-256-gcm-12", Cipher::kAesGcm, 32, 12},
    {"aes-128-gcm-8", Cipher::kAesGcm, 16, 8},
    {"aes-192-gcm-8", Cipher::kAesGcm, 24, 8},
    {"aes-256-gcm-8", Cipher::kAesGcm, 32, 8},
    {"aes-128-gmac", Cipher::kAesGmac, 16, 16},
    {"aes-192-gmac", Cipher::kAesGmac, 24, 16},
    {"aes-256-gmac", Cipher::kAesGmac, 32, 16},
    {"chacha20-poly1305", Cipher::kChaCha20Poly1305, 32, 16},
}};

struct IntegrityName {
  std::string_view name;
  Integrity integrity;
  uint8_t key_bytes;
  uint8_t icv_bytes;
};

constexpr std::array<IntegrityName, 5> kIntegrities = {{
    {"hmac-sha1", Integrity::kHmacSha1, 20, 12},        // RFC 2404
    {"hmac-sha2-256", Integrity::kHmacSha256, 32, 16},  // RFC 4868
    // Of a draft before RFC 4868; Linux's own where an SA names no length.
    {"hmac-sha2-256-96", Integrity::kHmacSha256, 32, 12},
    {"hmac-sha2-384", Integrity::kHmacSha384, 48, 24},
    {"hmac-sha2-512", Integrity::kHmacSha512, 64, 32},
}};

// By the first of its ICVs where no length of `icv_bytes` fits.
const IntegrityName* find(Integrity integrity, unsigned icv_bytes) {
  const IntegrityName* first = nullptr;
  for (const IntegrityName& entry : kIntegrities) {
    if (entry.integrity != integrity) continue;
    if (entry.icv_bytes == icv_bytes) return &entry;
    if (first == nullptr) first = &entry;
  }
  return first;
}

template <typename Names>
std::string list(const Names& names) {
  std::string text;
  for (const auto& entry : names) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  return text;
}

const CipherName* find(const Transform& transform) {
  const auto* found = std::ranges::find_if(kCiphers, [&](const CipherName& entry) {
    return entry.cipher == transform.cipher && entry.key_bytes == transform.key_bytes &&
           (entry.icv_bytes == 0 || entry.icv_bytes == transform.icv_bytes);
  });
  return found == kCiphers.end() ? nullptr : found;
}

}  // namespace

unsigned Transform::salt_bytes() const {
  return cipher == Cipher::kNull || cipher == Cipher::kAesCbc ? 0 : 4;
}

unsigned Transform::iv_bytes() const {
  if (cipher == Cipher::kNull) return 0;
  return cipher == Cipher::kAesCbc ? 16 : 8;
}

unsigned Transform::block_bytes() const {
  return cipher == Cipher::kAesCbc ? 16 : 4;
}

unsigned Transform::integrity_key_bytes() const {
  const IntegrityName* found = find(integrity, icv_bytes);
  return found == nullptr ? 0 : found->key_bytes;
}

Keys::Keys(Keys&& other) noexcept : Keys(static_cast<const Keys&>(other)) {
  other.wipe();
}

Keys& Keys::operator=(Keys&& other) noexcept {
  if (this == &other) return *this;
  *this = static_cast<const Keys&>(other);
  other.wipe();
  return *this;
}

std::shared_ptr<const Keys> keep_keys(const Keys& keys) {
  void* memory = allocate_secret(sizeof(Keys));
  if (memory == nullptr) return nullptr;
  return {new (memory) Keys(keys), [](const Keys* kept) {
            kept->~Keys();
            release_secret(const_cast<Keys*>(kept), sizeof(Keys));
          }};
}

void Keys::wipe() noexcept {
  hecto::wipe(cipher.data(), cipher.size());
  hecto::wipe(integrity.data(), integrity.size());
  cipher_bytes = 0;
  integrity_bytes = 0;
}

std::string to_string(const Transform& transform) {
  const CipherName* cipher = find(transform);
  const IntegrityName* integrity = find(transform.integrity, transform.icv_bytes);
  std::string text(cipher == nullptr ? "unknown" : cipher->name);
  if (integrity != nullptr) text += fmt::format(" + {}", integrity->name);
  return text;
}

Result<Transform> transform_by_name(std::string_view cipher, std::string_view integrity) {
  const auto* found = std::ranges::find(kCiphers, cipher, &CipherName::name);
  if (found == kCiphers.end()) {
    return fail(fmt::format("cipher \"{}\" is none of {}", cipher, list(kCiphers)));
  }
  Transform transform{found->cipher, Integrity::kNone, found->key_bytes, found->icv_bytes};
  if (found->icv_bytes != 0) {
    if (integrity.empty() || integrity == "none") return transform;
    return fail(fmt::format("{} protects integrity itself: leave \"{}\" out", cipher, integrity));
  }
  const auto* hash = std::ranges::find(kIntegrities, integrity, &IntegrityName::name);
  if (hash == kIntegrities.end()) {
    return fail(fmt::format("integrity \"{}\" with {} is none of {}", integrity, cipher,
                            list(kIntegrities)));
  }
  transform.integrity = hash->integrity;
  transform.icv_bytes = hash->icv_bytes;
  return transform;
}

Result<void> check(const Transform& transform, const Keys& keys) {
  const CipherName* cipher = find(transform);
  const IntegrityName* integrity = find(transform.integrity, transform.icv_bytes);
  if (cipher == nullptr) {
    return fail(fmt::format("no cipher has a key of {} bytes and an ICV of {} bytes; there are {}",
                            transform.key_bytes, transform.icv_bytes, list(kCiphers)));
  }
  if (cipher->icv_bytes != 0 && integrity != nullptr) {
    return fail(
        fmt::format("{} protects integrity itself: leave {} out", cipher->name, integrity->name));
  }
  if (cipher->icv_bytes == 0 && integrity == nullptr) {
    return fail(fmt::format("{} needs an integrity algorithm: one of {}", cipher->name,
                            list(kIntegrities)));
  }
  if (integrity != nullptr && transform.icv_bytes != integrity->icv_bytes) {
    return fail(fmt::format("{} has an ICV of {} bytes, not of {}", integrity->name,
                            integrity->icv_bytes, transform.icv_bytes));
  }
  const unsigned cipher_bytes = transform.key_bytes + transform.salt_bytes();
  if (keys.cipher_bytes != cipher_bytes) {
    return fail(fmt::format("the key of {} has {} bytes, {} of them salt; {} were given",
                            cipher->name, cipher_bytes, transform.salt_bytes(), keys.cipher_bytes));
  }
  if (keys.integrity_bytes != transform.integrity_key_bytes()) {
    return fail(fmt::format("the key of {} has {} bytes; {} were given",
                            integrity == nullptr ? "no HMAC" : integrity->name,
                            transform.integrity_key_bytes(), keys.integrity_bytes));
  }
  return {};
}

}  // namespace hecto::router::esp
