// ESP in tunnel mode over IPv4, opened by OpenSSL and RFC 4303 written down once more: no line of
// router/ipsec and none of ipsec-mb, so that what is wrong there is not wrong here, too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::bench {

// The packet inside `ip`, outer header included, protected by `sa` from end to end. The error says
// what is wrong with it.
Result<std::vector<uint8_t>> open_esp(const router::SaState& sa, std::span<const uint8_t> ip);

}  // namespace hecto::bench
