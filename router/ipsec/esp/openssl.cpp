#include "router/ipsec/esp/openssl.hpp"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"

namespace hecto::router::esp {
namespace {

constexpr std::array<const char*, OpenSsl::kCiphers> kCipherNames = {
    "AES-128-CBC", "AES-192-CBC", "AES-256-CBC", "AES-128-CTR", "AES-192-CTR",
    "AES-256-CTR", "AES-128-GCM", "AES-192-GCM", "AES-256-GCM", "ChaCha20-Poly1305"};
constexpr std::array<const char*, OpenSsl::kHashes> kHashNames = {"SHA1", "SHA256", "SHA384",
                                                                  "SHA512"};

// Its algorithms, whatever /etc/ssl/openssl.cnf says. They live as long as the process.
struct Algorithms {
  std::array<EVP_CIPHER*, OpenSsl::kCiphers> ciphers{};
  EVP_MAC* hmac = nullptr;
  bool complete = false;

  Algorithms() {
    OSSL_LIB_CTX* library = OSSL_LIB_CTX_new();
    if (library == nullptr || OSSL_PROVIDER_load(library, "default") == nullptr) return;
    for (size_t i = 0; i < ciphers.size(); ++i)
      ciphers[i] = EVP_CIPHER_fetch(library, kCipherNames[i], nullptr);
    hmac = EVP_MAC_fetch(library, "HMAC", nullptr);
    complete = hmac != nullptr && std::ranges::find(ciphers, nullptr) == ciphers.end();
  }
};

const Algorithms& algorithms() {
  static const Algorithms all;
  return all;
}

size_t cipher_index(const Shape& shape) {
  switch (shape.cipher) {
    case Cipher::kAesCbc:
      return shape.key_index;
    case Cipher::kAesCtr:
      return 3U + shape.key_index;
    case Cipher::kChaCha20Poly1305:
      return 9;
    default:
      return 6U + shape.key_index;
  }
}

size_t hash_index(Integrity integrity) {
  return static_cast<size_t>(integrity) - static_cast<size_t>(Integrity::kHmacSha1);
}

const PlainKeys& keys_of(const Sa& sa) {
  return *std::launder(reinterpret_cast<const PlainKeys*>(sa.keys()));
}

bool update(EVP_CIPHER_CTX* context, uint8_t* to, const uint8_t* from, uint32_t bytes) {
  int done = 0;
  return EVP_CipherUpdate(context, to, &done, from, static_cast<int>(bytes)) == 1 &&
         static_cast<uint32_t>(done) == bytes;
}

bool icv(EVP_CIPHER_CTX* context, int get_or_set, const Shape& shape, uint8_t* icv) {
  return EVP_CIPHER_CTX_ctrl(context, get_or_set, shape.icv_bytes, icv) == 1;
}

bool fill_random(uint8_t* to, size_t bytes) {
  constexpr size_t kAtOnce = 256;  // so many are never cut short by a signal
  for (size_t at = 0; at < bytes; at += kAtOnce) {
    const size_t more = std::min(kAtOnce, bytes - at);
    if (getrandom(to + at, more, 0) != static_cast<ssize_t>(more)) return false;
  }
  return true;
}

}  // namespace

PlainKeys::PlainKeys(const Transform& transform, const Keys& keys) {
  std::copy_n(keys.cipher.begin(), transform.key_bytes, cipher);
  std::copy_n(keys.integrity.begin(), keys.integrity_bytes, integrity);
}

Result<void> OpenSsl::usable() {
  if (algorithms().complete) return {};
  return fail(fmt::format("OpenSSL {} lacks algorithms that ESP needs",
                          OpenSSL_version(OPENSSL_VERSION_STRING)));
}

std::string OpenSsl::describe() {
  return fmt::format("OpenSSL {}, {}", OpenSSL_version(OPENSSL_VERSION_STRING),
                     __builtin_cpu_supports("aes") != 0 ? "AES-NI" : "no AES-NI: slower");
}

Result<std::unique_ptr<Crypto>> OpenSsl::create() {
  if (auto runs = usable(); !runs) return tl::unexpected(runs.error());
  std::unique_ptr<OpenSsl> crypto(new OpenSsl);
  for (auto& slot : crypto->ciphers_) {
    slot.context.reset(EVP_CIPHER_CTX_new());
    if (slot.context == nullptr) return fail("no memory for OpenSSL's ciphers", ENOMEM);
  }
  for (size_t i = 0; i < kHashes; ++i) {
    const OSSL_PARAM named[] = {OSSL_PARAM_construct_utf8_string(
                                    OSSL_MAC_PARAM_DIGEST, const_cast<char*>(kHashNames[i]), 0),
                                OSSL_PARAM_construct_end()};
    auto& context = crypto->hashes_[i].context;
    context.reset(EVP_MAC_CTX_new(algorithms().hmac));
    if (context == nullptr || EVP_MAC_CTX_set_params(context.get(), named) != 1)
      return fail(fmt::format("OpenSSL has no HMAC with {}", kHashNames[i]));
  }
  if (!fill_random(crypto->ivs_.data(), 16))
    return fail("the kernel gives no random numbers for IVs", errno);
  return crypto;
}

// A key stays in its context while packets of one SA follow each other.
EVP_CIPHER_CTX* OpenSsl::keyed_cipher(const Work& work, const uint8_t* iv, bool seal) noexcept {
  const Shape& shape = work.sa->shape();
  const size_t index = cipher_index(shape);
  auto& slot = ciphers_[index];
  EVP_CIPHER_CTX* context = slot.context.get();
  const bool fresh = slot.keyed == nullptr;
  const uint8_t* key = slot.keyed == work.sa ? nullptr : keys_of(*work.sa).cipher;
  if (EVP_CipherInit_ex2(context, fresh ? algorithms().ciphers[index] : nullptr, key, iv,
                         seal ? 1 : 0, nullptr) == 1 &&
      (!fresh || EVP_CIPHER_CTX_set_padding(context, 0) == 1)) {
    slot.keyed = work.sa;
    return context;
  }
  EVP_CIPHER_CTX_reset(context);
  slot.keyed = nullptr;
  return nullptr;
}

EVP_MAC_CTX* OpenSsl::keyed_hash(const Work& work, const Shape& shape) noexcept {
  auto& slot = hashes_[hash_index(shape.integrity)];
  const bool same = slot.keyed == work.sa;
  const uint8_t* key = same ? nullptr : keys_of(*work.sa).integrity;
  const size_t bytes = same ? 0 : work.sa->transform.integrity_key_bytes();
  slot.keyed = work.sa;
  return EVP_MAC_init(slot.context.get(), key, bytes, nullptr) == 1 ? slot.context.get() : nullptr;
}

// RFC 4106, RFC 7634; GMAC: everything is additional data (RFC 4543 §3.3). Opening, libcrypto
// compares ICVs itself: where it finds them equal, the right one is the received one.
template <bool kSeal>
bool OpenSsl::aead(Work& work, const Shape& shape) noexcept {
  EVP_CIPHER_CTX* context = keyed_cipher(work, work.iv, kSeal);
  if (context == nullptr || !update(context, nullptr, aad_of(work, shape), shape.esn ? 12 : 8))
    return false;
  uint8_t* text = text_of(work, shape);
  uint8_t* behind = icv_of(work, shape);
  const bool done =
      shape.cipher == Cipher::kAesGmac
          ? update(context, nullptr, work.esp + kEspHeaderBytes, shape.iv_bytes + work.text_bytes)
          : update(context, text, text, work.text_bytes);
  if (!done || (!kSeal && !icv(context, EVP_CTRL_AEAD_SET_TAG, shape, behind))) return false;
  uint8_t nothing[16];
  int bytes = 0;
  if (EVP_CipherFinal_ex(context, nothing, &bytes) != 1) return false;
  if constexpr (kSeal) return icv(context, EVP_CTRL_AEAD_GET_TAG, shape, behind);
  memcpy(work.icv, behind, shape.icv_bytes);
  return true;
}

template <bool kSeal>
bool OpenSsl::crypt(const Work& work, const Shape& shape) noexcept {
  if (shape.cipher == Cipher::kNull) return true;
  uint8_t iv[16];
  memcpy(iv, work.iv, sizeof iv);
  if (shape.cipher == Cipher::kAesCtr) store32_be(iv + 12, 1);  // RFC 3686 §4: counts from 1
  EVP_CIPHER_CTX* context = keyed_cipher(work, iv, kSeal);
  uint8_t* text = text_of(work, shape);
  return context != nullptr && update(context, text, text, work.text_bytes);
}

// Covers the ESP header up to the end of the ciphertext and, with ESN, the number's upper half
// behind it, which is not sent (RFC 4303 §2.2.1).
bool OpenSsl::hmac(const Work& work, const Shape& shape, uint8_t* icv) noexcept {
  EVP_MAC_CTX* context = keyed_hash(work, shape);
  uint8_t upper[4], digest[64];
  size_t bytes = 0;
  store32_be(upper, static_cast<uint32_t>(work.number >> 32));
  const bool done =
      context != nullptr &&
      EVP_MAC_update(context, work.esp, kEspHeaderBytes + shape.iv_bytes + work.text_bytes) == 1 &&
      (!shape.esn || EVP_MAC_update(context, upper, sizeof upper) == 1) &&
      EVP_MAC_final(context, digest, &bytes, sizeof digest) == 1;
  if (done) memcpy(icv, digest, shape.icv_bytes);
  return done;
}

template <bool kSeal>
void OpenSsl::run(std::span<Work> batch) noexcept {
  for (Work& work : batch) {
    const Shape& shape = work.sa->shape();
    if (shape.integrity == Integrity::kNone) {
      work.failed = !aead<kSeal>(work, shape);
    } else if constexpr (kSeal) {
      work.failed = !crypt<kSeal>(work, shape) || !hmac(work, shape, icv_of(work, shape));
    } else {
      memcpy(work.received, icv_of(work, shape), shape.icv_bytes);
      work.failed =
          !hmac(work, shape, work.icv) || (icv_is_right(work) && !crypt<kSeal>(work, shape));
    }
  }
}
template void OpenSsl::run<true>(std::span<Work>) noexcept;
template void OpenSsl::run<false>(std::span<Work>) noexcept;

// Keys leave the heap. Of an HMAC by another key, which overwrites all that came of the last one.
void OpenSsl::drain() noexcept {
  static constexpr uint8_t kNoKey[Keys::kMaxIntegrity] = {};
  for (auto& slot : ciphers_) {
    if (slot.keyed != nullptr) EVP_CIPHER_CTX_reset(slot.context.get());
    slot.keyed = nullptr;
  }
  for (auto& slot : hashes_) {
    if (slot.keyed != nullptr) EVP_MAC_init(slot.context.get(), kNoKey, sizeof kNoKey, nullptr);
    slot.keyed = nullptr;
  }
}

// From the kernel: blocks that nobody can foresee (RFC 3602 §3).
const uint8_t* OpenSsl::random_ivs(unsigned count) noexcept {
  while (!fill_random(ivs_.data(), size_t{16} * count)) {  // create() has seen that it works
  }
  return ivs_.data();
}

}  // namespace hecto::router::esp
