// rewrite: group -> record -> new Ethernet header, TTL and checksum, egress port.
//
// The record is one cache line and is read in place; control replaces it by switching a slot to
// another record, so a packet sees one record or the next, never a mixture.
#pragma once

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/stages/answer_limit.hpp"
#include "router/dataplane/stages/flow.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {

namespace rewrite_detail {

// True when the packet may live one hop more. The checksum grows by 0x0100 in network order with
// end-around carry (RFC 1624); TTL and checksum are stored as one word.
inline bool decrement_ttl(Lane4&, uint8_t* ip) noexcept {
  const uint32_t word = load32_native(ip + 8);  // TTL, protocol, checksum
  if ((word & 0xff) <= 1) [[unlikely]]
    return false;
  const uint32_t checksum = (word >> 16) + 1;
  const uint32_t next = ((word & 0xffff) - 1) | (checksum + (checksum >= 0xffff)) << 16;
  std::memcpy(ip + 8, &next, sizeof next);
  return true;
}
inline bool decrement_ttl(Lane6&, uint8_t* ip) noexcept {
  if (ip[7] <= 1) [[unlikely]]
    return false;
  --ip[7];
  return true;
}
inline uint32_t flow_hash(Lane4&, const rte_mbuf* packet, const uint8_t* ip, uint32_t bytes,
                          uint32_t seed) noexcept {
  return flow_hash4(packet, ip, bytes, seed);
}
inline uint32_t flow_hash(Lane6&, const rte_mbuf* packet, const uint8_t* ip, uint32_t bytes,
                          uint32_t seed) noexcept {
  return flow_hash6(packet, ip, bytes, seed);
}

// header_length and kind of a record that forwards without a tag, as load16_native sees them.
inline constexpr uint16_t kPlainForward =
    kEthernetBytes | static_cast<uint16_t>(lookup::RecordKind::kForward) << 8;
static_assert(offsetof(lookup::NextHopRecord, kind) ==
              offsetof(lookup::NextHopRecord, header_length) + 1);

// What does not fit, or goes back by the interface that it came in by: why it is held back, kNone
// where it is not. TTL comes first (RFC 1812 §5.2.7): an expired packet is not told about MTUs. Of
// those that go back Linux gets one a second and source, forwards it and says what there is to say.
template <typename Address>
[[gnu::noinline]] Reason hold_back(const uint8_t* ip, uint32_t bytes,
                                   const lookup::NextHopRecord& record, const Snapshot& snapshot,
                                   AnswerLimit* redirects) noexcept {
  constexpr bool kIpv4 = sizeof(Address) == 4;
  if (ip[kIpv4 ? 8 : 7] <= 1) return Reason::kTtlExpired;
  if (bytes > record.mtu) return Reason::kTooBig;
  const InterfaceView& interface = snapshot.interfaces[record.interface];
  const bool tells = kIpv4 ? interface.redirects4 : interface.redirects6;
  const bool told = tells && redirects != nullptr &&
                    redirects->take(ip, InterfaceId(record.interface), rte_rdtsc());
  return told ? Reason::kRedirect : Reason::kNone;
}

// Fourteen bytes as two overlapping stores of eight.
inline void write_plain_header(uint8_t* ip, const uint8_t* header) noexcept {
  std::memcpy(ip - 14, header, 8);
  std::memcpy(ip - 8, header + 6, 8);
}

// A tag comes or goes, or stays: the headroom before a received packet always has room for four bytes.
inline void write_any_header(rte_mbuf* packet, uint8_t* ip, unsigned l2_length,
                             const lookup::NextHopRecord& record) noexcept {
  const int growth = record.header_length - static_cast<int>(l2_length);
  packet->data_off = static_cast<uint16_t>(packet->data_off - growth);
  packet->data_len = static_cast<uint16_t>(packet->data_len + growth);
  packet->pkt_len = static_cast<uint32_t>(static_cast<int>(packet->pkt_len) + growth);
  if (record.header_length == kEthernetBytes) {
    write_plain_header(ip, record.header);
  } else {
    std::memcpy(ip - 18, record.header, 16);
    std::memcpy(ip - 2, record.header + 16, 2);
  }
}

}  // namespace rewrite_detail

// `redirects`: null where nobody is told.
template <unsigned Features, typename Address>
inline void rewrite(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
                    Transmitter& transmitter, const Snapshot& snapshot,
                    std::array<InterfaceCounters, kMaxInterfaces>& interfaces,
                    AnswerLimit* redirects) noexcept {
  using namespace rewrite_detail;
  using lookup::RecordKind;
  const lookup::NextHopView hops = next_hops;
  const unsigned count = lane.count;
  for (unsigned i = 0; i < count; ++i) {
    rte_mbuf* const packet = lane.packets[i];
    const InterfaceId interface = lane.ingress[i].interface();
    const unsigned l2_length = lane.ingress[i].l2_length();
    uint8_t* const ip = rte_pktmbuf_mtod(packet, uint8_t*) + l2_length;
    const uint32_t bytes = packet->pkt_len - l2_length;
    const lookup::NextHopRecord* record = &hops.record(lane.groups[i]);
    if (record->kind == RecordKind::kMultipath) [[unlikely]] {
      const uint32_t contiguous = packet->data_len - l2_length;
      const uint32_t bucket =
          flow_hash(lane, packet, ip, contiguous, snapshot.ecmp_seed) & record->bucket_mask;
      record = &hops.record(
          __atomic_load_n(&hops.buckets[record->bucket_offset + bucket], __ATOMIC_ACQUIRE));
    }
    const bool plain = load16_native(&record->header_length) == kPlainForward;
    if (!plain && record->kind != RecordKind::kForward) [[unlikely]] {
      chunk.refuse(packet, static_cast<Reason>(record->reason), interface);
      continue;
    }
    if ((bytes > record->mtu) | (record->interface == interface)) [[unlikely]] {
      const Reason reason = hold_back<Address>(ip, bytes, *record, snapshot, redirects);
      if (reason != Reason::kNone) {
        chunk.refuse(packet, reason, interface);
        continue;
      }
    }
    if (!decrement_ttl(lane, ip)) [[unlikely]] {
      chunk.refuse(packet, Reason::kTtlExpired, interface);
      continue;
    }
    const PortId port(record->port);
    if (plain && l2_length == kEthernetBytes) [[likely]] {
      write_plain_header(ip, record->header);
    } else {
      write_any_header(packet, ip, l2_length, *record);
    }
    if constexpr (Features & kFeatureCounters) {
      if (snapshot.interfaces[record->interface].counters) {
        interfaces[record->interface].tx_packets.add(1);
        interfaces[record->interface].tx_bytes.add(bytes);
      }
    }
    transmitter.enqueue(port, packet);
  }
}

}  // namespace hecto::router
