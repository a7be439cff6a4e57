// What a packet is spread over workers by: all of a flow have one key, so that one worker keeps their
// order.
//
//   TCP, UDP and others with ports   addresses, protocol, ports; the NIC's RSS hash where it gave one
//   ESP                              addresses and SPI
//   GRE, IP in IP                    the inner header, as if it were the packet's
//   GRE with numbers                 addresses and protocol: its end may want them in order (RFC 2890)
//   fragments                        addresses and protocol: they have no ports but the first
//   other IP, or cut behind it       addresses and protocol, of a tunnel the outer ones
//   an IP header cut, also an inner  0
//   all else                         0: ARP, MPLS, PPPoE, three tags
//
// ESP in UDP is UDP: an SA has its ports, and nobody can tell it from others who use 4500. So an SA that
// comes in stays with one worker either way, but for packets that come in fragments.
//
// Software's key is the same for both directions; that of the NIC is as its own key is. A tunnel's packets
// and fragments do not go by RSS, which sees one flow in the first and may see ports in the second. IPv6
// extension headers are not walked: what is behind them goes by addresses. Nothing has been checked
// here: no read goes beyond the first segment.
#pragma once

#include <algorithm>
#include <bit>

#include "base/frame_tags.hpp"
#include "router/dataplane/stages/flow.hpp"

namespace hecto::router {
namespace spread_detail {

inline constexpr uint8_t kIpInIp = 4, kIpv6InIp = 41, kFragment6 = 44, kGre = 47, kEsp = 50;

// Of two ends, in either order.
inline uint32_t ports_key(uint32_t ports, uint32_t key) noexcept {
  return rte_hash_crc_4byte(std::min(ports, std::rotl(ports, 16)), key);
}
inline uint32_t addresses4_key(const uint8_t* ip, uint8_t protocol) noexcept {
  const uint32_t source = load32_native(ip + 12), destination = load32_native(ip + 16);
  const uint64_t both =
      uint64_t{std::min(source, destination)} << 32 | std::max(source, destination);
  return rte_hash_crc_8byte(both, protocol);
}
inline uint32_t addresses6_key(const uint8_t* ip, uint8_t protocol) noexcept {
  const std::pair source(load64_native(ip + 8), load64_native(ip + 16));
  const std::pair destination(load64_native(ip + 24), load64_native(ip + 32));
  const auto& [low, high] = std::minmax(source, destination);
  uint32_t key = rte_hash_crc_8byte(low.first, protocol);
  key = rte_hash_crc_8byte(low.second, key);
  key = rte_hash_crc_8byte(high.first, key);
  return rte_hash_crc_8byte(high.second, key);
}

// By what of the packet may be looked at: its RSS hash, and headers within it. An inner packet has
// neither.
struct Scope {
  const rte_mbuf* packet;  // null: an inner one
};
uint32_t tunnel_key(const uint8_t* at, uint32_t bytes, uint8_t protocol, uint32_t key,
                    Scope scope) noexcept;

inline bool is_tunnel(uint8_t protocol) noexcept {
  return protocol == kEsp || protocol == kGre || protocol == kIpInIp || protocol == kIpv6InIp;
}
// Behind the IP header.
inline uint32_t payload_key(const uint8_t* at, uint32_t bytes, uint8_t protocol, uint32_t key,
                            Scope scope) noexcept {
  if (is_tunnel(protocol)) [[unlikely]]
    return tunnel_key(at, bytes, protocol, key, scope);
  if (!has_ports(protocol) || bytes < 4) return key;
  if (scope.packet != nullptr && (scope.packet->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0)
    return scope.packet->hash.rss;
  return ports_key(load32_native(at), key);
}

inline uint32_t key4(const uint8_t* ip, uint32_t bytes, Scope scope) noexcept {
  if (bytes < kIpv4Bytes) return 0;
  const uint32_t key = addresses4_key(ip, ip[9]);
  const uint32_t header = (ip[0] & 0xf) * 4u;
  const bool fragment = (load16_be(ip + 6) & 0x3fff) != 0;  // MF or an offset
  if (fragment || header < kIpv4Bytes || header > bytes) [[unlikely]]
    return key;
  return payload_key(ip + header, bytes - header, ip[9], key, scope);
}
inline uint32_t key6(const uint8_t* ip, uint32_t bytes, Scope scope) noexcept {
  if (bytes < kIpv6Bytes) return 0;
  const uint32_t key = addresses6_key(ip, ip[6]);
  if (ip[6] == kFragment6) return key;
  return payload_key(ip + kIpv6Bytes, bytes - kIpv6Bytes, ip[6], key, scope);
}

inline uint32_t tagged_key(const rte_mbuf* packet) noexcept {
  const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const FrameTags l2 = read_frame_tags(frame, packet->data_len);
  const uint32_t left = packet->data_len - l2.l2_bytes;
  if (l2.ether_type == kEtherIpv4) return key4(frame + l2.l2_bytes, left, {packet});
  if (l2.ether_type == kEtherIpv6) return key6(frame + l2.l2_bytes, left, {packet});
  return 0;
}

}  // namespace spread_detail

inline uint32_t spread_key(const rte_mbuf* packet) noexcept {
  using namespace spread_detail;
  const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const uint32_t bytes = packet->data_len;
  if (bytes < kEthernetBytes + kIpv4Bytes) return 0;
  const uint16_t ether_type = load16_native(frame + 12);
  if (is_vlan_tag(ether_type)) [[unlikely]]
    return tagged_key(packet);
  if (ether_type == kEtherIpv4)
    return key4(frame + kEthernetBytes, bytes - kEthernetBytes, {packet});
  if (ether_type == kEtherIpv6)
    return key6(frame + kEthernetBytes, bytes - kEthernetBytes, {packet});
  return 0;
}

// Of 128, by the high bits of a product (Knuth, TAOCP 3, §6.4): the low ones of an RSS hash have
// chosen the queue already.
inline unsigned spread_bucket(uint32_t key) noexcept {
  return key * 0x9e3779b1u >> 25;
}

}  // namespace hecto::router
