// The packet that an ICMP error is about (RFC 792), and how NAT translates it there (RFC 5508 §4):
// addresses and ports of the embedded headers, the checksums in them as far as they are there, and
// that of the message over all of it.
#pragma once

#include <cstdint>
#include <optional>

#include "router/dataplane/nat/ipv4_packet.hpp"

namespace hecto::router::nat {

struct EmbeddedPacket {
  uint8_t* ip = nullptr;
  uint32_t bytes = 0;  // that are there
  uint32_t header = 0;
  Kind kind = Kind::kOther;              // kTcp, kUdp, kQuery; kOther: addresses alone
  uint32_t source = 0, destination = 0;  // as load32_native gives them
  uint16_t source_port = 0, destination_port = 0;
};

// Of a packet of Kind::kError. Nothing where the message does not hold the header and eight bytes
// more (RFC 1122 §3.2.2), or where these are no first ones of a packet.
std::optional<EmbeddedPacket> find_embedded(uint8_t* ip, uint32_t bytes) noexcept;

// Replaces one end of the packet embedded in the error at `ip`. `port`: nothing where it stays.
void rewrite_embedded(uint8_t* ip, const EmbeddedPacket& embedded, End end, uint32_t address,
                      std::optional<uint16_t> port) noexcept;

}  // namespace hecto::router::nat
