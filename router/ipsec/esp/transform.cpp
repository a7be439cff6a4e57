#include "router/ipsec/esp/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "base/esp_algorithms.hpp"
#include "base/secret_memory.hpp"

namespace hecto::router::esp {
namespace {

constexpr Cipher cipher_of(std::string_view name) {
  constexpr std::pair<std::string_view, Cipher> kParts[] = {{"-cbc", Cipher::kAesCbc},
                                                            {"-ctr", Cipher::kAesCtr},
                                                            {"-gcm", Cipher::kAesGcm},
                                                            {"-gmac", Cipher::kAesGmac},
                                                            {"chacha20", Cipher::kChaCha20Poly1305},
                                                            {"null", Cipher::kNull}};
  for (const auto& [part, cipher] : kParts)
    if (name.find(part) != std::string_view::npos) return cipher;
  throw std::logic_error("a cipher without a transform");  // no constant then
}
constexpr Integrity integrity_of(std::string_view name) {
  constexpr std::pair<std::string_view, Integrity> kParts[] = {
      {"-sha1", Integrity::kHmacSha1},
      {"-sha2-256", Integrity::kHmacSha256},
      {"-sha2-384", Integrity::kHmacSha384},
      {"-sha2-512", Integrity::kHmacSha512}};
  for (const auto& [part, integrity] : kParts)
    if (name.find(part) != std::string_view::npos) return integrity;
  throw std::logic_error("an integrity algorithm without a transform");
}

struct CipherName : EspCipherEntry {
  Cipher cipher;
};
constexpr auto kCiphers = [] {
  std::array<CipherName, std::size(kEspCiphers)> list;
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = {kEspCiphers[i], cipher_of(kEspCiphers[i].name)};
  return list;
}();

struct IntegrityName : EspIntegrityEntry {
  Integrity integrity;
};
constexpr auto kIntegrities = [] {
  std::array<IntegrityName, std::size(kEspIntegrities)> list;
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = {kEspIntegrities[i], integrity_of(kEspIntegrities[i].name)};
  return list;
}();

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
