// encap, second half: what becomes of packets that are to be protected.
#include "router/dataplane/stages/icmp_too_big.hpp"
#include "router/dataplane/stages/ipsec.hpp"
#include "router/dataplane/stages/ipsec_wire.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/spd.hpp"

#include <rte_ip.h>

namespace hecto::router {

using esp::Packet;
using lookup::Family;
using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

const NextHopRecord& first_way(const lookup::NextHopView& hops, lookup::GroupId group) noexcept {
  const NextHopRecord& record = hops.record(group);
  if (record.kind != RecordKind::kMultipath) return record;
  return hops.record(__atomic_load_n(&hops.buckets[record.bucket_offset], __ATOMIC_ACQUIRE));
}

// To a packet of our own that keeps its header, for rewrite takes one.
void lend_hop(uint8_t* ip, bool v4) noexcept {
  uint8_t& hops = ip[v4 ? 8 : 7];
  if (hops == 255) return;
  ++hops;
  if (!v4) return;
  std::memset(ip + 10, 0, 2);
  const uint16_t sum = rte_ipv4_cksum(reinterpret_cast<const rte_ipv4_hdr*>(ip));
  std::memcpy(ip + 10, &sum, sizeof sum);
}

void set_frame(rte_mbuf* packet, const uint8_t* ip, uint32_t bytes, unsigned l2) noexcept {
  packet->data_off = static_cast<uint16_t>(ip - l2 - static_cast<uint8_t*>(packet->buf_addr));
  packet->data_len = static_cast<uint16_t>(bytes + l2);
  packet->pkt_len = packet->data_len;
}

}  // namespace

// The tunnels' ends, one batch per family: where each packet will go once it is protected.
void IpsecStages::look_up_ends(const TableViews& tables) noexcept {
  alignas(64) uint32_t ends4[kChunkSize];
  alignas(64) lookup::Ipv6Address ends6[kChunkSize];
  alignas(64) lookup::GroupId groups4[kChunkSize], groups6[kChunkSize];
  unsigned count4 = 0, count6 = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const SaId& id = packets_[i].sa->id;
    if (id.destination.family == Family::kIpv4)
      ends4[count4++] = load32_be(id.destination.bytes.data());
    else
      std::memcpy(&ends6[count6++], id.destination.bytes.data(), 16);
  }
  if (count4 > 0) lookup_batch(tables.fib4, ends4, groups4, count4);
  if (count6 > 0) lookup_batch(tables.fib6, ends6, groups6, count6);
  count4 = count6 = 0;
  for (unsigned i = 0; i < count_; ++i)
    work_[i].group = packets_[i].sa->id.destination.family == Family::kIpv4 ? groups4[count4++]
                                                                            : groups6[count6++];
}

// Cuts an IPv4 packet that may be cut (RFC 791 §3.2): it keeps the last piece, the pieces before it
// go to the end of the work. False: no room or no mbufs, and it is as it was.
bool IpsecStages::split(unsigned i, uint32_t mtu, const Chunk& chunk) noexcept {
  constexpr unsigned kMostPieces = 8;
  rte_mbuf* packet = work_[i].packet;
  const unsigned l2 = work_[i].ingress.l2_length();
  uint8_t* ip = packets_[i].ip;
  const uint32_t data = packets_[i].bytes - kIpv4Bytes;
  const uint32_t step = (mtu - kIpv4Bytes) / 8 * 8;
  const unsigned more = (data + step - 1) / step - 1;
  const unsigned others = chunk.v4.count + chunk.v6.count + chunk.refused_count + answer_count_;
  rte_mbuf* pieces[kMostPieces];
  if (ip[0] != 0x45 || more > kMostPieces || count_ + others + more > kChunkSize ||
      rte_pktmbuf_alloc_bulk(packet->pool, pieces, more) != 0)
    return false;
  const uint32_t field = load16_be(ip + 6);
  const auto finish = [&](uint8_t* header, uint32_t at, uint32_t bytes, bool last) {
    const uint16_t total = __builtin_bswap16(static_cast<uint16_t>(kIpv4Bytes + bytes));
    const uint32_t flags = last ? field & 0xe000 : (field & 0xe000) | 0x2000;
    const uint16_t place =
        __builtin_bswap16(static_cast<uint16_t>(flags | ((field & 0x1fff) + at / 8)));
    std::memcpy(header + 2, &total, sizeof total);
    std::memcpy(header + 6, &place, sizeof place);
    std::memset(header + 10, 0, 2);
    const uint16_t sum = rte_ipv4_cksum(reinterpret_cast<const rte_ipv4_hdr*>(header));
    std::memcpy(header + 10, &sum, sizeof sum);
  };
  for (unsigned n = 0; n < more; ++n) {
    rte_mbuf* piece = pieces[n];
    auto* frame = reinterpret_cast<uint8_t*>(
        rte_pktmbuf_append(piece, static_cast<uint16_t>(l2 + kIpv4Bytes + step)));
    if (frame == nullptr) {  // never, where the whole has fitted a buffer of the same pool
      rte_pktmbuf_free_bulk(pieces, more);
      return false;
    }
    std::memcpy(frame + l2, ip, kIpv4Bytes);
    std::memcpy(frame + l2 + kIpv4Bytes, ip + kIpv4Bytes + n * step, step);
    finish(frame + l2, n * step, step, false);
    piece->port = packet->port;
  }
  for (unsigned n = 0; n < more; ++n) {
    work_[count_].group = work_[i].group;
    add(pieces[n], work_[i].ingress, packets_[i].sa);
  }
  const uint32_t rest = data - more * step;
  std::memmove(ip + kIpv4Bytes, ip + kIpv4Bytes + more * step, rest);
  finish(ip, more * step, rest, true);
  packet->data_len = static_cast<uint16_t>(l2 + kIpv4Bytes + rest);
  packet->pkt_len = packet->data_len;
  packets_[i].tailroom = rte_pktmbuf_tailroom(packet);
  packets_[i].bytes = kIpv4Bytes + rest;
  made_.store(made_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  return true;
}

// Whether the packet can be protected now; else it has been refused or answered.
bool IpsecStages::ready(unsigned i, Chunk& chunk, const TableViews& tables,
                        const Snapshot& snapshot, From source) noexcept {
  const Packet& p = packets_[i];
  rte_mbuf* packet = work_[i].packet;
  const InterfaceId interface = work_[i].ingress.interface();
  const unsigned l2 = work_[i].ingress.l2_length();
  const bool v4 = p.ip[0] >> 4 == 4;
  const NextHopRecord& way = first_way(tables.next_hops, work_[i].group);
  // Linux gets the packet as it came: what it sends on comes back here.
  if (way.kind != RecordKind::kForward) {
    chunk.refuse(packet, static_cast<Reason>(way.reason), interface);
    return false;
  }
  const bool hops = p.sa->mode == IpsecMode::kTunnel && source == From::kPort;
  if (hops && p.ip[v4 ? 8 : 7] <= 1) {
    chunk.refuse(packet, Reason::kTtlExpired, interface);
    return false;
  }
  const uint32_t path_mtu = p.sa->path_mtu(now_s());
  const uint32_t outer_mtu = path_mtu == 0 ? way.mtu : std::min<uint32_t>(way.mtu, path_mtu);
  if (p.sa->outer_bytes(p.bytes) > outer_mtu) {
    const uint32_t mtu = p.sa->inner_mtu(outer_mtu);
    const bool whole = !v4 || (p.ip[6] & 0x40) != 0;  // must not be cut
    if (!whole && mtu >= 68 && split(i, mtu, chunk))
      return ready(i, chunk, tables, snapshot, source);
    const bool told = whole && too_big_.take(rte_rdtsc()) &&
                      (v4 ? make_too_big4 : make_too_big6)(packet, l2, static_cast<uint16_t>(mtu),
                                                           snapshot.interfaces[interface]);
    if (!told) {
      chunk.refuse(packet, Reason::kTunnelTooBig, interface);
      return false;
    }
    answers_[answer_count_++] = {packet, work_[i].ingress};
    return false;
  }
  if (hops && v4)
    rewrite_detail::hop(chunk.v4, p.ip);
  else if (hops)
    rewrite_detail::hop(chunk.v6, p.ip);
  else if (source == From::kLinux && p.sa->mode == IpsecMode::kTransport)
    lend_hop(p.ip, v4);
  return true;
}

void IpsecStages::protect(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                          From source, Observer* observer) noexcept {
  if (snapshot.punt_pps[static_cast<size_t>(Reason::kTooBig)] != too_big_pps_) {
    too_big_pps_ = snapshot.punt_pps[static_cast<size_t>(Reason::kTooBig)];
    too_big_.configure(rte_get_tsc_hz(), too_big_pps_, punt_burst(too_big_pps_));
  }
  look_up_ends(tables);
  unsigned kept = 0;
  for (unsigned i = 0; i < count_; ++i) {
    if (!ready(i, chunk, tables, snapshot, source)) continue;
    packets_[kept] = packets_[i];
    work_[kept++] = work_[i];
  }
  count_ = kept;
  if (observer != nullptr) [[unlikely]]
    for (unsigned i = 0; i < count_; ++i) observer->before_encap(seen(i, packets_[i], work_[i]));
}

// Back into the lanes, with the groups of the tunnels' ends. False: it is refused.
bool IpsecStages::deliver_outer(const Packet& outer, const EspFrame& frame, Chunk& chunk) noexcept {
  rte_mbuf* packet = frame.packet;
  if (outer.reason != Reason::kNone) {
    outer.sa->count_drop(outer.reason);
    chunk.refuse(packet, outer.reason, frame.ingress.interface());
    return false;
  }
  set_frame(packet, outer.ip, outer.bytes, kEthernetBytes);
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};  // the inner packet's
  const bool v4 = outer.ip[0] >> 4 == 4;
  const uint16_t type = v4 ? kEtherIpv4 : kEtherIpv6;
  uint8_t* ether_type = outer.ip - 2;
  std::memcpy(ether_type, &type, sizeof type);
  const auto put = [&](auto& lane) {
    lane.packets[lane.count] = packet;
    lane.groups[lane.count] = frame.group;
    lane.ingress[lane.count++] = Ingress(frame.ingress.interface(), kEthernetBytes);
  };
  if (v4)
    put(chunk.v4);
  else
    put(chunk.v6);
  return true;
}

void IpsecStages::seal_here(Chunk& chunk, const TableViews& tables, Observer* observer) noexcept {
  engine_->outbound({packets_, count_}, now_s(), kOuterHops);
  for (unsigned i = 0; i < count_; ++i) {
    const bool whole = deliver_outer(packets_[i], work_[i], chunk);
    if (whole && observer != nullptr) [[unlikely]]
      observer->encapsulated(seen(i, packets_[i], work_[i]));
  }
  deliver_answers(chunk, tables);
}

// Answers to senders inside: packets of our own, looked up like any. One that a policy would
// protect or drop is not sent: its sender is behind a tunnel itself.
void IpsecStages::deliver_answers(Chunk& chunk, const TableViews& tables) noexcept {
  for (unsigned i = 0; i < answer_count_; ++i) {
    rte_mbuf* packet = answers_[i].packet;
    const auto* ip =
        rte_pktmbuf_mtod_offset(packet, const uint8_t*, answers_[i].ingress.l2_length());
    const esp::FlowKey key = esp::flow_key(ip[0] >> 4 == 4 ? Family::kIpv4 : Family::kIpv6, ip,
                                           packet->data_len - answers_[i].ingress.l2_length());
    const esp::Policy* policy = options_.tables.out->find(key, 0);
    if (policy != nullptr && policy->action != PolicyAction::kBypass) {
      chunk.refuse(packet, Reason::kTunnelTooBig, answers_[i].ingress.interface());
      continue;
    }
    const auto put = [&](auto& lane, const auto& fib) {
      auto& destination = lane.destinations[lane.count];
      std::memcpy(&destination, ipsec_wire::destination(lane, ip), sizeof destination);
      if constexpr (sizeof destination == 4) destination = __builtin_bswap32(destination);
      lookup_batch(fib, &destination, &lane.groups[lane.count], 1);
      lane.packets[lane.count] = packet;
      lane.ingress[lane.count++] = answers_[i].ingress;
    };
    if (ip[0] >> 4 == 4)
      put(chunk.v4, tables.fib4);
    else
      put(chunk.v6, tables.fib6);
  }
  answer_count_ = 0;
}

}  // namespace hecto::router
