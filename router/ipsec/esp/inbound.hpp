// Inbound ESP (RFC 4303 §3.4), and its steps: what an Engine does to packets that have their SA.
//
//   process = check ─► open ─► accept, in blocks that stay in the L1 cache
//
// `to` and `scratch` have room for all packets. Thread-safe as far as `crypto` and the work are the
// caller's own: what workers share of an SA is atomic.
#pragma once

#include <cstdint>
#include <span>

#include "router/ipsec/esp/crypto.hpp"
#include "router/ipsec/esp/packet.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router::esp::inbound {

void process(std::span<Packet> packets, uint32_t now_s, Crypto& crypto, Work* scratch) noexcept;

// Headers, lengths, SPI, window. What goes on is in `to`, in order; the others have their reason.
std::span<Work> check(std::span<Packet> packets, Work* to) noexcept;
// ICV, decryption: leaves `failed` where the ICV is not right.
void open(std::span<Work> work, Crypto& crypto) noexcept;
// Window marked, lifetime used, inner packet laid bare.
void accept(std::span<const Work> work, uint32_t now_s) noexcept;

}  // namespace hecto::router::esp::inbound
