// The same transforms by OpenSSL: what ours are held against.
#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>
#include <stdexcept>

#include "tests/unit/gpu_offload/crypto_hex.hpp"

namespace hecto::gpu_offload::crypto {

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

inline void must(int result) {
  if (result <= 0) throw std::runtime_error("OpenSSL refuses");
}

inline const EVP_CIPHER* cipher_for(bool gcm, size_t key_bytes) {
  if (key_bytes == 16) return gcm ? EVP_aes_128_gcm() : EVP_aes_128_cbc();
  if (key_bytes == 24) return gcm ? EVP_aes_192_gcm() : EVP_aes_192_cbc();
  return gcm ? EVP_aes_256_gcm() : EVP_aes_256_cbc();
}

struct Sealed {
  Bytes ciphertext;
  Bytes icv;
};

inline Sealed openssl_gcm(const Bytes& key, const Bytes& nonce, const Bytes& aad,
                          const Bytes& plain) {
  CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Sealed sealed{Bytes(plain.size()), Bytes(16)};
  int length = 0;
  must(EVP_EncryptInit_ex(context.get(), cipher_for(true, key.size()), nullptr, key.data(),
                          nonce.data()));
  must(
      EVP_EncryptUpdate(context.get(), nullptr, &length, aad.data(), static_cast<int>(aad.size())));
  uint8_t none = 0;  // OpenSSL takes null pointers for something else
  if (!plain.empty()) {
    must(EVP_EncryptUpdate(context.get(), sealed.ciphertext.data(), &length, plain.data(),
                           static_cast<int>(plain.size())));
  }
  must(EVP_EncryptFinal_ex(context.get(), &none, &length));
  must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, 16, sealed.icv.data()));
  return sealed;
}

inline Bytes openssl_cbc(const Bytes& key, const Bytes& iv, const Bytes& plain) {
  CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Bytes ciphertext(plain.size() + 16);
  int length = 0;
  must(EVP_EncryptInit_ex(context.get(), cipher_for(false, key.size()), nullptr, key.data(),
                          iv.data()));
  must(EVP_CIPHER_CTX_set_padding(context.get(), 0));
  must(EVP_EncryptUpdate(context.get(), ciphertext.data(), &length, plain.data(),
                         static_cast<int>(plain.size())));
  ciphertext.resize(plain.size());
  return ciphertext;
}

inline Bytes openssl_hmac(const EVP_MD* hash, const Bytes& key, const Bytes& message,
                          size_t icv_bytes) {
  Bytes icv(64);
  unsigned length = 0;
  if (HMAC(hash, key.data(), static_cast<int>(key.size()), message.data(), message.size(),
           icv.data(), &length) == nullptr) {
    throw std::runtime_error("OpenSSL refuses");
  }
  icv.resize(icv_bytes);
  return icv;
}

}  // namespace hecto::gpu_offload::crypto
