// IP headers around ESP: read with bounds, and what RFC 6040 and RFC 4301 say about their fields.
//
// Lengths in bytes. Nothing is read beyond `bytes`.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "base/checksum.hpp"

namespace hecto::router::esp {

// IP protocols and extension headers (IANA).
inline constexpr uint8_t kProtocolHopByHop = 0, kProtocolIcmp = 1, kProtocolIpv4 = 4,
                         kProtocolTcp = 6, kProtocolUdp = 17, kProtocolDccp = 33,
                         kProtocolIpv6 = 41, kProtocolRouting = 43, kProtocolFragment = 44,
                         kProtocolEsp = 50, kProtocolIcmpV6 = 58, kProtocolNone = 59,
                         kProtocolDestinationOptions = 60, kProtocolSctp = 132,
                         kProtocolMobility = 135, kProtocolUdpLite = 136;

inline bool is_ipv4(const uint8_t* ip) noexcept {
  return ip[0] >> 4 == 4;
}

// The length that the header of an IP packet says, header and all; 0 when it is not whole: not of
// version 4 or 6, or beyond `bytes`, or shorter than its own header.
inline uint32_t ip_bytes(const uint8_t* ip, uint32_t bytes) noexcept {
  if (bytes < 20) return 0;
  uint32_t total = 0, header = 40;
  if (is_ipv4(ip)) {
    total = load16_be(ip + 2);
    header = (ip[0] & 15U) * 4;
    if (header < 20) return 0;
  } else if (ip[0] >> 4 == 6 && bytes >= 40) {
    total = 40U + load16_be(ip + 4);
  }
  return total < header || total > bytes ? 0 : total;
}

struct UpperLayer {
  uint32_t offset;       // where it begins
  uint8_t protocol;      // what it is
  uint32_t next_header;  // offset of the byte that says so
  bool fragment;
};

// What the headers of a whole IP packet lead to. Extension headers of IPv6 (hop-by-hop, routing,
// destination options; kMaxExtensions of them) are skipped; with `before_esp` only those that ESP
// stands behind (RFC 4303 §3.1.1). None when they run out of the packet.
inline constexpr unsigned kMaxExtensions = 8;
std::optional<UpperLayer> upper_layer6(const uint8_t* ip, uint32_t bytes, bool before_esp) noexcept;
inline std::optional<UpperLayer> upper_layer(const uint8_t* ip, uint32_t bytes,
                                             bool before_esp) noexcept {
  if (!is_ipv4(ip)) return upper_layer6(ip, bytes, before_esp);
  const bool fragment = (load16_be(ip + 6) & 0x3fff) != 0;  // offset or "more fragments"
  return UpperLayer{(ip[0] & 15U) * 4, ip[9], 9, fragment};
}

// RFC 3948 §3.1.2 b: makes the checksum of the TCP segment or UDP datagram at `offset` of a whole
// IP packet anew, where NAT changed addresses that it covers. Left as it is: UDP without a
// checksum, what is shorter than its header says, and IPv6 with extension headers.
void renew_checksum(uint8_t* ip, uint32_t bytes, uint32_t offset, uint8_t protocol) noexcept;

// Eight bytes of ESP's padding, of which the first is `first`, in the order of memory.
inline uint64_t padding_from(uint32_t first) noexcept {
  return 0x0706050403020100U + first * uint64_t{0x0101010101010101};
}

inline uint8_t traffic_class(const uint8_t* ip) noexcept {
  return is_ipv4(ip) ? ip[1] : static_cast<uint8_t>(ip[0] << 4 | ip[1] >> 4);
}

// RFC 6040 §4.2: the ECN field of a decapsulated packet. -1: drop it, congestion was marked on a
// packet that cannot say so.
inline int decapsulated_ecn(unsigned outer, unsigned inner) noexcept {
  if (outer == 3) return inner == 0 ? -1 : 3;
  return static_cast<int>(outer == 1 && inner == 2 ? 1 : inner);
}

// Sets the ECN field, and mends IPv4's checksum (RFC 1624).
inline void set_ecn(uint8_t* ip, unsigned ecn) noexcept {
  if (!is_ipv4(ip)) {
    ip[1] = static_cast<uint8_t>((ip[1] & 0xcf) | ecn << 4);
    return;
  }
  const uint32_t before = load16_be(ip);
  ip[1] = static_cast<uint8_t>((ip[1] & 0xfc) | ecn);
  const uint32_t sum = (~load16_be(ip + 10) & 0xffffU) + (~before & 0xffffU) + load16_be(ip);
  store16_be(ip + 10, ~fold_sum(sum) & 0xffffU);
}

}  // namespace hecto::router::esp
