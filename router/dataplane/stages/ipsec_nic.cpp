// decap and encap of what a port's NIC does: cipher and ICV, before a packet is ours and after it
// has left. See router/dataplane/nic_crypto/README.md.
#include "router/dataplane/nic_crypto/security.hpp"
#include "router/dataplane/stages/ipsec.hpp"
#include "router/dataplane/stages/ipsec_wire.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sad.hpp"

namespace hecto::router {

using esp::Packet;
using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

// Packets that stand together and are of one SA cost one atomic addition.
void count_for(std::span<const esp::Work> work) noexcept {
  for (size_t i = 0, n = 0; i < work.size(); i += n) {
    esp::Sa* sa = work[i].sa;
    for (n = 1; i + n < work.size() && work[i + n].sa == sa;) ++n;
    NicSa* nic = sa->nic.load(std::memory_order_acquire);
    if (nic != nullptr) nic->packets.fetch_add(n, std::memory_order_relaxed);
  }
}

const NicSession* session_of(const esp::Sa& sa, const NextHopRecord& way) noexcept {
  const NicSa* nic = sa.nic.load(std::memory_order_acquire);
  if (nic == nullptr || way.kind != RecordKind::kForward || way.port >= kMaxPorts) return nullptr;
  return nic->seals[way.port].load(std::memory_order_acquire);
}

}  // namespace

// Whether the port's NIC opened the packet with a session of that SA. One of an SA that had the SPI
// before vouches for nothing.
Reason IpsecStages::vouched(const rte_mbuf* packet, esp::Sa* sa) const noexcept {
  if (sa == nullptr) return Reason::kEspUnknownSpi;
  const NicSa* nic = sa->nic.load(std::memory_order_acquire);
  if (nic != nullptr && nic->opened_by(packet->port)) return Reason::kNone;
  sa->count_drop(Reason::kEspBadIcv);
  return Reason::kEspBadIcv;
}

// All that the NIC has opened leaves the lane: what is not ESP of an SA that this NIC has is
// refused, for its bytes are not those of the wire.
template <typename Address>
void IpsecStages::gather_opened(Lane<Address>& lane, Chunk& chunk) noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    if ((packet->ol_flags & RTE_MBUF_F_RX_SEC_OFFLOAD) == 0) {
      lane.packets[kept] = packet;
      lane.destinations[kept] = lane.destinations[i];
      lane.ingress[kept++] = lane.ingress[i];
      continue;
    }
    const unsigned l2 = lane.ingress[i].l2_length();
    const auto* ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
    const uint32_t spi = ipsec_wire::spi(ipsec_wire::payload(lane, ip, packet->data_len - l2));
    esp::Sa* sa = nullptr;
    Reason reason = Reason::kEspMalformed;
    if (spi != 0) {
      sa = options_.tables.sad->find(spi, ipsec_wire::family(lane),
                                     ipsec_wire::destination(lane, ip));
      reason = vouched(packet, sa);
    }
    if (reason == Reason::kNone && packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0)
      reason = Reason::kEspNoRoom;
    if (reason != Reason::kNone) {
      chunk.refuse(packet, reason, lane.ingress[i].interface());
      continue;
    }
    std::memcpy(work_[count_].l2, rte_pktmbuf_mtod(packet, const uint8_t*), l2);
    add(packet, lane.ingress[i], sa);
  }
  lane.count = kept;
}

void IpsecStages::decap_opened(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                               Observer* observer) noexcept {
  // Linux would take its bytes for those of the wire.
  for (Refused& refused : std::span(chunk.refused, chunk.refused_count))
    if ((refused.packet->ol_flags & RTE_MBUF_F_RX_SEC_OFFLOAD) != 0 && info(refused.reason).punt)
      refused.reason = Reason::kEspMalformed;
  count_ = 0;
  gather_opened(chunk.v4, chunk);
  gather_opened(chunk.v6, chunk);
  if (count_ == 0) return;
  if (observer != nullptr)
    for (unsigned i = 0; i < count_; ++i) observer->before_decap(seen(i, packets_[i], work_[i]));
  const std::span<esp::Work> work = engine_->check({packets_, count_}, by_nic_->work);
  for (esp::Work& opened : work) {
    rte_mbuf* packet = work_[opened.packet - packets_].packet;
    opened.failed = (packet->ol_flags & RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED) != 0;
  }
  esp::Engine::accept(work, now_s());
  count_for(work);
  constexpr uint64_t kOfNic = RTE_MBUF_F_RX_SEC_OFFLOAD | RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
  for (unsigned i = 0; i < count_; ++i) {
    work_[i].packet->ol_flags &= ~kOfNic;
    const bool whole = deliver_inner(packets_[i], work_[i], chunk, port, snapshot);
    if (whole && observer != nullptr) observer->decapsulated(seen(i, packets_[i], work_[i]));
  }
}

// Takes out of the batch what a NIC seals: how many. The record is read here for the last time:
// whatever control makes of its group meanwhile, port, session and header are of one way. What it
// would refuse stays, and is refused by rewrite.
unsigned IpsecStages::choose_nic(Chunk& chunk, const TableViews& tables) noexcept {
  ByNic& by_nic = *by_nic_;
  unsigned kept = 0, count = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const Packet& p = packets_[i];
    const NextHopRecord& way = tables.next_hops.record(work_[i].group);
    const NicSession* session = session_of(*p.sa, way);
    bool fits = session != nullptr && p.sa->outer_bytes(p.bytes) <= way.mtu;
    // The hop that rewrite would take of a header that stays in front.
    if (fits && p.sa->mode == IpsecMode::kTransport)
      fits = p.ip[0] >> 4 == 4 ? rewrite_detail::hop(chunk.v4, p.ip)
                               : rewrite_detail::hop(chunk.v6, p.ip);
    if (!fits) {
      packets_[kept] = p;
      work_[kept++] = work_[i];
      continue;
    }
    by_nic.packets[count] = p;
    by_nic.frames[count] = work_[i];
    by_nic.ways[count] = &way;
    by_nic.sessions[count++] = session;
  }
  count_ = kept;
  return count;
}

// The frame as it goes to the queue, but for what the NIC does. False: the driver did not take it.
bool IpsecStages::give_to_nic(esp::Work& work, unsigned i) noexcept {
  const NextHopRecord& way = *by_nic_->ways[i];
  const Packet& outer = by_nic_->packets[i];
  rte_mbuf* packet = by_nic_->frames[i].packet;
  const unsigned l2 = way.header_length;
  uint8_t* frame = outer.ip - l2;
  std::memcpy(frame, way.header, l2);
  packet->data_off = static_cast<uint16_t>(frame - static_cast<uint8_t*>(packet->buf_addr));
  packet->data_len = static_cast<uint16_t>(outer.bytes + l2);
  packet->pkt_len = packet->data_len;
  packet->tx_offload = 0;
  packet->l2_len = l2;
  packet->l3_len = static_cast<unsigned>(work.esp - outer.ip);  // UDP with it, as librte_ipsec does
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};        // the inner packet's
  packet->ol_flags |=
      RTE_MBUF_F_TX_SEC_OFFLOAD | (outer.ip[0] >> 4 == 4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
  return set_metadata(*by_nic_->sessions[i], packet, work.number);
}

void IpsecStages::encap_for_nics(Chunk& chunk, const TableViews& tables) noexcept {
  ByNic& by_nic = *by_nic_;
  const unsigned count = choose_nic(chunk, tables);
  if (count == 0) return;
  // Nobody takes a hop of these any more.
  const std::span<esp::Work> work =
      engine_->write({by_nic.packets, count}, now_s(), kOuterHops - 1, by_nic.work);
  for (esp::Work& written : work)
    written.failed = !give_to_nic(written, static_cast<unsigned>(written.packet - by_nic.packets));
  esp::Engine::finish(work);
  count_for(work);
  for (unsigned i = 0; i < count; ++i) {
    const Packet& outer = by_nic.packets[i];
    if (outer.reason == Reason::kNone)
      by_nic.leaving[by_nic.leaving_count++] = {by_nic.frames[i].packet, by_nic.ways[i]};
    else
      deliver_outer(outer, by_nic.frames[i], chunk);
  }
}

void IpsecStages::leave_by_nic(Transmitter& transmitter, const Snapshot& snapshot,
                               std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept {
  ByNic& by_nic = *by_nic_;
  for (unsigned i = 0; i < by_nic.leaving_count; ++i) {
    const auto& [packet, way] = by_nic.leaving[i];
    if (snapshot.interfaces[way->interface].counters) {
      interfaces[way->interface].tx_packets.add(1);
      interfaces[way->interface].tx_bytes.add(packet->pkt_len - way->header_length);
    }
    transmitter.enqueue(way->port, packet);
  }
  by_nic.leaving_count = 0;
}

}  // namespace hecto::router
