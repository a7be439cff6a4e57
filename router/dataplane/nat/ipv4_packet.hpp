// What NAT reads of an IPv4 packet without options, and how it writes it. Nothing has to be known of
// the bytes but that 20 of a header are there; no read or write goes beyond `bytes`, those of the
// packet that lie in one piece.
#pragma once

#include <cstdint>

#include "base/checksum_change.hpp"

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

Ipv4Packet read_any_packet(const uint8_t* ip, uint32_t bytes) noexcept;

// Most are whole, and TCP or UDP.
inline Ipv4Packet read_packet(const uint8_t* ip, uint32_t bytes) noexcept {
  const uint64_t start = load64_native(ip);  // to flags and offset
  const bool whole = (start & 0xff3f0000000000ffu) == 0x45;
  const bool tcp = ip[9] == kTcp, udp = ip[9] == kUdp;
  if (!whole || !(tcp || udp) || bytes < kHeaderBytes + (tcp ? 20u : 8u)) [[unlikely]]
    return read_any_packet(ip, bytes);
  return {tcp ? Kind::kTcp : Kind::kUdp, false, load16_native(ip + kHeaderBytes),
          load16_native(ip + kHeaderBytes + 2)};
}

// One end of a packet, as it is replaced.
enum class End : uint8_t { kSource, kDestination };

// Writes address and port of that end. `address_delta`: of the sum of the IP header; `upper_delta`:
// of that behind it, with its pseudo header where it has one. Of a kind that sessions have, whose
// bytes read_packet() has seen.
inline void rewrite_end(uint8_t* ip, End end, Kind kind, uint32_t address, uint16_t port,
                        uint16_t address_delta, uint16_t upper_delta) noexcept {
  store32_native(ip + (end == End::kSource ? 12 : 16), address);
  change_checksum(ip + 10, address_delta);
  uint8_t* const upper = ip + kHeaderBytes;
  if (kind == Kind::kQuery) [[unlikely]] {
    store16_native(upper + 4, port);
    change_checksum(upper + 2, upper_delta);
    return;
  }
  store16_native(upper + (end == End::kSource ? 0 : 2), port);
  if (kind == Kind::kTcp)
    change_checksum(upper + 16, upper_delta);
  else
    change_udp_checksum(upper + 6, upper_delta);
}

// Writes the address alone, with what has a pseudo header under its checksum.
void rewrite_upper_sum(uint8_t* ip, uint32_t bytes, uint16_t address_delta) noexcept;
inline void rewrite_address(uint8_t* ip, uint32_t bytes, End end, uint32_t address,
                            uint16_t address_delta) noexcept {
  store32_native(ip + (end == End::kSource ? 12 : 16), address);
  change_checksum(ip + 10, address_delta);
  const bool first = (load16_native(ip + 6) & 0xff1f) == 0;
  if (ip[0] == 0x45 && first && ip[9] == kTcp && bytes >= kHeaderBytes + 18)
    change_checksum(ip + kHeaderBytes + 16, address_delta);
  else if (ip[0] == 0x45 && first && ip[9] == kUdp && bytes >= kHeaderBytes + 8)
    change_udp_checksum(ip + kHeaderBytes + 6, address_delta);
  else
    rewrite_upper_sum(ip, bytes, address_delta);
}

}  // namespace hecto::router::nat
