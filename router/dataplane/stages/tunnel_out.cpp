// Tunnels on the way out: the outer header before the inner one, and the L2 header of the way to the
// tunnel's other end before that.
#include "router/dataplane/stages/flow.hpp"
#include "router/dataplane/stages/fragment.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/dataplane/stages/tunnel.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

constexpr uint32_t kLongestPacket = 65535;
constexpr uint32_t kLeastMtu6 = 1280;   // RFC 8200 §5
constexpr unsigned kEncapLimitAt = 44;  // in an outer IPv6 header with one
constexpr uint16_t kOuterDf = 0x4000;

uint8_t* inner_of(const TunnelBatch::Each& each) noexcept {
  return rte_pktmbuf_mtod_offset(each.packet, uint8_t*, each.ingress.l2_length());
}
uint32_t inner_bytes(const TunnelBatch::Each& each) noexcept {
  return each.packet->pkt_len - each.ingress.l2_length();
}
uint8_t ttl_of(const uint8_t* ip, bool v4) noexcept {
  return v4 ? ip[8] : ip[7];
}
uint8_t tos_of(const uint8_t* ip, bool v4) noexcept {
  return v4 ? ip[1] : static_cast<uint8_t>(load16_be(ip) >> 4);
}
bool says_df(const uint8_t* ip, bool v4) noexcept {
  return v4 && (ip[6] & 0x40) != 0;
}

uint32_t hash_of(const TunnelBatch::Each& each, const uint8_t* ip, uint32_t seed) noexcept {
  const uint32_t bytes = each.packet->data_len - each.ingress.l2_length();
  return (each.v4 ? flow_hash4 : flow_hash6)(each.packet, ip, bytes, seed);
}

// RFC 6040 §4.1, normal mode: ECN is copied.
uint8_t outer_tos(const TunnelView& tunnel, uint8_t inner) noexcept {
  return static_cast<uint8_t>(((tunnel.inherits_tos ? inner : tunnel.tos) & 0xfc) | (inner & 3));
}

// kMostOuterBytes at most, 20 at least, as overlapping moves of 16.
void copy_header(uint8_t* to, const TunnelView& tunnel) noexcept {
  const uint8_t* const from = tunnel.header.data();
  std::memcpy(to, from, 16);
  if (tunnel.bytes > 32) {
    std::memcpy(to + 16, from + 16, 16);
    std::memcpy(to + tunnel.bytes - 32, from + tunnel.bytes - 32, 16);
  }
  std::memcpy(to + tunnel.bytes - 16, from + tunnel.bytes - 16, 16);
}

void write_ether_type(uint8_t* at, bool v4) noexcept {
  const uint16_t type = v4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(at, &type, sizeof type);
}

// Whether it is an IPv6 packet behind destination options, which may hold an encapsulation limit.
bool may_be_limited(const uint8_t* ip, const TunnelBatch::Each& each) noexcept {
  return !each.v4 && ip[6] == kProtocolOptions6;
}

}  // namespace

// What goes into another tunnel is cut by none of ours.
bool may_leave_in_fragments(const TunnelView& tunnel, const NextHopRecord& way,
                            uint32_t inner) noexcept {
  const uint32_t bytes = inner + tunnel.bytes;
  return way.kind == RecordKind::kForward && !tunnel.outer6 && !tunnel.sets_df &&
         bytes <= kLongestPacket && takes_few_fragments(bytes, way.mtu);
}

// Numbers of outer packets begin at another place for each thread.
void TunnelStage::use(const Snapshot& snapshot, const TunnelTables* tunnels,
                      unsigned thread) noexcept {
  snapshot_ = &snapshot;
  if (tunnels_ == nullptr) identification_ = static_cast<uint16_t>(thread << 12 | thread >> 4);
  tunnels_ = tunnels;
  if (tunnels != nullptr) flag_ = tunnels->flag();
}

// Into way_; null: it is no tunnel (any more).
const TunnelView* TunnelStage::way_of(InterfaceId id, const TableViews& tables) noexcept {
  if (way_.tunnel != nullptr && way_.tunnel->interface == id) [[likely]]
    return way_.tunnel;
  way_.tunnel = tunnels_->of(id);
  if (way_.tunnel == nullptr) return nullptr;
  const TunnelView& tunnel = *way_.tunnel;
  const VrfTables by_vrf(tables, snapshot_->rules.get());
  way_.group = tunnel.outer6 ? by_vrf.group(tunnel.link, tunnel.remote6)
                             : by_vrf.group(tunnel.link, tunnel.remote4);
  return way_.tunnel;
}

// Why it cannot go into the tunnel now. What came in is Linux's then, as it came; what a tunnel of
// ours made is not.
Reason TunnelStage::why_not(const TunnelBatch::Each& each, const TunnelView& tunnel,
                            const NextHopRecord& way) const noexcept {
  const uint8_t* const ip = inner_of(each);
  const auto by_linux = [&](Reason reason) {
    return each.made ? Reason::kTunnelUnreachable : reason;
  };
  if (!(each.v4 ? tunnel.carries4 : tunnel.carries6)) return by_linux(Reason::kLocal);
  if (!each.made && ttl_of(ip, each.v4) <= 1) return Reason::kTtlExpired;
  if (tunnel.outer6 && may_be_limited(ip, each)) {
    if (!each.made) return Reason::kLocal;
    if (ip[kEncapLimitAt] == 0) return Reason::kTunnelLoop;  // RFC 2473 §4.1.1
  }
  if (way.kind == RecordKind::kDrop) return static_cast<Reason>(way.reason);
  if (way.kind == RecordKind::kTunnel && way.interface == tunnel.interface)
    return Reason::kTunnelLoop;
  if (way.kind != RecordKind::kForward && way.kind != RecordKind::kTunnel)
    return by_linux(static_cast<Reason>(way.reason));
  if (tunnel.link != kNoInterface && way.interface != tunnel.link) return by_linux(Reason::kLocal);
  return Reason::kNone;
}

// False: its sender is told, or it is refused.
bool TunnelStage::fits(const TunnelBatch::Each& each, const TunnelView& tunnel,
                       const NextHopRecord& way, Chunk& chunk, IcmpAnswers* answers) noexcept {
  const uint8_t* const ip = inner_of(each);
  const uint32_t bytes = inner_bytes(each);
  const bool df = says_df(ip, each.v4);
  const uint32_t room = way.mtu - std::min<uint32_t>(way.mtu, tunnel.bytes);
  if (bytes <= each.mtu && bytes <= room) [[likely]]
    return true;
  if (bytes <= each.mtu && !df && may_leave_in_fragments(tunnel, way, bytes)) return true;
  const uint32_t mtu = std::min<uint32_t>(each.mtu, room);
  const bool tells = each.v4 ? df : mtu >= kLeastMtu6;
  if (tells && !each.made && answers != nullptr && answers->add(each.packet, each.ingress, mtu))
    return false;
  chunk.refuse(each.packet, each.made ? Reason::kTunnelTooBig : Reason::kTooBig,
               each.ingress.interface());
  return false;
}

[[gnu::always_inline]] inline void TunnelStage::finish4(uint8_t* outer, const TunnelView& tunnel,
                                                        const TunnelBatch::Each& each,
                                                        const uint8_t* inner,
                                                        uint32_t bytes) noexcept {
  const uint32_t tos = outer_tos(tunnel, tos_of(inner, each.v4));
  const uint32_t total = tunnel.bytes + bytes;
  const uint32_t flags = tunnel.sets_df || says_df(inner, each.v4) ? kOuterDf : 0;
  const uint32_t ttl = tunnel.ttl != 0 ? tunnel.ttl : ttl_of(inner, each.v4);
  const uint32_t protocol = tunnel.gre ? kProtocolGre : each.v4 ? kProtocolIpv4 : kProtocolIpv6;
  const uint32_t number = identification_++;
  const uint32_t sum = tunnel.sum + tos + total + number + flags + (ttl << 8 | protocol);
  store32_be(outer, 0x45u << 24 | tos << 16 | total);
  store32_be(outer + 4, number << 16 | flags);
  store32_be(outer + 8, ttl << 24 | protocol << 16 | (fold_sum(sum) ^ 0xffffu));
  if (tunnel.gre) write_ether_type(outer + tunnel.protocol_at, each.v4);
}

void TunnelStage::finish6(uint8_t* outer, const TunnelView& tunnel, const TunnelBatch::Each& each,
                          const uint8_t* inner, uint32_t bytes) noexcept {
  const uint32_t tos = outer_tos(tunnel, tos_of(inner, each.v4));
  // RFC 6438: the flow inside, where the device says nothing.
  const uint32_t label = tunnel.has_label ? load32_be(outer) & 0xfffff
                                          : hash_of(each, inner, snapshot_->ecmp_seed) & 0xfffff;
  store32_be(outer, 0x6u << 28 | tos << 20 | label);
  store16_be(outer + 4, tunnel.bytes - kIpv6Bytes + bytes);
  outer[7] = tunnel.ttl != 0 ? tunnel.ttl : ttl_of(inner, each.v4);
  if (tunnel.gre)
    write_ether_type(outer + tunnel.protocol_at, each.v4);
  else
    outer[tunnel.protocol_at] = each.v4 ? kProtocolIpv4 : kProtocolIpv6;
  if (outer[6] == kProtocolOptions6 && may_be_limited(inner, each))
    outer[kEncapLimitAt] = static_cast<uint8_t>(inner[kEncapLimitAt] - 1);
}

// Of a whole outer packet, from its IP header on.
void TunnelStage::leave(rte_mbuf* packet, const NextHopRecord& way, Chunk& chunk,
                        InterfaceId ingress) noexcept {
  const uint32_t bytes = packet->pkt_len;
  auto* const ip = rte_pktmbuf_mtod(packet, uint8_t*);
  if (bytes <= way.mtu) [[likely]] {
    rewrite_detail::write_any_header(packet, ip, 0, way);
    transmitter_.enqueue(PortId(way.port), packet);
    if (!snapshot_->interfaces[way.interface].counters) return;
    interfaces_[way.interface].tx_packets.add(1);
    interfaces_[way.interface].tx_bytes.add(bytes);
    return;
  }
  rte_mbuf* pieces[kMostFragments];
  pieces[0] = packet;
  if (!may_be_cut(ip, bytes, way.mtu)) {
    chunk.refuse(packet, Reason::kTunnelTooBig, ingress);
    return;
  }
  const unsigned more = fragment_ipv4(packet, 0, way.mtu, 0, {pieces + 1, kMostFragments - 1});
  if (more == 0) {
    chunk.refuse(packet, Reason::kFragmentMbuf, ingress);
    return;
  }
  transmitter_.count_fragments(more);
  for (unsigned n = 0; n <= more; ++n) {
    rewrite_detail::write_any_header(pieces[n], rte_pktmbuf_mtod(pieces[n], uint8_t*), 0, way);
    transmitter_.enqueue(PortId(way.port), pieces[n]);
  }
  if (!snapshot_->interfaces[way.interface].counters) return;
  interfaces_[way.interface].tx_packets.add(more + 1);
  interfaces_[way.interface].tx_bytes.add(bytes + more * kIpv4Bytes);
}

void TunnelStage::put_in(const TunnelBatch::Each& each, Chunk& chunk, const TableViews& tables,
                         IcmpAnswers* answers) noexcept {
  rte_mbuf* const packet = each.packet;
  const InterfaceId ingress = each.ingress.interface();
  const TunnelView* const tunnel = way_of(each.tunnel, tables);
  if (tunnel == nullptr) [[unlikely]] {
    chunk.refuse(packet, each.made ? Reason::kTunnelUnreachable : Reason::kLocal, ingress);
    return;
  }
  uint8_t* const inner = inner_of(each);
  const NextHopRecord* way = &tables.next_hops.record(way_.group);
  if (way->kind == RecordKind::kMultipath)
    way = &tables.next_hops.member(*way, hash_of(each, inner, snapshot_->ecmp_seed));
  if (const Reason reason = why_not(each, *tunnel, *way); reason != Reason::kNone) [[unlikely]] {
    chunk.refuse(packet, reason, ingress);
    return;
  }
  if (!fits(each, *tunnel, *way, chunk, answers)) return;
  const unsigned l2 = each.ingress.l2_length();
  if (packet->data_off + l2 < tunnel->bytes + kMostL2Bytes) [[unlikely]] {
    chunk.refuse(packet, Reason::kTunnelNoRoom, ingress);
    return;
  }
  const uint32_t bytes = inner_bytes(each);
  if (!each.made && each.v4) rewrite_detail::decrement_ttl(chunk.v4, inner);
  if (!each.made && !each.v4) rewrite_detail::decrement_ttl(chunk.v6, inner);
  uint8_t* const outer = inner - tunnel->bytes;
  copy_header(outer, *tunnel);
  tunnel->outer6 ? finish6(outer, *tunnel, each, inner, bytes)
                 : finish4(outer, *tunnel, each, inner, bytes);
  const int growth = tunnel->bytes - static_cast<int>(l2);
  packet->data_off = static_cast<uint16_t>(packet->data_off - growth);
  packet->data_len = static_cast<uint16_t>(packet->data_len + growth);
  packet->pkt_len = static_cast<uint32_t>(static_cast<int>(packet->pkt_len) + growth);
  packet->ol_flags &= ~flag_;  // it is none any more that began earlier
  interfaces_[tunnel->interface].tx_packets.add(1);
  interfaces_[tunnel->interface].tx_bytes.add(bytes);
  if (way->kind == RecordKind::kForward) [[likely]]
    leave(packet, *way, chunk, ingress);
  else
    (void)next_.add(
        {packet, {ingress, 0}, InterfaceId(way->interface), way->mtu, !tunnel->outer6, true});
}

// Of one whose way is one neighbor, and whose headers fit.
const TunnelStage::Front& TunnelStage::front_of(InterfaceId id, const TableViews& tables) noexcept {
  Front& front = fronts_[id % kFronts];
  if (front.turn == turn_ && front.tunnel != nullptr && front.tunnel->interface == id) [[likely]]
    return front;
  front.turn = turn_;
  front.whole = false;
  front.tunnel = way_of(id, tables);
  if (front.tunnel == nullptr) return front;
  const TunnelView& tunnel = *front.tunnel;
  const NextHopRecord& way = tables.next_hops.record(way_.group);
  front.length = static_cast<uint8_t>(way.header_length + tunnel.bytes);
  front.whole = way.kind == RecordKind::kForward && front.length <= sizeof front.bytes &&
                way.mtu >= tunnel.bytes &&
                (tunnel.link == kNoInterface || way.interface == tunnel.link);
  if (!front.whole) return front;
  uint8_t* const end = front.bytes + sizeof front.bytes;
  std::memcpy(end - front.length, way.header, way.header_length);
  std::memcpy(end - tunnel.bytes, tunnel.header.data(), tunnel.bytes);
  front.tagged = way.header_length != kEthernetBytes;
  front.room = way.mtu - tunnel.bytes;
  front.interface = InterfaceId(way.interface);
  front.port = PortId(way.port);
  return front;
}

// A packet that came in, which fits and may live one hop more. False: it is as it was, and put_in()'s.
[[gnu::always_inline]] inline bool TunnelStage::put_front(const TunnelBatch::Each& each,
                                                          const Front& front,
                                                          Chunk& chunk) noexcept {
  rte_mbuf* const packet = each.packet;
  const TunnelView& tunnel = *front.tunnel;
  const unsigned l2 = each.ingress.l2_length();
  uint8_t* const inner = rte_pktmbuf_mtod_offset(packet, uint8_t*, l2);
  const uint32_t bytes = packet->pkt_len - l2;
  if (each.made || packet->nb_segs != 1 || bytes > each.mtu || bytes > front.room ||
      packet->data_off + l2 < sizeof front.bytes ||
      !(each.v4 ? tunnel.carries4 : tunnel.carries6) ||
      (tunnel.outer6 && may_be_limited(inner, each)) ||
      !(each.v4 ? rewrite_detail::decrement_ttl_plainly(chunk.v4, inner)
                : rewrite_detail::decrement_ttl_plainly(chunk.v6, inner))) [[unlikely]]
    return false;
  std::memcpy(inner - sizeof front.bytes, front.bytes, sizeof front.bytes);
  uint8_t* const outer = inner - tunnel.bytes;
  tunnel.outer6 ? finish6(outer, tunnel, each, inner, bytes)
                : finish4(outer, tunnel, each, inner, bytes);
  packet->data_off = static_cast<uint16_t>(packet->data_off + l2 - front.length);
  packet->data_len = static_cast<uint16_t>(bytes + front.length);
  packet->pkt_len = bytes + front.length;
  return true;
}

void TunnelStage::put_all(Chunk& chunk, const TableViews& tables, IcmpAnswers* answers) noexcept {
  for (unsigned begin = 0, end; begin < batch_.count; begin = end) {
    const InterfaceId id = batch_.packets[begin].tunnel;
    const Front& front = front_of(id, tables);
    uint64_t packets = 0, bytes = 0;
    for (end = begin; end < batch_.count && batch_.packets[end].tunnel == id; ++end) {
      const TunnelBatch::Each& each = batch_.packets[end];
      if (!front.whole || !put_front(each, front, chunk)) [[unlikely]] {
        put_in(each, chunk, tables, answers);
        continue;
      }
      ++packets;
      const uint32_t length = each.packet->pkt_len;
      bytes += length - front.length;
      if (front.tagged)
        transmitter_.enqueue(front.port, each.packet);
      else
        transmitter_.enqueue_plain(front.port, each.packet, length);
    }
    if (packets > 0) count_out(front, packets, bytes);
  }
}

// An untagged interface counts what leaves by it itself.
void TunnelStage::count_out(const Front& front, uint64_t packets, uint64_t bytes) noexcept {
  transmitter_.wake(uint64_t{1} << front.port);
  InterfaceCounters& into = interfaces_[front.tunnel->interface];
  into.tx_packets.add(packets);
  into.tx_bytes.add(bytes);
  if (!front.tagged || !snapshot_->interfaces[front.interface].counters) return;
  interfaces_[front.interface].tx_packets.add(packets);
  interfaces_[front.interface].tx_bytes.add(bytes + packets * front.tunnel->bytes);
}

void TunnelStage::send(Chunk& chunk, const TableViews& tables, IcmpAnswers* answers) noexcept {
  way_ = {};
  ++turn_;
  for (unsigned round = 0; round < kMostNestedTunnels && batch_.count > 0; ++round) {
    next_.count = 0;
    put_all(chunk, tables, answers);
    batch_.count = next_.count;
    std::copy_n(next_.packets, next_.count, batch_.packets);
  }
  for (unsigned i = 0; i < batch_.count; ++i)
    chunk.refuse(batch_.packets[i].packet, Reason::kTunnelLoop,
                 batch_.packets[i].ingress.interface());
  batch_.count = 0;
}

}  // namespace hecto::router
