#include "router/ipsec/sa_numbers.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstring>

namespace hecto::router {

uint64_t fingerprint(const esp::Transform& transform, const esp::Keys& keys) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  const uint8_t kind[] = {static_cast<uint8_t>(transform.cipher),
                          static_cast<uint8_t>(transform.integrity), transform.icv_bytes,
                          keys.cipher_bytes, keys.integrity_bytes};
  EVP_MD_CTX* hash = EVP_MD_CTX_new();
  if (hash == nullptr) return 0;
  const bool done = EVP_DigestInit_ex(hash, EVP_sha256(), nullptr) == 1 &&
                    EVP_DigestUpdate(hash, kind, sizeof kind) == 1 &&
                    EVP_DigestUpdate(hash, keys.cipher.data(), keys.cipher_bytes) == 1 &&
                    EVP_DigestUpdate(hash, keys.integrity.data(), keys.integrity_bytes) == 1 &&
                    EVP_DigestFinal_ex(hash, digest.data(), nullptr) == 1;
  EVP_MD_CTX_free(hash);
  uint64_t first = 0;
  if (done) std::memcpy(&first, digest.data(), sizeof first);
  return first;
}

}  // namespace hecto::router
