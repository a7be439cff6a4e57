// ESP packets made and opened by OpenSSL's primitives alone: what the engine is held against.
#pragma once

#include <openssl/evp.h>

#include "tests/unit/gpu_offload/crypto_openssl.hpp"
#include "tests/unit/router/ipsec/esp/esp_bed.hpp"

namespace hecto::router::esp {

inline const EVP_CIPHER* openssl_cipher(const Transform& transform) {
  const bool gcm = transform.cipher == Cipher::kAesGcm || transform.cipher == Cipher::kAesGmac;
  if (transform.cipher == Cipher::kChaCha20Poly1305) return EVP_chacha20_poly1305();
  if (transform.cipher == Cipher::kAesCtr)
    return transform.key_bytes == 16   ? EVP_aes_128_ctr()
           : transform.key_bytes == 24 ? EVP_aes_192_ctr()
                                       : EVP_aes_256_ctr();
  return gpu_offload::crypto::cipher_for(gcm, transform.key_bytes);
}

inline const EVP_MD* openssl_hash(Integrity integrity) {
  switch (integrity) {
    case Integrity::kHmacSha1:
      return EVP_sha1();
    case Integrity::kHmacSha256:
      return EVP_sha256();
    case Integrity::kHmacSha384:
      return EVP_sha384();
    default:
      return EVP_sha512();
  }
}

inline Bytes concat(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
inline Bytes slice(const Bytes& bytes, size_t begin, size_t end) {
  return {bytes.begin() + static_cast<long>(begin), bytes.begin() + static_cast<long>(end)};
}
inline Bytes be32(uint64_t value) {
  Bytes bytes(4);
  store32_be(bytes.data(), static_cast<uint32_t>(value));
  return bytes;
}

// One of EVP's ciphers over `text`; of an AEAD the ICV is put behind (encrypting) or given.
inline Bytes openssl_cipher_run(const SaState& state, bool encrypt, const Bytes& nonce,
                                const Bytes& aad, const Bytes& text, Bytes* icv) {
  using gpu_offload::crypto::must;
  gpu_offload::crypto::CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int length = 0;
  Bytes out(text.size() + 32);
  must(EVP_CipherInit_ex(context.get(), openssl_cipher(state.transform), nullptr,
                         state.keys.cipher.data(), nonce.data(), encrypt ? 1 : 0));
  must(EVP_CIPHER_CTX_set_padding(context.get(), 0));
  if (!aad.empty())
    must(EVP_CipherUpdate(context.get(), nullptr, &length, aad.data(),
                          static_cast<int>(aad.size())));
  if (!text.empty())
    must(EVP_CipherUpdate(context.get(), out.data(), &length, text.data(),
                          static_cast<int>(text.size())));
  if (icv != nullptr && !encrypt)
    must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(icv->size()),
                             icv->data()));
  must(EVP_CipherFinal_ex(context.get(), out.data() + text.size(), &length));
  if (icv != nullptr && encrypt)
    must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(icv->size()),
                             icv->data()));
  out.resize(text.size());
  return out;
}

struct EspParts {  // of one ESP packet, SPI to ICV
  Bytes header, iv, text, icv;
};

inline Bytes openssl_nonce(const SaState& state, const Bytes& iv) {
  const Transform& transform = state.transform;
  const auto* salt = state.keys.cipher.data() + transform.key_bytes;
  if (transform.cipher == Cipher::kAesCbc) return iv;
  Bytes nonce = concat({Bytes(salt, salt + transform.salt_bytes()), iv});
  if (transform.cipher == Cipher::kAesCtr) nonce = concat({nonce, be32(1)});
  return nonce;
}

// `plain`: payload, padding, pad length, next header.
inline Bytes openssl_seal(const SaState& state, uint64_t number, const Bytes& iv,
                          const Bytes& plain) {
  const Transform& transform = state.transform;
  const Bytes header = concat({be32(state.id.spi), be32(number)});
  const Bytes nonce = openssl_nonce(state, iv);
  Bytes aad = state.esn ? concat({be32(state.id.spi), be32(number >> 32), be32(number)}) : header;
  Bytes icv(transform.icv_bytes);
  if (transform.aead()) {
    const bool gmac = transform.cipher == Cipher::kAesGmac;
    if (gmac) aad = concat({aad, iv, plain});
    const Bytes text = openssl_cipher_run(state, true, nonce, aad, gmac ? Bytes{} : plain, &icv);
    return concat({header, iv, gmac ? plain : text, icv});
  }
  const Bytes text = transform.cipher == Cipher::kNull
                         ? plain
                         : openssl_cipher_run(state, true, nonce, {}, plain, nullptr);
  Bytes covered = concat({header, iv, text});
  if (state.esn) covered = concat({covered, be32(number >> 32)});
  const Bytes key(state.keys.integrity.data(),
                  state.keys.integrity.data() + state.keys.integrity_bytes);
  icv = gpu_offload::crypto::openssl_hmac(openssl_hash(transform.integrity), key, covered,
                                          transform.icv_bytes);
  return concat({header, iv, text, icv});
}

// Trailer behind `payload`, with `more` whole blocks of padding.
inline Bytes with_trailer(const Transform& transform, Bytes payload, uint8_t next_header,
                          unsigned more = 0) {
  const size_t block = transform.block_bytes();
  const size_t padding = (block - (payload.size() + 2) % block) % block + more * block;
  for (size_t i = 1; i <= padding; ++i) payload.push_back(static_cast<uint8_t>(i));
  payload.push_back(static_cast<uint8_t>(padding));
  payload.push_back(next_header);
  return payload;
}

// The outer headers of a tunnel around `esp`.
inline Bytes with_outer(const SaState& state, const Bytes& esp, uint8_t traffic_class = 0) {
  const bool v4 = state.id.destination.family == Family::kIpv4;
  Bytes udp;
  if (state.encapsulation) {
    udp.resize(8);
    store16_be(udp.data(), state.encapsulation->source_port);
    store16_be(udp.data() + 2, state.encapsulation->destination_port);
    store16_be(udp.data() + 4, static_cast<uint32_t>(8 + esp.size()));
  }
  Bytes ip(v4 ? 20 : 40);
  const uint8_t protocol = state.encapsulation ? 17 : 50;
  const unsigned size = state.source.size();
  std::copy_n(state.source.bytes.begin(), size, ip.end() - 2 * size);
  std::copy_n(state.id.destination.bytes.begin(), size, ip.end() - size);
  const auto total = static_cast<uint32_t>(ip.size() + udp.size() + esp.size());
  if (v4) {
    ip[0] = 0x45;
    ip[1] = traffic_class;
    store16_be(ip.data() + 2, total);
    ip[8] = 64;
    ip[9] = protocol;
    store16_be(ip.data() + 10, ipv4_checksum(ip.data(), 20));
  } else {
    store16_be(ip.data(), 0x6000U | static_cast<uint32_t>(traffic_class) << 4);
    store16_be(ip.data() + 4, total - 40);
    ip[6] = protocol;
    ip[7] = 64;
  }
  return concat({ip, udp, esp});
}

}  // namespace hecto::router::esp
