// decap: ESP that is for us comes out of its lanes and goes back as what was inside.
#include <fmt/format.h>

#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/ipsec.hpp"
#include "router/dataplane/stages/ipsec_wire.hpp"
#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sad.hpp"

namespace hecto::router {

using esp::Packet;

Result<SaMark> register_sa_mark() {
  static constexpr rte_mbuf_dynfield kField = {"hecto_sa", sizeof(void*), alignof(void*), 0};
  static constexpr rte_mbuf_dynflag kFlag = {"hecto_by_sa", 0};
  const int offset = rte_mbuf_dynfield_register(&kField);
  const int bit = rte_mbuf_dynflag_register(&kFlag);
  if (offset < 0 || bit < 0)
    return fail(fmt::format("ipsec: no room in DPDK's mbufs: {}", dpdk_error(rte_errno)));
  return SaMark{offset, uint64_t{1} << bit};
}

IpsecStages::IpsecStages(const Options& options, std::unique_ptr<esp::Engine> engine,
                         EspOffload* device)
    : options_(options), engine_(std::move(engine)), device_(device) {
  if (device_ != nullptr) waiting_ = std::make_unique<Waiting>();
}

Result<std::unique_ptr<IpsecStages>> IpsecStages::create(const Options& options,
                                                         EspOffload* device) {
  auto engine = esp::Engine::create(options.crypto);
  if (!engine) return tl::unexpected(engine.error());
  return std::unique_ptr<IpsecStages>(new IpsecStages(options, std::move(*engine), device));
}

// What an observer is told of one, at any moment between add() and delivery.
Observer::SaPacket IpsecStages::seen(unsigned i, const Packet& p, const EspFrame& frame) noexcept {
  return {i, frame.packet, p.ip, p.bytes, frame.ingress.interface(), p.sa->id.spi};
}

void IpsecStages::add(rte_mbuf* packet, Ingress ingress, esp::Sa* sa) noexcept {
  constexpr unsigned kMostL2 = kEthernetBytes + kVlanTagBytes;  // that comes before what goes out
  const unsigned i = count_++;
  const unsigned l2 = ingress.l2_length();
  const unsigned before = packet->data_off + l2;
  packets_[i] = {rte_pktmbuf_mtod(packet, uint8_t*) + l2,
                 packet->data_len - l2,
                 static_cast<uint16_t>(before > kMostL2 ? before - kMostL2 : 0),
                 rte_pktmbuf_tailroom(packet),
                 sa,
                 Reason::kNone};
  work_[i].packet = packet;
  work_[i].ingress = ingress;
}

// A fragment of ESP to one of our addresses goes where fragments are put together. What is whole by
// it takes its place, else the lane closes up. False: it is not for us.
template <typename Address, typename Fib>
bool IpsecStages::join(Lane<Address>& lane, unsigned i, const Fib& fib,
                       const lookup::NextHopView& hops, ReasonCounters& reasons) noexcept {
  lookup::GroupId group;
  lookup_batch(fib, &lane.destinations[i], &group, 1);
  if (hops.record(group).own == 0) return false;
  const unsigned l2 = lane.ingress[i].l2_length();
  lane.packets[i] = sizeof(Address) == 4 ? reassembly_.take4(lane.packets[i], l2, reasons)
                                         : reassembly_.take6(lane.packets[i], l2, reasons);
  if (lane.packets[i] != nullptr) return true;
  --lane.count;
  for (unsigned n = i; n < lane.count; ++n) {
    lane.packets[n] = lane.packets[n + 1];
    lane.destinations[n] = lane.destinations[n + 1];
    lane.ingress[n] = lane.ingress[n + 1];
  }
  return true;
}

// Takes out of the lane what an SA answers for; the others close up.
template <typename Address, typename Fib>
void IpsecStages::gather_esp(Lane<Address>& lane, Chunk& chunk, const Fib& fib,
                             const lookup::NextHopView& hops, ReasonCounters& reasons) noexcept {
  esp::SadKey keys[kChunkSize];
  uint16_t places[kChunkSize];
  unsigned candidates = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    const unsigned l2 = lane.ingress[i].l2_length();
    const auto* ip = rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2);
    const ipsec_wire::Payload payload =
        ipsec_wire::payload(lane, ip, lane.packets[i]->data_len - l2);
    if (payload.fragment && payload.protocol == ipsec_wire::kProtocolEsp &&
        join(lane, i, fib, hops, reasons)) [[unlikely]] {
      --i;  // another packet is there now
      continue;
    }
    const uint32_t spi = ipsec_wire::spi(payload);
    keys[candidates] = {spi, ipsec_wire::family(lane), ipsec_wire::destination(lane, ip)};
    places[candidates] = static_cast<uint16_t>(i);
    candidates += spi != 0;
  }
  if (candidates == 0) return;
  esp::Sa* found[kChunkSize];
  options_.tables.sad->find_batch({keys, candidates}, found);
  unsigned kept = places[0], next = 0;
  for (unsigned i = places[0]; i < lane.count; ++i) {
    rte_mbuf* packet = lane.packets[i];
    esp::Sa* sa = nullptr;
    if (next < candidates && places[next] == i) sa = found[next++];
    if (sa == nullptr) {
      lane.packets[kept] = packet;
      lane.destinations[kept] = lane.destinations[i];
      lane.ingress[kept++] = lane.ingress[i];
    } else if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) {
      chunk.refuse(packet, Reason::kEspNoRoom, lane.ingress[i].interface());
    } else {
      std::memcpy(work_[count_].l2, rte_pktmbuf_mtod(packet, const uint8_t*),
                  lane.ingress[i].l2_length());
      add(packet, lane.ingress[i], sa);
    }
  }
  lane.count = kept;
}

// What was inside, behind the frame's own header: it came in by that interface, in that frame.
// False: it is refused.
bool IpsecStages::deliver_inner(const Packet& inner, const EspFrame& frame, Chunk& chunk,
                                const PortView& port, const Snapshot& snapshot) noexcept {
  rte_mbuf* packet = frame.packet;
  if (inner.reason != Reason::kNone) {
    if (inner.sa != nullptr) inner.sa->count_drop(inner.reason);
    chunk.refuse(packet, inner.reason, frame.ingress.interface());
    return false;
  }
  const unsigned l2 = frame.ingress.l2_length();
  uint8_t* ether = inner.ip - l2;
  std::memcpy(ether, frame.l2, l2);
  const uint16_t type = inner.ip[0] >> 4 == 4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(inner.ip - 2, &type, sizeof type);
  packet->data_off = static_cast<uint16_t>(ether - static_cast<uint8_t*>(packet->buf_addr));
  packet->data_len = static_cast<uint16_t>(inner.bytes + l2);
  packet->pkt_len = packet->data_len;
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};
  packet->ol_flags |= options_.mark.flag;
  sa_of(packet) = inner.sa;
  classify_again(chunk, packet, frame.ingress, port, snapshot);
  return true;
}

bool IpsecStages::decap(Chunk& chunk, const PortView& port, const TableViews& tables,
                        const Snapshot& snapshot, ReasonCounters& reasons,
                        Observer* observer) noexcept {
  if (port.opens_esp) [[unlikely]]
    decap_opened(chunk, port, snapshot, observer);
  count_ = 0;
  gather_esp(chunk.v4, chunk, tables.fib4, tables.next_hops, reasons);
  gather_esp(chunk.v6, chunk, tables.fib6, tables.next_hops, reasons);
  if (count_ == 0) return true;
  if (observer != nullptr) [[unlikely]]
    for (unsigned i = 0; i < count_; ++i) observer->before_decap(seen(i, packets_[i], work_[i]));
  if (device_ != nullptr) return decap_beside_device(chunk, port, snapshot, observer);
  engine_->inbound({packets_, count_}, now_s());
  for (unsigned i = 0; i < count_; ++i) {
    const bool whole = deliver_inner(packets_[i], work_[i], chunk, port, snapshot);
    if (whole && observer != nullptr) [[unlikely]]
      observer->decapsulated(seen(i, packets_[i], work_[i]));
  }
  return true;
}

}  // namespace hecto::router
