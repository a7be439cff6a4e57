#include "router/ipsec/esp/crypto.hpp"

#include "router/ipsec/esp/ipsec_mb.hpp"
#include "router/ipsec/esp/openssl.hpp"

namespace hecto::router::esp {

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

}  // namespace hecto::router::esp
