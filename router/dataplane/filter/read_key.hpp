// The key of a packet (key.hpp). Nothing beyond its first segment is read, nor beyond what its header says
// to be its end; what lies there is not seen, so that no rule that asks for it holds.
//
// IPv6: hop-by-hop options, routing, destination options, AH and fragment headers are passed, 16 at most;
// behind more the protocol is the next one's number (RFC 8200 §4). A fragment header with neither offset nor
// more to come makes no fragment (RFC 6946).
#pragma once

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/filter/key.hpp"

namespace hecto::router {

namespace filter_detail {

inline constexpr uint8_t kTcp = 6, kUdp = 17, kIcmp = 1, kIcmp6 = 58;
inline constexpr unsigned kTcpFlagsAt = 13;

// `bytes`: of the transport header that are there; of a later fragment none is to be given.
template <unsigned AddressBytes>
void read_ports(const uint8_t* at, uint32_t bytes, FilterKey<AddressBytes>& key) noexcept {
  const uint8_t protocol = key.protocol;
  const bool ports =
      protocol == kTcp || protocol == kUdp || protocol == 33 || protocol == 132 || protocol == 136;
  if (ports && bytes >= 4) [[likely]] {
    std::memcpy(key.ports, at, 4);
    key.state |= kKeyPorts;
    if (protocol == kTcp && bytes > kTcpFlagsAt) {
      key.tcp_flags = at[kTcpFlagsAt];
      key.state |= kKeyTcpFlags;
    }
  } else if (protocol == (AddressBytes == 4 ? kIcmp : kIcmp6) && bytes >= 2) {
    std::memcpy(key.ports, at, 2);
    key.state |= kKeyPorts;
  }
}

template <unsigned AddressBytes>
void put_fragment(bool later, FilterKey<AddressBytes>& key) noexcept {
  key.state |= static_cast<uint8_t>(kKeyFragment | (later ? kKeyLater : kKeyFirst));
}

// Sets protocol and state; returns where the transport header is, null where there is none to read.
const uint8_t* pass_extensions(const uint8_t* ip, uint32_t bytes, FilterKey6& key) noexcept;

}  // namespace filter_detail

// `bytes` from `ip` on are there, a whole header at least. All but classes, interface and mark.
inline void read_key(const uint8_t* ip, uint32_t bytes, uint32_t needs, FilterKey4& key) noexcept {
  using namespace filter_detail;
  const uint64_t word = load64_native(ip);
  const uint32_t total = __builtin_bswap16(static_cast<uint16_t>(word >> 16));
  const uint32_t end = bytes < total ? bytes : total;
  const uint32_t header = (ip[0] & 0xf) * 4u;
  key.protocol = ip[9];
  std::memcpy(key.source, ip + 12, 8);
  static_assert(offsetof(FilterKey4, destination) == offsetof(FilterKey4, source) + 4);
  if ((needs & (kNeedPorts | kNeedBits)) != 0) {
    std::memset(key.ports, 0, 8);
    static_assert(offsetof(FilterKey4, tcp_flags) == offsetof(FilterKey4, ports) + 4);
    key.dscp = ip[1] >> 2;
    const unsigned fragment = __builtin_bswap16(static_cast<uint16_t>(word >> 48)) & 0x3fff;
    if (fragment != 0) [[unlikely]]
      put_fragment((fragment & 0x1fff) != 0, key);
    if ((fragment & 0x1fff) == 0 && end > header) [[likely]]
      read_ports(ip + header, end - header, key);
  }
  store16_be(key.length, total);
}

inline void read_key(const uint8_t* ip, uint32_t bytes, uint32_t needs, FilterKey6& key) noexcept {
  using namespace filter_detail;
  const uint32_t total = load16_be(ip + 4) + kIpv6Bytes;
  const uint32_t end = bytes < total ? bytes : total;
  key.protocol = ip[6];
  std::memcpy(key.source, ip + 8, 32);
  static_assert(offsetof(FilterKey6, destination) == offsetof(FilterKey6, source) + 16);
  std::memset(key.ports, 0, 8);
  static_assert(offsetof(FilterKey6, tcp_flags) == offsetof(FilterKey6, ports) + 4);
  const uint8_t* at = ip + kIpv6Bytes;
  if (key.protocol != kTcp && key.protocol != kUdp && key.protocol != kIcmp6) [[unlikely]]
    at = pass_extensions(ip, end, key);
  if ((needs & (kNeedPorts | kNeedBits)) != 0) {
    key.dscp = static_cast<uint8_t>(load16_be(ip) >> 6 & 0x3f);
    if (at != nullptr) [[likely]]
      read_ports(at, static_cast<uint32_t>(ip + end - at), key);
  }
  store16_be(key.length, total < 0xffff ? total : 0xffff);
}

}  // namespace hecto::router
