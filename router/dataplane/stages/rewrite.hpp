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
#include "router/dataplane/stages/icmp_answers.hpp"
#include "router/dataplane/stages/label_stack.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "router/dataplane/stages/tunnel_batch.hpp"

namespace hecto::router {

// What senders are told. Null: of a better first hop, or of an MTU, nobody is told here.
struct Telling {
  AnswerLimit* redirects = nullptr;
  IcmpAnswers* too_big = nullptr;
  // Of packets that a filter leads, in ol_flags: of a better first hop Linux knows nothing.
  uint64_t led = 0;
};

namespace rewrite_detail {

// True when the packet may live one hop more. The checksum grows by 0x0100 in network order with
// end-around carry (RFC 1624), so that of 0xfffe comes 0; TTL and checksum are stored as one word.
inline bool decrement_ttl(Lane4&, uint8_t* ip) noexcept {
  const uint32_t word = load32_native(ip + 8);  // TTL, protocol, checksum
  if ((word & 0xff) <= 1) [[unlikely]]
    return false;
  const uint32_t carry = word >= 0xfffe0000u ? 0x10000u : 0;
  const uint32_t next = word + 0x10000u - 1 + carry;
  std::memcpy(ip + 8, &next, sizeof next);
  return true;
}
inline bool decrement_ttl(Lane6&, uint8_t* ip) noexcept {
  if (ip[7] <= 1) [[unlikely]]
    return false;
  --ip[7];
  return true;
}
// The same for most packets, with less to do: false also where the checksum would carry.
inline bool decrement_ttl_plainly(Lane4&, uint8_t* ip) noexcept {
  const uint32_t word = load32_native(ip + 8);
  if ((word & 0xff) <= 1 || word >= 0xfffe0000u) [[unlikely]]
    return false;
  const uint32_t next = word + 0x10000u - 1;
  std::memcpy(ip + 8, &next, sizeof next);
  return true;
}
inline bool decrement_ttl_plainly(Lane6& lane, uint8_t* ip) noexcept {
  return decrement_ttl(lane, ip);
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
// The same of one that puts labels on.
inline constexpr uint16_t kPlainLabelled =
    kEthernetBytes | static_cast<uint16_t>(lookup::RecordKind::kLabelled) << 8;
static_assert(offsetof(lookup::NextHopRecord, kind) ==
              offsetof(lookup::NextHopRecord, header_length) + 1);

// Whether the sender of a packet that goes back by the interface that it came in by is told of a
// better first hop: Linux gets one a second and source, forwards it and says what there is to say.
template <typename Address>
bool is_told(const uint8_t* ip, const lookup::NextHopRecord& record, const Snapshot& snapshot,
             AnswerLimit* redirects) noexcept {
  const InterfaceView& interface = snapshot.interfaces[record.interface];
  const bool tells = sizeof(Address) == 4 ? interface.redirects4 : interface.redirects6;
  return tells && redirects != nullptr &&
         redirects->take(ip, InterfaceId(record.interface), rte_rdtsc());
}

// What does not fit, or goes back by the interface that it came in by: why it is held back, kNone
// where it is not. TTL comes first (RFC 1812 §5.2.7): an expired packet is not told about MTUs.
template <typename Address>
[[gnu::noinline]] Reason hold_back(const uint8_t* ip, uint32_t bytes,
                                   const lookup::NextHopRecord& record, const Snapshot& snapshot,
                                   AnswerLimit* redirects) noexcept {
  constexpr bool kIpv4 = sizeof(Address) == 4;
  if (ip[kIpv4 ? 8 : 7] <= 1) return Reason::kTtlExpired;
  if (bytes > record.mtu) return Reason::kTooBig;
  return is_told<Address>(ip, record, snapshot, redirects) ? Reason::kRedirect : Reason::kNone;
}

// Fourteen bytes as two overlapping stores of eight.
inline void write_plain_header(uint8_t* ip, const uint8_t* header) noexcept {
  std::memcpy(ip - 14, header, 8);
  std::memcpy(ip - 8, header + 6, 8);
}

// Tags come or go, or stay: the headroom before a received packet always has room for two.
inline void write_any_header(rte_mbuf* packet, uint8_t* ip, unsigned l2_length,
                             const lookup::NextHopRecord& record) noexcept {
  const int growth = record.header_length - static_cast<int>(l2_length);
  packet->data_off = static_cast<uint16_t>(packet->data_off - growth);
  packet->data_len = static_cast<uint16_t>(packet->data_len + growth);
  packet->pkt_len = static_cast<uint32_t>(static_cast<int>(packet->pkt_len) + growth);
  if (record.header_length == kEthernetBytes) {
    write_plain_header(ip, record.header);
  } else if (record.header_length == kEthernetBytes + kVlanTagBytes) {
    std::memcpy(ip - 18, record.header, 16);
    std::memcpy(ip - 2, record.header + 16, 2);
  } else {
    std::memcpy(ip - kMostL2Bytes, record.header, 16);
    std::memcpy(ip - 8, record.header + kMostL2Bytes - 8, 8);
  }
}

// Labels and the L2 header before `at`, in the place of what stood there, `before` bytes long. False: no
// room in the buffer.
inline bool write_labelled_header(rte_mbuf* packet, uint8_t* at, unsigned before,
                                  const lookup::NextHopRecord& record, uint32_t ttl,
                                  bool bottom) noexcept {
  const unsigned labels = record.label_count * kLabelBytes;
  if (packet->data_off + before < labels + record.header_length) [[unlikely]]
    return false;
  packet->data_off = static_cast<uint16_t>(packet->data_off - labels);
  packet->data_len = static_cast<uint16_t>(packet->data_len + labels);
  packet->pkt_len += labels;
  write_any_header(packet, write_labels(at, record, ttl, bottom), before, record);
  return true;
}

// What forward_labelled does to most packets, with less to do. False: it is as it was.
template <typename Address>
inline bool push_plainly(Lane<Address>& lane, rte_mbuf* packet, uint8_t* ip,
                         const lookup::NextHopRecord& record) noexcept {
  const unsigned labels = record.label_count * kLabelBytes;
  const uint32_t left = ip[sizeof(Address) == 4 ? 8 : 7] - 1u;
  if (packet->data_off < labels || !decrement_ttl_plainly(lane, ip)) [[unlikely]]
    return false;
  const uint32_t ttl = record.label_ttl != 0 ? record.label_ttl : left;
  write_plain_header(write_labels(ip, record, ttl, true), record.header);
  packet->data_off = static_cast<uint16_t>(packet->data_off - labels);
  packet->data_len = static_cast<uint16_t>(packet->data_len + labels);
  packet->pkt_len += labels;
  return true;
}

// What all packets of a call share.
struct Rewriting {
  Chunk& chunk;
  const lookup::NextHopView& next_hops;
  Transmitter& transmitter;
  const Snapshot& snapshot;
  std::array<InterfaceCounters, kMaxInterfaces>& interfaces;
  Telling telling;
  TunnelBatch* tunnels = nullptr;  // null: what goes into one is Linux's
};

template <typename Address>
[[gnu::noinline]] const lookup::NextHopRecord& member_for(Lane<Address>& lane, unsigned i,
                                                          const lookup::NextHopRecord& group,
                                                          const Rewriting& with) noexcept {
  const rte_mbuf* const packet = lane.packets[i];
  const unsigned l2_length = lane.ingress[i].l2_length();
  const uint8_t* const ip = rte_pktmbuf_mtod(packet, const uint8_t*) + l2_length;
  return with.next_hops.member(
      group, flow_hash(lane, packet, ip, packet->data_len - l2_length, with.snapshot.ecmp_seed));
}

// What does not fit and may be cut (fragment.hpp): each fragment leaves, or the packet is refused.
// False: it may not, and is as it was.
[[gnu::noinline]] bool forward_in_fragments(Lane4& lane, unsigned i,
                                            const lookup::NextHopRecord& record,
                                            const Rewriting& with) noexcept;

// What does not fit. False: it is as it was, and Linux's.
template <typename Address>
[[gnu::noinline]] bool cut_or_answer(Lane<Address>& lane, unsigned i,
                                     const lookup::NextHopRecord& record,
                                     const Rewriting& with) noexcept {
  if constexpr (sizeof(Address) == 4)
    if (forward_in_fragments(lane, i, record, with)) return true;
  return with.telling.too_big != nullptr &&
         with.telling.too_big->add(lane.packets[i], lane.ingress[i], record.mtu);
}

template <typename Address>
[[gnu::always_inline]] inline bool goes_into_tunnel(Lane<Address>& lane, unsigned i,
                                                    const lookup::NextHopRecord& record,
                                                    const Rewriting& with) noexcept {
  return with.tunnels != nullptr &&
         with.tunnels->add({lane.packets[i], lane.ingress[i], InterfaceId(record.interface),
                            record.mtu, sizeof(Address) == 4, false});
}

// A packet whose next hop puts labels on it.
template <typename Address>
[[gnu::noinline]] void forward_labelled(Lane<Address>& lane, unsigned i,
                                        const lookup::NextHopRecord& record,
                                        const Rewriting& with) noexcept;

// What has no next hop to be written for goes into a tunnel, or is refused.
template <typename Address>
inline void lead_away(Lane<Address>& lane, unsigned i, const lookup::NextHopRecord& record,
                      const Rewriting& with) noexcept {
  if (record.kind == lookup::RecordKind::kTunnel && goes_into_tunnel(lane, i, record, with)) return;
  with.chunk.refuse(lane.packets[i], static_cast<Reason>(record.reason),
                    lane.ingress[i].interface());
}

// Any packet.
template <typename Address>
inline void rewrite_one(Lane<Address>& lane, unsigned i, const Rewriting& with) noexcept {
  using lookup::RecordKind;
  rte_mbuf* const packet = lane.packets[i];
  const InterfaceId interface = lane.ingress[i].interface();
  const unsigned l2_length = lane.ingress[i].l2_length();
  uint8_t* const ip = rte_pktmbuf_mtod(packet, uint8_t*) + l2_length;
  const uint32_t bytes = packet->pkt_len - l2_length;
  const lookup::NextHopRecord* record = &with.next_hops.record(lane.groups[i]);
  if (record->kind == RecordKind::kMultipath) record = &member_for(lane, i, *record, with);
  if (record->kind != RecordKind::kForward) [[unlikely]] {
    record->kind == RecordKind::kLabelled ? forward_labelled(lane, i, *record, with)
                                          : lead_away(lane, i, *record, with);
    return;
  }
  if ((bytes > record->mtu) | (record->interface == interface)) [[unlikely]] {
    const bool led = (packet->ol_flags & with.telling.led) != 0;
    const Reason reason = hold_back<Address>(ip, bytes, *record, with.snapshot,
                                             led ? nullptr : with.telling.redirects);
    if (reason != Reason::kNone) {
      if (reason == Reason::kTooBig && cut_or_answer(lane, i, *record, with)) return;
      with.chunk.refuse(packet, reason, interface);
      return;
    }
  }
  if (!decrement_ttl(lane, ip)) [[unlikely]] {
    with.chunk.refuse(packet, Reason::kTtlExpired, interface);
    return;
  }
  const PortId port(record->port);
  if (l2_length == kEthernetBytes && record->header_length == kEthernetBytes)
    write_plain_header(ip, record->header);
  else
    write_any_header(packet, ip, l2_length, *record);
  if (with.snapshot.interfaces[record->interface].counters) {
    with.interfaces[record->interface].tx_packets.add(1);
    with.interfaces[record->interface].tx_bytes.add(bytes);
  }
  with.transmitter.enqueue(port, packet);
}

template <typename Address>
[[gnu::noinline]] void forward_labelled(Lane<Address>& lane, unsigned i,
                                        const lookup::NextHopRecord& record,
                                        const Rewriting& with) noexcept {
  rte_mbuf* const packet = lane.packets[i];
  const InterfaceId interface = lane.ingress[i].interface();
  const unsigned l2_length = lane.ingress[i].l2_length();
  uint8_t* const ip = rte_pktmbuf_mtod(packet, uint8_t*) + l2_length;
  const uint32_t bytes = packet->pkt_len - l2_length;
  if ((bytes > record.mtu) | (record.interface == interface)) [[unlikely]] {
    const bool led = (packet->ol_flags & with.telling.led) != 0;
    const Reason reason = hold_back<Address>(ip, bytes, record, with.snapshot,
                                             led ? nullptr : with.telling.redirects);
    if (reason != Reason::kNone) {
      if (reason == Reason::kTooBig && cut_or_answer(lane, i, record, with)) return;
      with.chunk.refuse(packet, reason, interface);
      return;
    }
  }
  constexpr unsigned kTtlAt = sizeof(Address) == 4 ? 8 : 7;
  const uint32_t left = ip[kTtlAt] - 1u;  // as it leaves
  const uint32_t ttl = record.label_ttl != 0 ? record.label_ttl : left;
  if (left - 1 >= 255 || !write_labelled_header(packet, ip, l2_length, record, ttl, true))
      [[unlikely]] {
    with.chunk.refuse(packet, left - 1 >= 255 ? Reason::kTtlExpired : Reason::kTunnelNoRoom,
                      interface);
    return;
  }
  (void)decrement_ttl(lane, ip);
  if (with.snapshot.interfaces[record.interface].counters) {
    with.interfaces[record.interface].tx_packets.add(1);
    with.interfaces[record.interface].tx_bytes.add(bytes + record.label_count * kLabelBytes);
  }
  with.transmitter.enqueue(PortId(record.port), packet);
}

template <typename Address>
[[gnu::noinline]] void rewrite_odd(Lane<Address>& lane, unsigned i,
                                   const Rewriting& with) noexcept {
  rewrite_one(lane, i, with);
}

// Whether senders may have to be told of a better way than back by the interface that a lane came
// in by. A branch a packet for those that do go back would be hard to predict.
template <typename Address>
bool tells(const Lane<Address>& lane, const Rewriting& with) noexcept {
  const InterfaceView& view = with.snapshot.interfaces[lane.ingress[0].interface()];
  return with.telling.redirects != nullptr &&
         (sizeof(Address) == 4 ? view.redirects4 : view.redirects6);
}

// A lane that came in untagged by one interface: what leaves untagged, whole and in one segment is
// written here. All else is odd. `Labels`: many are to have some; a loop of its own, for in the other
// one they would cost each packet without.
template <bool Tells, bool Labels, typename Address>
inline void rewrite_plain(Lane<Address>& lane, const Rewriting& with) noexcept {
  using lookup::NextHopRecord;
  using lookup::RecordKind;
  const lookup::NextHopView hops = with.next_hops;
  const InterfaceId interface = lane.ingress[0].interface();
  Transmitter& transmitter = with.transmitter;
  const unsigned count = lane.count;
  uint64_t ports = 0;
  for (unsigned i = 0; i < count; ++i) {
    rte_mbuf* const packet = lane.packets[i];
    const NextHopRecord* record = &hops.record(lane.groups[i]);
    bool plain = load16_native(&record->header_length) == kPlainForward;
    if (!plain && record->kind == RecordKind::kMultipath) [[unlikely]] {
      record = &member_for(lane, i, *record, with);
      plain = load16_native(&record->header_length) == kPlainForward;
    }
    uint8_t* const ip = rte_pktmbuf_mtod(packet, uint8_t*) + kEthernetBytes;
    const uint32_t bytes = packet->pkt_len;
    // One segment has no more than 16 bits of them.
    if constexpr (Labels) {
      if (load16_native(&record->header_length) == kPlainLabelled && packet->nb_segs == 1 &&
          static_cast<uint16_t>(bytes - kEthernetBytes) <= record->mtu &&
          !(Tells && record->interface == interface) && push_plainly(lane, packet, ip, *record))
          [[likely]] {
        const PortId port(record->port);
        ports |= uint64_t{1} << port;
        transmitter.enqueue_plain(port, packet, bytes + record->label_count * kLabelBytes);
        continue;
      }
    }
    if (!plain || packet->nb_segs != 1 ||
        static_cast<uint16_t>(bytes - kEthernetBytes) > record->mtu ||
        (Tells && record->interface == interface) || !decrement_ttl_plainly(lane, ip))
        [[unlikely]] {
      if (record->kind == RecordKind::kLabelled)
        forward_labelled(lane, i, *record, with);
      else if (record->kind != RecordKind::kTunnel || !goes_into_tunnel(lane, i, *record, with))
        rewrite_odd(lane, i, with);
      continue;
    }
    const PortId port(record->port);
    write_plain_header(ip, record->header);
    ports |= uint64_t{1} << port;
    transmitter.enqueue_plain(port, packet, bytes);
  }
  transmitter.wake(ports);
}

// By the first one: what follows goes the same way, as a rule.
template <typename Address>
bool has_labels(const Lane<Address>& lane, const lookup::NextHopView& hops) noexcept {
  const lookup::NextHopRecord* record = &hops.record(lane.groups[0]);
  if (record->kind == lookup::RecordKind::kMultipath) record = &hops.member(*record, 0);
  return record->kind == lookup::RecordKind::kLabelled;
}

}  // namespace rewrite_detail

template <typename Address>
inline void rewrite(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
                    Transmitter& transmitter, const Snapshot& snapshot,
                    std::array<InterfaceCounters, kMaxInterfaces>& interfaces, Telling telling,
                    TunnelBatch* tunnels = nullptr) noexcept {
  using namespace rewrite_detail;
  if (lane.count == 0) return;
  const Rewriting with{chunk, next_hops, transmitter, snapshot, interfaces, telling, tunnels};
  if (lane.ingress[0].l2_length() == kEthernetBytes && lane.of_one_ingress()) [[likely]] {
    if (has_labels(lane, next_hops)) [[unlikely]]
      tells(lane, with) ? rewrite_plain<true, true>(lane, with)
                        : rewrite_plain<false, true>(lane, with);
    else
      tells(lane, with) ? rewrite_plain<true, false>(lane, with)
                        : rewrite_plain<false, false>(lane, with);
    return;
  }
  for (unsigned i = 0; i < lane.count; ++i) rewrite_one(lane, i, with);
}

}  // namespace hecto::router
