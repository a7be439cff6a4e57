// Keys: AES's expansion (FIPS 197 section 5.2), powers of H, HMAC's states.
#include <array>
#include <cstring>

#include "gpu_offload/crypto/aes.hpp"
#include "gpu_offload/crypto/aes_tables.hpp"
#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/crypto/ghash.hpp"
#include "gpu_offload/crypto/hmac.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

constexpr HostTables kTables;

uint32_t sub_byte(uint32_t word, uint32_t position) {
  return kTables.encrypt(word, position) >> 8 & 0xff;
}

uint32_t sub_word(uint32_t word) {
  return sub_byte(word, 0) | sub_byte(word, 1) << 8 | sub_byte(word, 2) << 16 |
         sub_byte(word, 3) << 24;
}

// InvMixColumns of one column: the decryption table undoes the S-box first, so apply that before.
uint32_t inverse_mix(uint32_t column) {
  uint32_t s = sub_word(column);
  return kTables.decrypt(s, 0) ^ rotate_left(kTables.decrypt(s, 1), 8) ^
         rotate_left(kTables.decrypt(s, 2), 16) ^ rotate_left(kTables.decrypt(s, 3), 24);
}

bool expand(EspKey& key, std::span<const uint8_t> cipher_key) {
  if (cipher_key.size() != 16 && cipher_key.size() != 24 && cipher_key.size() != 32) return false;
  auto words = static_cast<uint32_t>(cipher_key.size() / 4);
  key.rounds = words + 6;
  auto column = [&](uint32_t i) -> uint32_t& { return key.encrypt[i / 4].word[i % 4]; };
  for (uint32_t i = 0; i < words; ++i) std::memcpy(&column(i), &cipher_key[4 * i], 4);
  uint32_t round_constant = 1;
  for (uint32_t i = words; i < 4 * (key.rounds + 1); ++i) {
    uint32_t before = column(i - 1);
    if (i % words == 0) {
      before = sub_word(rotate_left(before, 24)) ^ round_constant;
      round_constant = times(round_constant, 2);
    } else if (words == 8 && i % words == 4) {
      before = sub_word(before);
    }
    column(i) = column(i - words) ^ before;
  }
  return true;
}

void invert(EspKey& key) {
  for (uint32_t r = 0; r <= key.rounds; ++r) {
    key.decrypt[r] = key.encrypt[key.rounds - r];
    if (r == 0 || r == key.rounds) continue;
    for (uint32_t& column : key.decrypt[r].word) column = inverse_mix(column);
  }
}

template <class Hash>
void prepare_hmac(EspKey& key, std::span<const uint8_t> hmac_key) {
  auto state_after = [&](uint8_t pad, uint32_t* to) {
    uint8_t bytes[64];
    std::memset(bytes, pad, sizeof bytes);
    for (size_t i = 0; i < hmac_key.size(); ++i) bytes[i] ^= hmac_key[i];
    uint32_t words[16];
    for (uint32_t i = 0; i < 16; ++i) words[i] = load_be32(bytes + 4 * i);
    typename Hash::State state = Hash::kInitial;
    Hash::compress(state, words);
    std::memcpy(to, state.word, sizeof state.word);
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(words, sizeof words);
  };
  state_after(0x36, key.inner);
  state_after(0x5c, key.outer);
}

template <class Hash>
bool prepare_cbc(EspKey& key, EspTransform transform, uint32_t icv_bytes,
                 std::span<const uint8_t> cipher_key, std::span<const uint8_t> hmac_key) {
  wipe(key);
  // RFC 2404 section 3, RFC 4868 section 2.1.1: keys as long as the digest
  if (hmac_key.size() != 4 * Hash::kWords || !expand(key, cipher_key)) return false;
  invert(key);
  prepare_hmac<Hash>(key, hmac_key);
  key.icv_bytes = icv_bytes;
  key.transform = transform;
  return true;
}

}  // namespace

bool prepare_gcm(EspKey& key, std::span<const uint8_t> cipher_key, std::span<const uint8_t> salt4) {
  wipe(key);
  if (salt4.size() != 4 || !expand(key, cipher_key)) return false;
  std::memcpy(&key.salt, salt4.data(), 4);
  Block h = to_element(aes_encrypt(kTables, key.encrypt, key.rounds, Block{}));
  key.power[0] = to_element(Block{{0x80, 0, 0, 0}});  // one: x^0 comes first
  for (uint32_t i = 1; i <= kMaxLanes; ++i) key.power[i] = multiply(key.power[i - 1], h);
  explicit_bzero(&h, sizeof h);
  key.icv_bytes = 16;
  key.transform = EspTransform::kGcm;
  return true;
}

bool prepare_cbc_sha1(EspKey& key, std::span<const uint8_t> cipher_key,
                      std::span<const uint8_t> hmac_key20) {
  return prepare_cbc<Sha1>(key, EspTransform::kCbcSha1, 12, cipher_key, hmac_key20);
}

bool prepare_cbc_sha256(EspKey& key, std::span<const uint8_t> cipher_key,
                        std::span<const uint8_t> hmac_key32) {
  return prepare_cbc<Sha256>(key, EspTransform::kCbcSha256, 16, cipher_key, hmac_key32);
}

void wipe(EspKey& key) noexcept {
  explicit_bzero(&key, sizeof key);
}

}  // namespace hecto::gpu_offload::crypto
