// Which library does ESP's cryptography: ipsec-mb, or OpenSSL's libcrypto where the CPU has no
// AES-NI.
//
// Both put the same bytes on the wire. One is chosen when the router starts: an SA's keys lie as
// its library reads them, so that an Engine takes SAs of its own library only. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace hecto::router::esp {

enum class CryptoLibrary : uint8_t { kIpsecMb, kOpenSsl };

// Whether it runs on this CPU. One line why not.
Result<void> usable(CryptoLibrary library);

// ipsec-mb where it runs.
CryptoLibrary best_crypto();

std::string describe(CryptoLibrary library);  // "ipsec-mb 1.3.0, AVX2 + VAES"

}  // namespace hecto::router::esp
