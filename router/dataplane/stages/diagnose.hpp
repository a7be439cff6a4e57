// What is the matter with an IP packet (RFC 1812 §5.2.2, RFC 8200 §3), asked exactly: for those whose first
// bytes make classify wonder.
#pragma once

#include <cstdint>

#include "base/reason.hpp"

namespace hecto::router {

// kNone: it is fit to be forwarded. `contiguous` bytes of `available` lie at `ip`. `total`: what the header
// claims, where it is right.
Reason check_ipv4(const uint8_t* ip, uint32_t contiguous, uint32_t available,
                  uint32_t* total) noexcept;
Reason check_ipv6(const uint8_t* ip, uint32_t contiguous, uint32_t available,
                  uint32_t* total) noexcept;

}  // namespace hecto::router
