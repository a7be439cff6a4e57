#include "router/ipsec/esp/crypto.hpp"

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "router/ipsec/esp/ipsec_mb.hpp"
#include "router/ipsec/esp/openssl.hpp"

namespace hecto::router::esp {
namespace {

// Differences of all bytes at once: the time does not tell where the first one is.
bool equal(const uint8_t* a, const uint8_t* b, uint32_t bytes) {
  uint32_t difference = 0;
  for (uint32_t i = 0; i < bytes; i += 4) difference |= load32_be(a + i) ^ load32_be(b + i);
  return difference == 0;
}

}  // namespace

Result<std::unique_ptr<Crypto>> Crypto::create(CryptoLibrary library) {
  return library == CryptoLibrary::kIpsecMb ? IpsecMb::create() : OpenSsl::create();
}

void lay_keys(CryptoLibrary library, const Transform& transform, const Keys& keys, std::byte* to) {
  static_assert(sizeof(ExpandedKeys) <= Sa::kKeyBytes && alignof(ExpandedKeys) <= 64);
  static_assert(sizeof(PlainKeys) <= Sa::kKeyBytes);
  if (library == CryptoLibrary::kIpsecMb)
    expand(transform, keys, *new (to) ExpandedKeys);
  else
    new (to) PlainKeys(transform, keys);
}

bool Crypto::icv_is_right(const Work& work) noexcept {
  const Shape& shape = work.sa->shape();
  const uint8_t* received =
      shape.integrity == Integrity::kNone ? icv_of(work, shape) : work.received;
  return equal(received, work.icv, shape.icv_bytes);
}

}  // namespace hecto::router::esp
