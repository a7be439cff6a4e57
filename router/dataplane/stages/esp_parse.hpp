// ESP as it lies in packets that classify has cleared: bare (protocol 50) or in UDP (RFC 3948).
#pragma once

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/ipsec/esp/tables.hpp"

namespace hecto::router::esp_parse {

inline constexpr uint8_t kProtocolEsp = 50, kProtocolUdp = 17;
inline constexpr uint16_t kPortIke = 500, kPortNatt = 4500;
inline constexpr uint32_t kUdpBytes = 8;

inline lookup::Family family(const Lane4&) noexcept {
  return lookup::Family::kIpv4;
}
inline lookup::Family family(const Lane6&) noexcept {
  return lookup::Family::kIpv6;
}
inline const uint8_t* source(const Lane4&, const uint8_t* ip) noexcept {
  return ip + 12;
}
inline const uint8_t* source(const Lane6&, const uint8_t* ip) noexcept {
  return ip + 8;
}
inline const uint8_t* destination(const Lane4&, const uint8_t* ip) noexcept {
  return ip + 16;
}
inline const uint8_t* destination(const Lane6&, const uint8_t* ip) noexcept {
  return ip + 24;
}

struct Payload {
  uint8_t protocol;
  const uint8_t* data;  // behind the IP header
  uint32_t bytes;
  bool fragment;
};
// `bytes` are those that lie there, from the IP header on: at least the header.
inline Payload payload4(const uint8_t* ip, uint32_t bytes) noexcept {
  const uint32_t header = (ip[0] & 0xf) * 4u;
  return {ip[9], ip + header, bytes - header, (load16_be(ip + 6) & 0x3fff) != 0};
}
// A fragment header is seen, other extension headers are not looked behind: what has any is no ESP
// to us.
inline Payload payload6(const uint8_t* ip, uint32_t bytes) noexcept {
  constexpr uint8_t kFragment = 44;
  constexpr uint32_t kFragmentBytes = 8;
  const Payload whole{ip[6], ip + kIpv6Bytes, bytes - kIpv6Bytes, false};
  if (whole.protocol != kFragment || whole.bytes < kFragmentBytes) return whole;
  return {whole.data[0], whole.data + kFragmentBytes, whole.bytes - kFragmentBytes, true};
}
inline Payload payload(const Lane4&, const uint8_t* ip, uint32_t bytes) noexcept {
  return payload4(ip, bytes);
}
inline Payload payload(const Lane6&, const uint8_t* ip, uint32_t bytes) noexcept {
  return payload6(ip, bytes);
}

enum class Natt : uint8_t { kNone, kEsp, kIke, kKeepalive };
inline Natt natt(const Payload& p) noexcept {
  if (p.protocol != kProtocolUdp || p.fragment || p.bytes < kUdpBytes + 1 ||
      load16_be(p.data + 2) != kPortNatt)
    return Natt::kNone;
  if (p.bytes == kUdpBytes + 1) return p.data[kUdpBytes] == 0xff ? Natt::kKeepalive : Natt::kIke;
  if (p.bytes < kUdpBytes + 4) return Natt::kIke;
  return load32_native(p.data + kUdpBytes) == 0 ? Natt::kIke : Natt::kEsp;
}

// The SPI, host order; 0: no ESP, or a fragment of it.
inline Spi spi(const Payload& p) noexcept {
  if (p.protocol == kProtocolEsp) return Spi(p.fragment || p.bytes < 8 ? 0 : load32_be(p.data));
  return Spi(natt(p) == Natt::kEsp ? load32_be(p.data + kUdpBytes) : 0);
}

// What ESP to one of our own addresses is refused for when no SA answers; kNone: it is not ESP.
// Linux must not get it: it has the keys of its SAs, but not our window.
inline Reason reason_without_sa(const esp::FlowKey& key, const uint8_t* ip,
                                uint32_t bytes) noexcept {
  const Payload p = key.family == lookup::Family::kIpv4 ? payload4(ip, bytes) : payload6(ip, bytes);
  const bool behind = p.protocol != key.protocol;  // extension headers
  if (behind && (key.protocol == kProtocolEsp ||
                 (key.protocol == kProtocolUdp && key.destination_port == kPortNatt)))
    return Reason::kEspMalformed;
  // ESP in UDP is not put together here, and must not be there.
  const bool v4 = key.family == lookup::Family::kIpv4;
  const bool first = p.fragment && (v4 ? (load16_be(ip + 6) & 0x1fff) == 0
                                       : (load16_be(p.data - 6) & 0xfff8) == 0);
  if (first && p.protocol == kProtocolUdp && p.bytes >= 4 && load16_be(p.data + 2) == kPortNatt &&
      (p.bytes < kUdpBytes + 4 || load32_native(p.data + kUdpBytes) != 0))
    return Reason::kEspFragment;
  if (p.protocol == kProtocolEsp)
    return p.fragment    ? Reason::kEspFragment
           : p.bytes < 8 ? Reason::kEspMalformed
                         : Reason::kEspUnknownSpi;
  switch (natt(p)) {
    case Natt::kEsp:
      return Reason::kEspUnknownSpi;
    case Natt::kKeepalive:
      return Reason::kEspKeepalive;
    case Natt::kIke:
    case Natt::kNone:
      break;
  }
  return Reason::kNone;
}

// IKE, which no policy holds for (RFC 7296 §2.23, RFC 4301 §4.4.1), by the port at our end: whoever
// may choose the other one must not get past a policy by it.
inline bool is_ike(uint8_t protocol, uint16_t own_port) noexcept {
  return protocol == kProtocolUdp && (own_port == kPortIke || own_port == kPortNatt);
}

// A message of what does not fit, by type and code as flow_key() puts them.
inline bool is_too_big(const esp::FlowKey& key) noexcept {
  return (key.protocol == 1 && key.source_port == 3 && key.destination_port == 4) ||
         (key.protocol == 58 && key.source_port == 2);
}

}  // namespace hecto::router::esp_parse
