#include "router/ipsec/esp/crypto_library.hpp"

#include "router/ipsec/esp/ipsec_mb.hpp"
#include "router/ipsec/esp/openssl.hpp"

namespace hecto::router::esp {

Result<void> usable(CryptoLibrary library) {
  return library == CryptoLibrary::kIpsecMb ? IpsecMb::usable() : OpenSsl::usable();
}

CryptoLibrary best_crypto() {
  static const bool ipsec_mb = IpsecMb::usable().has_value();
  return ipsec_mb ? CryptoLibrary::kIpsecMb : CryptoLibrary::kOpenSsl;
}

std::string describe(CryptoLibrary library) {
  return library == CryptoLibrary::kIpsecMb ? IpsecMb::describe() : OpenSsl::describe();
}

}  // namespace hecto::router::esp
