// Outbound ESP (RFC 4303 §3.3), and its steps: what an Engine does to packets that have their SA.
//
//   process = write ─► seal ─► finish, in blocks that stay in the L1 cache
//
// `to` and `scratch` have room for all packets. Thread-safe as far as `crypto` and the work are the
// caller's own: what workers share of an SA is atomic.
#pragma once

#include <cstdint>
#include <span>

#include "router/ipsec/esp/crypto.hpp"
#include "router/ipsec/esp/packet.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router::esp::outbound {

void process(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl, Crypto& crypto,
             Work* scratch) noexcept;

// Room, lifetime, sequence numbers, headers, IV, padding: all but what the cipher and the ICV make.
// What goes on is in `to`, in order; the others have their reason. `crypto`: for IVs.
std::span<Work> write(std::span<Packet> packets, uint32_t now_s, uint8_t outer_ttl, Crypto& crypto,
                      Work* to) noexcept;
// Leaves `failed` where it did not work.
void seal(std::span<Work> work, Crypto& crypto) noexcept;
// What comes behind the ICV: the checksum of UDP over IPv6.
void finish(std::span<const Work> work) noexcept;

}  // namespace hecto::router::esp::outbound
