#include "bench/ipsec/open_esp.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <memory>

#include "bench/bed/expected.hpp"

namespace hecto::bench {

using router::SaState;
using router::esp::Cipher;
using router::esp::Integrity;

namespace {

using Bytes = std::span<const uint8_t>;
using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

constexpr size_t kOuter_bytes = 20, kEsp_bytes = 8, kTrailer_bytes = 2;
constexpr uint8_t kEsp = 50, kIpInIp = 4;

uint32_t word(Bytes bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at]) << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 |
         bytes[at + 3];
}

int size_of(Bytes bytes) {
  return static_cast<int>(bytes.size());
}

const EVP_CIPHER* cipher_of(const router::esp::Transform& transform) {
  const unsigned bits = transform.key_bytes * 8u;
  switch (transform.cipher) {
    case Cipher::kAesGcm:
      return bits == 128 ? EVP_aes_128_gcm() : bits == 192 ? EVP_aes_192_gcm() : EVP_aes_256_gcm();
    case Cipher::kAesCbc:
      return bits == 128 ? EVP_aes_128_cbc() : bits == 192 ? EVP_aes_192_cbc() : EVP_aes_256_cbc();
    case Cipher::kChaCha20Poly1305:
      return EVP_chacha20_poly1305();
    default:
      return nullptr;
  }
}

// RFC 4106 and 7634: nonce of salt and IV; SPI and sequence number are authentic, too.
bool open_aead(const SaState& sa, Bytes header, Bytes iv, Bytes text, Bytes icv,
               std::vector<uint8_t>& plain) {
  std::array<uint8_t, 12> nonce{};
  std::copy_n(&sa.keys.cipher[sa.transform.key_bytes], 4, nonce.begin());
  std::copy(iv.begin(), iv.end(), nonce.begin() + 4);
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::vector<uint8_t> tag(icv.begin(), icv.end());
  int bytes = 0;
  return EVP_DecryptInit_ex(context.get(), cipher_of(sa.transform), nullptr, sa.keys.cipher.data(),
                            nonce.data()) == 1 &&
         EVP_DecryptUpdate(context.get(), nullptr, &bytes, header.data(), size_of(header)) == 1 &&
         EVP_DecryptUpdate(context.get(), plain.data(), &bytes, text.data(), size_of(text)) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, size_of(icv), tag.data()) == 1 &&
         EVP_DecryptFinal_ex(context.get(), plain.data() + bytes, &bytes) == 1;
}

// RFC 2404 and 4868 over all but the ICV, then RFC 3602.
bool open_chain(const SaState& sa, Bytes authentic, Bytes iv, Bytes text, Bytes icv,
                std::vector<uint8_t>& plain) {
  const EVP_MD* hash = sa.transform.integrity == Integrity::kHmacSha1 ? EVP_sha1() : EVP_sha256();
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  if (HMAC(hash, sa.keys.integrity.data(), sa.keys.integrity_bytes, authentic.data(),
           authentic.size(), digest.data(), nullptr) == nullptr ||
      !std::equal(icv.begin(), icv.end(), digest.begin()))
    return false;
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int bytes = 0, last = 0;
  return EVP_DecryptInit_ex(context.get(), cipher_of(sa.transform), nullptr, sa.keys.cipher.data(),
                            iv.data()) == 1 &&
         EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1 &&
         EVP_DecryptUpdate(context.get(), plain.data(), &bytes, text.data(), size_of(text)) == 1 &&
         EVP_DecryptFinal_ex(context.get(), plain.data() + bytes, &last) == 1;
}

Result<void> check_outer(const SaState& sa, Bytes ip) {
  if (ip.size() < kOuter_bytes || ip[0] != 0x45 || ip[9] != kEsp)
    return fail("is no ESP in plain IPv4");
  if ((ip[2] << 8 | ip[3]) != static_cast<int>(ip.size()))
    return fail(
        fmt::format("says {} bytes in its outer header and has {}", ip[2] << 8 | ip[3], ip.size()));
  if (checksum_by_definition(ip.first(kOuter_bytes)) != 0)
    return fail("has a wrong checksum in its outer header");
  if (!std::equal(&ip[12], &ip[16], sa.source.bytes.begin()) ||
      !std::equal(&ip[16], &ip[20], sa.id.destination.bytes.begin()))
    return fail("does not go from this end of its tunnel to the other");
  return {};
}

// RFC 4303 §2.4: padding counts 1, 2, 3.
Result<void> take_trailer(std::vector<uint8_t>& plain) {
  if (plain.back() != kIpInIp) return fail(fmt::format("has next header {}, not 4", plain.back()));
  const size_t padding = plain[plain.size() - kTrailer_bytes];
  if (padding + kTrailer_bytes > plain.size()) return fail("has more padding than payload");
  plain.resize(plain.size() - kTrailer_bytes);
  for (size_t i = 0; i < padding; ++i)
    if (plain[plain.size() - padding + i] != i + 1) return fail("has wrong padding");
  plain.resize(plain.size() - padding);
  return {};
}

}  // namespace

Result<std::vector<uint8_t>> open_esp(const SaState& sa, Bytes ip) {
  if (cipher_of(sa.transform) == nullptr) return fail("has a cipher that is not opened here");
  if (auto outer = check_outer(sa, ip); !outer) return tl::unexpected(outer.error());
  const bool aead = sa.transform.aead();
  const size_t iv_bytes = aead ? 8 : 16, icv_bytes = sa.transform.icv_bytes;
  const Bytes esp = ip.subspan(kOuter_bytes);
  if (esp.size() < kEsp_bytes + iv_bytes + kTrailer_bytes + icv_bytes) return fail("is too short");
  if (word(esp, 0) != sa.id.spi) return fail(fmt::format("has SPI 0x{:x}", word(esp, 0)));
  const Bytes iv = esp.subspan(kEsp_bytes, iv_bytes), icv = esp.last(icv_bytes);
  const Bytes text =
      esp.subspan(kEsp_bytes + iv_bytes, esp.size() - kEsp_bytes - iv_bytes - icv_bytes);
  std::vector<uint8_t> plain(text.size());
  const bool opened = aead
                          ? open_aead(sa, esp.first(kEsp_bytes), iv, text, icv, plain)
                          : open_chain(sa, esp.first(esp.size() - icv_bytes), iv, text, icv, plain);
  if (!opened) return fail("does not open with its tunnel's key");
  if (auto trailer = take_trailer(plain); !trailer) return tl::unexpected(trailer.error());
  return plain;
}

}  // namespace hecto::bench
