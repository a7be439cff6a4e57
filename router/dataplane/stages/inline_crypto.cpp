#include "router/dataplane/stages/inline_crypto.hpp"

#include "router/dataplane/nic_crypto/security.hpp"
#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/ipsec/esp/sad.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

// Packets that stand together and are of one SA cost one atomic addition.
void count_packets(std::span<const esp::Work> work) noexcept {
  for (size_t i = 0, n = 0; i < work.size(); i += n) {
    esp::Sa* sa = work[i].sa;
    for (n = 1; i + n < work.size() && work[i + n].sa == sa;) ++n;
    NicSa* nic = sa->nic.load(std::memory_order_acquire);
    if (nic != nullptr) nic->packets.fetch_add(n, std::memory_order_relaxed);
  }
}

// Whether the port's NIC decrypted the packet with a session of that SA. A session of an SA that
// had the SPI before is no proof.
Reason check_session(const rte_mbuf* packet, esp::Sa* sa) noexcept {
  if (sa == nullptr) return Reason::kEspUnknownSpi;
  const NicSa* nic = sa->nic.load(std::memory_order_acquire);
  if (nic != nullptr && nic->opened_by(PortId(packet->port))) return Reason::kNone;
  sa->count_drop(Reason::kEspBadIcv);
  return Reason::kEspBadIcv;
}

const NicSession* session_of(const esp::Sa& sa, const NextHopRecord& next_hop) noexcept {
  const NicSa* nic = sa.nic.load(std::memory_order_acquire);
  if (nic == nullptr || next_hop.kind != RecordKind::kForward || next_hop.port >= kMaxPorts)
    return nullptr;
  return nic->seals[next_hop.port].load(std::memory_order_acquire);
}

}  // namespace

template <typename Address>
void InlineDecrypt::gather(Lane<Address>& lane, Chunk& chunk, EspBatch& batch) noexcept {
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
    const Spi spi = esp_parse::spi(esp_parse::payload(lane, ip, packet->data_len - l2));
    esp::Sa* sa = nullptr;
    Reason reason = Reason::kEspMalformed;
    if (spi != 0) {
      sa = state_.tables.sad->find(spi, esp_parse::family(lane), esp_parse::destination(lane, ip));
      reason = check_session(packet, sa);
    }
    if (reason == Reason::kNone && packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0)
      reason = Reason::kEspNoRoom;
    if (reason != Reason::kNone) {
      chunk.refuse(packet, reason, lane.ingress[i].interface());
      continue;
    }
    batch.frames[batch.count].keep_l2(rte_pktmbuf_mtod(packet, const uint8_t*), l2);
    batch.add(packet, lane.ingress[i], sa);
  }
  lane.count = kept;
}

void InlineDecrypt::gather(Chunk& chunk, EspBatch& batch) noexcept {
  // Linux would take its bytes for those of the wire.
  for (Refused& refused : std::span(chunk.refused, chunk.refused_count))
    if ((refused.packet->ol_flags & RTE_MBUF_F_RX_SEC_OFFLOAD) != 0 && info(refused.reason).punt)
      refused.reason = Reason::kEspMalformed;
  batch.count = 0;
  gather(chunk.v4, chunk, batch);
  gather(chunk.v6, chunk, batch);
}

void InlineDecrypt::accept(EspBatch& batch) noexcept {
  const std::span<esp::Work> work = state_.engine->check(batch.all(), work_->data());
  for (esp::Work& decrypted : work) {
    const rte_mbuf* packet = batch.frames[decrypted.packet - batch.packets].packet;
    decrypted.failed = (packet->ol_flags & RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED) != 0;
  }
  esp::Engine::accept(work, state_.now_s());
  count_packets(work);
  constexpr uint64_t kOfNic = RTE_MBUF_F_RX_SEC_OFFLOAD | RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
  for (unsigned i = 0; i < batch.count; ++i) batch.frames[i].packet->ol_flags &= ~kOfNic;
}

// The record is read here for the last time: whatever control makes of its group meanwhile, port,
// session and header are of one next hop. What it would refuse stays, and is refused by rewrite.
void InlineEncrypt::choose(EspBatch& batch, Chunk& chunk,
                           const lookup::NextHopView& next_hops) noexcept {
  EspBatch& chosen = packets_->batch;
  chosen.count = 0;
  unsigned kept = 0;
  for (unsigned i = 0; i < batch.count; ++i) {
    const esp::Packet& p = batch.packets[i];
    const NextHopRecord& next_hop = next_hops.record(batch.frames[i].group);
    const NicSession* session = session_of(*p.sa, next_hop);
    bool fits = session != nullptr && p.sa->outer_bytes(p.bytes) <= next_hop.mtu;
    // The hop that rewrite would take of a header that stays in front.
    if (fits && p.sa->mode == IpsecMode::kTransport)
      fits = p.ip[0] >> 4 == 4 ? rewrite_detail::decrement_ttl(chunk.v4, p.ip)
                               : rewrite_detail::decrement_ttl(chunk.v6, p.ip);
    if (!fits) {
      batch.packets[kept] = p;
      batch.frames[kept++] = batch.frames[i];
      continue;
    }
    chosen.packets[chosen.count] = p;
    chosen.frames[chosen.count] = batch.frames[i];
    packets_->next_hops[chosen.count] = &next_hop;
    packets_->sessions[chosen.count++] = session;
  }
  batch.count = kept;
}

// The frame as it goes to the queue, but for what the NIC does. False: the driver did not take it.
bool InlineEncrypt::write_frame(esp::Work& work, unsigned i) noexcept {
  const NextHopRecord& next_hop = *packets_->next_hops[i];
  const esp::Packet& outer = packets_->batch.packets[i];
  rte_mbuf* packet = packets_->batch.frames[i].packet;
  const unsigned l2 = next_hop.header_length;
  uint8_t* frame = outer.ip - l2;
  std::memcpy(frame, next_hop.header, l2);
  packet->data_off = static_cast<uint16_t>(frame - static_cast<uint8_t*>(packet->buf_addr));
  packet->data_len = static_cast<uint16_t>(outer.bytes + l2);
  packet->pkt_len = packet->data_len;
  packet->tx_offload = 0;
  packet->l2_len = l2;
  packet->l3_len = static_cast<unsigned>(work.esp - outer.ip);  // UDP with it, as librte_ipsec does
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};        // the inner packet's
  packet->ol_flags |=
      RTE_MBUF_F_TX_SEC_OFFLOAD | (outer.ip[0] >> 4 == 4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
  return set_metadata(*packets_->sessions[i], packet, work.number);
}

void InlineEncrypt::take(EspBatch& batch, Chunk& chunk,
                         const lookup::NextHopView& next_hops) noexcept {
  constexpr uint8_t kOuterHops = 64;  // nobody takes a hop of these any more
  choose(batch, chunk, next_hops);
  EspBatch& chosen = packets_->batch;
  if (chosen.count == 0) return;
  const std::span<esp::Work> work =
      state_.engine->write(chosen.all(), state_.now_s(), kOuterHops, packets_->work);
  for (esp::Work& written : work)
    written.failed = !write_frame(written, static_cast<unsigned>(written.packet - chosen.packets));
  esp::Engine::finish(work);
  count_packets(work);
  for (unsigned i = 0; i < chosen.count; ++i) {
    const esp::Packet& outer = chosen.packets[i];
    const EspFrame& frame = chosen.frames[i];
    if (outer.reason == Reason::kNone) {
      packets_->ready[ready_count_++] = {frame.packet, packets_->next_hops[i]};
      continue;
    }
    outer.sa->count_drop(outer.reason);
    chunk.refuse(frame.packet, outer.reason, frame.ingress.interface());
  }
}

void InlineEncrypt::transmit(Transmitter& transmitter, const Snapshot& snapshot,
                             std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept {
  for (unsigned i = 0; i < ready_count_; ++i) {
    const auto& [packet, next_hop] = packets_->ready[i];
    if (snapshot.interfaces[next_hop->interface].counters) {
      interfaces[next_hop->interface].tx_packets.add(1);
      interfaces[next_hop->interface].tx_bytes.add(packet->pkt_len - next_hop->header_length);
    }
    transmitter.enqueue(PortId(next_hop->port), packet);
  }
  ready_count_ = 0;
}

}  // namespace hecto::router
