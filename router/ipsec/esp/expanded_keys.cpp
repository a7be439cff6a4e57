#include "router/ipsec/esp/expanded_keys.hpp"

#include <string.h>

#include <utility>

#include "base/secret_memory.hpp"

namespace hecto::router::esp {
namespace {

void hmac_states(Integrity integrity, const Keys& keys, ExpandedKeys::Rounds& rounds) {
  const auto& one_block = [&] {
    switch (integrity) {
      case Integrity::kHmacSha1:
        return mb_functions()->sha1_one_block;
      case Integrity::kHmacSha256:
        return mb_functions()->sha256_one_block;
      case Integrity::kHmacSha384:
        return mb_functions()->sha384_one_block;
      default:
        return mb_functions()->sha512_one_block;
    }
  }();
  uint8_t block[128];
  for (const auto& [pad, state] : {std::pair{uint8_t{0x36}, rounds.inner}, {0x5c, rounds.outer}}) {
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < keys.integrity_bytes; ++i) block[i] ^= keys.integrity[i];
    one_block(block, state);
  }
  hecto::wipe(block, sizeof block);
}

void aes_rounds(const uint8_t* key, unsigned key_bytes, uint8_t* encrypt, uint8_t* decrypt) {
  const IMB_MGR& calls = *mb_functions();
  const auto call = key_bytes == 16   ? calls.keyexp_128
                    : key_bytes == 24 ? calls.keyexp_192
                                      : calls.keyexp_256;
  call(key, encrypt, decrypt);
}

}  // namespace

void expand(const Transform& transform, const Keys& keys, ExpandedKeys& expanded) {
  const uint8_t* key = keys.cipher.data();
  const IMB_MGR& calls = *mb_functions();
  switch (transform.cipher) {
    case Cipher::kNull:
      break;
    case Cipher::kAesCbc:
    case Cipher::kAesCtr:
      aes_rounds(key, transform.key_bytes, expanded.rounds.encrypt, expanded.rounds.decrypt);
      break;
    case Cipher::kAesGcm:
    case Cipher::kAesGmac:
      (transform.key_bytes == 16   ? calls.gcm128_pre
       : transform.key_bytes == 24 ? calls.gcm192_pre
                                   : calls.gcm256_pre)(key, &expanded.gcm);
      break;
    case Cipher::kChaCha20Poly1305:
      memcpy(expanded.rounds.encrypt, key, 32);
      break;
  }
  if (!transform.aead()) hmac_states(transform.integrity, keys, expanded.rounds);
}

}  // namespace hecto::router::esp
