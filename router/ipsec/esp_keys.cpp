#include "router/ipsec/esp_keys.hpp"

#include <spdlog/spdlog.h>

namespace hecto::router {
namespace {

using gpu_offload::crypto::EspKey;

// What gpu_offload/crypto/esp.hpp has. False: nothing was written.
bool prepare(EspKey& key, const esp::Transform& transform, const esp::Keys& keys) {
  using namespace gpu_offload::crypto;
  const std::span all(keys.cipher.data(), keys.cipher_bytes);
  const auto cipher = all.first(transform.key_bytes);
  const std::span integrity(keys.integrity.data(), keys.integrity_bytes);
  switch (transform.cipher) {
    case esp::Cipher::kAesGcm:
      return transform.icv_bytes == 16 && prepare_gcm(key, cipher, all.subspan(cipher.size()));
    case esp::Cipher::kAesCbc:
      if (transform.integrity == esp::Integrity::kHmacSha1)
        return transform.icv_bytes == 12 && prepare_cbc_sha1(key, cipher, integrity);
      return transform.integrity == esp::Integrity::kHmacSha256 && transform.icv_bytes == 16 &&
             prepare_cbc_sha256(key, cipher, integrity);
    default:
      return false;
  }
}

}  // namespace

static_assert(esp::kNoDeviceKey == gpu_offload::KeyTable::kNone);

uint32_t EspKeys::add(const esp::Transform& transform, const esp::Keys& keys) {
  EspKey key{};
  if (!prepare(key, transform, keys)) return esp::kNoDeviceKey;
  const uint32_t index = table_.add(key);
  gpu_offload::crypto::wipe(key);
  if (index == esp::kNoDeviceKey && !warned_full_) {
    warned_full_ = true;
    spdlog::warn("offload: no room for the keys of more than {} SAs; further ones stay on the CPU",
                 table_.count());
  }
  return index;
}

}  // namespace hecto::router
