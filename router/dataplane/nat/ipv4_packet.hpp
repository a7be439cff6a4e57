// What NAT reads of an IPv4 packet without options, and how it writes it. Nothing has to be known of
// the bytes but that 20 of a header are there; no read or write goes beyond `bytes`, those of the
// packet that lie in one piece.
#pragma once

#include <cstdint>

#include "router/dataplane/nat/checksum_delta.hpp"

namespace hecto::router::nat {

inline constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kDccp = 33, kUdpLite = 136;
inline constexpr uint32_t kHeaderBytes = 20;

enum class Kind : uint8_t {
  kTcp,
  kUdp,
  kQuery,  // ICMP with an identifier: echo, timestamp
  kError,  // ICMP about another packet
  kOther,  // of another protocol, or ICMP of another type
  kLater,  // a fragment that is not the first
  kShort   // cut before its ports, or with options
};
inline constexpr unsigned kSessionKinds = 3;  // the first three

struct Ipv4Packet {
  Kind kind = Kind::kShort;
  bool first_fragment = false;           // others follow
  uint16_t source = 0, destination = 0;  // ports as load16_native gives them; ids are both
};

Ipv4Packet read_packet(const uint8_t* ip, uint32_t bytes) noexcept;

// One end of a packet, as it is replaced.
enum class End : uint8_t { kSource, kDestination };

// Writes address and port of that end; `address_delta` and `port_delta` are what becomes of sums with
// them. Of a kind that sessions have, whose bytes read_packet() has seen.
inline void rewrite_end(uint8_t* ip, End end, Kind kind, uint32_t address, uint16_t port,
                        uint16_t address_delta, uint16_t port_delta) noexcept {
  store32_native(ip + (end == End::kSource ? 12 : 16), address);
  change_checksum(ip + 10, address_delta);
  uint8_t* const upper = ip + kHeaderBytes;
  if (kind == Kind::kQuery) {
    store16_native(upper + 4, port);
    change_checksum(upper + 2, port_delta);
    return;
  }
  store16_native(upper + (end == End::kSource ? 0 : 2), port);
  const uint16_t both = join_deltas(address_delta, port_delta);
  if (kind == Kind::kTcp)
    change_checksum(upper + 16, both);
  else
    change_udp_checksum(upper + 6, both);
}

// Writes the address alone, with what has a pseudo header under its checksum.
void rewrite_address(uint8_t* ip, uint32_t bytes, End end, uint32_t address,
                     uint16_t address_delta) noexcept;

}  // namespace hecto::router::nat
