// The flow hash that spreads packets over the buckets of an ECMP group: the NIC's RSS hash where it
// gave one, else CRC-32C over addresses, protocol and ports, then mixed with the box's seed: boxes in
// a row that hash alike would each use a part of their paths only. Fragments hash without ports, so
// that all of a datagram takes one way. The headers have been checked by classify; `bytes` are those of
// the first segment.
#pragma once

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

#include <rte_hash_crc.h>

namespace hecto::router {

// TCP, UDP, DCCP, SCTP and UDP-Lite begin with source and destination port.
inline bool has_ports(uint8_t protocol) noexcept {
  return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

// Every bit of the hash and of the seed moves every bit of the bucket (MurmurHash3's finalizer). CRC
// is linear: two seeds at its start would give the same buckets under other names. RSS has spread by
// some of these bits over queues already.
inline uint32_t mix_hash(uint32_t hash, uint32_t seed) noexcept {
  hash ^= seed;
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

inline uint32_t flow_hash4(const rte_mbuf* packet, const uint8_t* ip, uint32_t bytes,
                           uint32_t seed) noexcept {
  if (packet->ol_flags & RTE_MBUF_F_RX_RSS_HASH) return mix_hash(packet->hash.rss, seed);
  uint32_t hash = rte_hash_crc_8byte(load64_native(ip + 12), ip[9]);
  const uint32_t header = (ip[0] & 0xf) * 4u;
  const bool fragment = (load16_be(ip + 6) & 0x3fff) != 0;  // MF or an offset
  if (!fragment && has_ports(ip[9]) && bytes >= header + 4)
    hash = rte_hash_crc_4byte(load32_native(ip + header), hash);
  return mix_hash(hash, seed);
}

inline uint32_t flow_hash6(const rte_mbuf* packet, const uint8_t* ip, uint32_t bytes,
                           uint32_t seed) noexcept {
  if (packet->ol_flags & RTE_MBUF_F_RX_RSS_HASH) return mix_hash(packet->hash.rss, seed);
  // RFC 6438: the flow label takes part.
  uint32_t hash = load32_native(ip) & 0xffff0f00u;
  for (unsigned offset = 8; offset < kIpv6Bytes; offset += 8)
    hash = rte_hash_crc_8byte(load64_native(ip + offset), hash);
  if (has_ports(ip[6]) && bytes >= kIpv6Bytes + 4)
    hash = rte_hash_crc_4byte(load32_native(ip + kIpv6Bytes), hash);
  return mix_hash(hash, seed);
}

}  // namespace hecto::router
