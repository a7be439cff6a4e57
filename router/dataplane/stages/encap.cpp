#include "router/dataplane/stages/encap.hpp"

#include <algorithm>

#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/fragment.hpp"
#include "router/dataplane/stages/policy_verdict.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"
#include "router/ipsec/esp/spd.hpp"

namespace hecto::router {

using lookup::Family;
using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

const NextHopRecord& first_next_hop(const lookup::NextHopView& next_hops,
                                    lookup::GroupId group) noexcept {
  const NextHopRecord& record = next_hops.record(group);
  return record.kind == RecordKind::kMultipath ? next_hops.member(record, 0) : record;
}

// Of the port, and of the path as far as it has been heard of.
uint32_t outer_mtu_of(const esp::Sa& sa, const NextHopRecord& next_hop, uint32_t now_s) noexcept {
  const uint32_t path_mtu = sa.path_mtu(now_s);
  return path_mtu == 0 ? next_hop.mtu : std::min<uint32_t>(next_hop.mtu, path_mtu);
}

// To a packet of our own that keeps its header, for rewrite takes one.
void increment_ttl(uint8_t* ip, bool v4) noexcept {
  uint8_t& ttl = ip[v4 ? 8 : 7];
  if (ttl == 255) return;
  ++ttl;
  if (!v4) return;
  std::memset(ip + 10, 0, 2);
  const uint16_t sum = rte_ipv4_cksum(reinterpret_cast<const rte_ipv4_hdr*>(ip));
  std::memcpy(ip + 10, &sum, sizeof sum);
}

}  // namespace

bool Encap::run(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                Observer* observer) noexcept {
  if (batch_.count == 0) return true;
  prepare(chunk, tables, snapshot, PacketSource::kPort, observer);
  if (snapshot.seals_esp && observer == nullptr) [[unlikely]]
    inline_encrypt_.take(batch_, chunk, tables.next_hops);
  if (device_ != nullptr) return start_beside_device(chunk, observer);
  run_here(chunk, observer);
  return true;
}

void Encap::run_from_linux(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                           Observer* observer) noexcept {
  if (batch_.count == 0) return;
  prepare(chunk, tables, snapshot, PacketSource::kLinux, observer);
  run_here(chunk, observer);
}

void Encap::prepare(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                    PacketSource source, Observer* observer) noexcept {
  answers_.use(snapshot, tables, kAnswersOfASource, IcmpAnswers::Others::kAnswered);
  const VrfTables by_vrf(tables, snapshot.rules.get());
  if (by_vrf.all_main()) [[likely]]
    look_up_tunnel_ends(tables);
  else
    look_up_tunnel_ends(by_vrf, source);
  unsigned kept = 0;
  for (unsigned i = 0; i < batch_.count; ++i) {
    if (!prepare_one(i, chunk, by_vrf, source)) continue;
    // Not onto itself: a copy would wait for the small stores that it was made of.
    if (kept != i) [[unlikely]] {
      batch_.packets[kept] = batch_.packets[i];
      batch_.frames[kept] = batch_.frames[i];
    }
    ++kept;
  }
  batch_.count = kept;
  if (observer != nullptr) [[unlikely]]
    for (unsigned i = 0; i < batch_.count; ++i) observer->before_encap(batch_.observed(i));
}

// One batch per family: where each packet will go once it is protected. Packets of one SA in a row
// ask once.
void Encap::look_up_tunnel_ends(const TableViews& tables) noexcept {
  alignas(64) uint32_t ends4[kChunkSize];
  // As bytes, for an array of addresses is zeroed: 4 KiB a chunk.
  alignas(64) std::byte ends6_bytes[kChunkSize * sizeof(lookup::Ipv6Address)];
  auto* const ends6 = reinterpret_cast<lookup::Ipv6Address*>(ends6_bytes);
  alignas(64) lookup::GroupId groups4[kChunkSize], groups6[kChunkSize];
  const lookup::GroupId* answers[kChunkSize];  // in groups4 or groups6, by packet
  unsigned count4 = 0, count6 = 0;
  const esp::Sa* last = nullptr;
  for (unsigned i = 0; i < batch_.count; ++i) {
    const esp::Sa* sa = batch_.packets[i].sa;
    if (sa == last) {
      answers[i] = answers[i - 1];
      continue;
    }
    last = sa;
    const IpAddress& end = sa->id.destination;
    if (end.family == Family::kIpv4) {
      answers[i] = &groups4[count4];
      ends4[count4++] = load32_be(end.bytes.data());
    } else {
      answers[i] = &groups6[count6];
      std::memcpy(&ends6[count6++], end.bytes.data(), 16);
    }
  }
  if (count4 > 0) lookup_batch(tables.fib4, ends4, groups4, count4);
  if (count6 > 0) lookup_batch(tables.fib6, ends6, groups6, count6);
  for (unsigned i = 0; i < batch_.count; ++i) batch_.frames[i].group = *answers[i];
}

// The same with VRFs, one by one: packets of an SA may have come from several.
void Encap::look_up_tunnel_ends(const VrfTables& tables, PacketSource source) noexcept {
  const esp::Sa* last = nullptr;
  InterfaceId last_by = kNoInterface;
  for (unsigned i = 0; i < batch_.count; ++i) {
    EspFrame& frame = batch_.frames[i];
    InterfaceId by = frame.ingress.interface();  // of what Linux sends: where it is to leave
    if (source == PacketSource::kPort)
      by = tables.way_out(tables.all().next_hops.record(frame.route), by);
    const esp::Sa* const sa = batch_.packets[i].sa;
    if (sa == last && by == last_by) {
      frame.group = batch_.frames[i - 1].group;
      continue;
    }
    last = sa;
    last_by = by;
    const IpAddress& end = sa->id.destination;
    if (end.family == Family::kIpv4) {
      frame.group = tables.group(by, load32_be(end.bytes.data()));
    } else {
      lookup::Ipv6Address address;
      std::memcpy(&address, end.bytes.data(), sizeof address);
      frame.group = tables.group(by, address);
    }
  }
}

// Why it cannot be protected now. Where the end's neighbor is not resolved Linux gets the packet as
// it came, if it sends it on by a port of ours: it comes back here. By any other way it would leave
// in clear.
Reason Encap::reason_without_next_hop(const NextHopRecord& next_hop,
                                      const NextHopRecord& route) noexcept {
  const auto reason = static_cast<Reason>(next_hop.reason);
  if (next_hop.kind == RecordKind::kDrop) return reason;
  const bool comes_back = goes(route) == Goes::kOn && route.kind != RecordKind::kMultipath;
  return reason == Reason::kGlean && comes_back ? reason : Reason::kTunnelUnreachable;
}

Reason Encap::reason_without_next_hop(unsigned i, const NextHopRecord& next_hop,
                                      const VrfTables& tables, PacketSource source) const noexcept {
  const EspFrame& frame = batch_.frames[i];
  if (source == PacketSource::kPort)
    return reason_without_next_hop(next_hop, tables.all().next_hops.record(frame.route));
  const uint8_t* const ip = batch_.packets[i].ip;
  const bool v4 = ip[0] >> 4 == 4;
  const Family family = v4 ? Family::kIpv4 : Family::kIpv6;
  return reason_without_next_hop(
      next_hop, tables.record(frame.ingress.interface(), family, ip + (v4 ? 16 : 24)));
}

Encap::Fit Encap::fit_of(const esp::Packet& packet, const NextHopRecord& next_hop,
                         uint32_t now_s) noexcept {
  return fit_of(packet, outer_mtu_of(*packet.sa, next_hop, now_s));
}

Encap::Fit Encap::fit_of(const esp::Packet& packet, uint32_t outer_mtu) noexcept {
  if (packet.sa->outer_bytes(packet.bytes) <= outer_mtu) return {};
  const bool whole = packet.ip[0] >> 4 != 4 || (packet.ip[6] & 0x40) != 0;  // must not be cut
  return {false, !whole, packet.sa->inner_mtu(outer_mtu)};
}

// Whether the packet can be protected now; else it has been refused or answered.
bool Encap::prepare_one(unsigned i, Chunk& chunk, const VrfTables& tables,
                        PacketSource source) noexcept {
  const esp::Packet& p = batch_.packets[i];
  rte_mbuf* packet = batch_.frames[i].packet;
  const InterfaceId interface = batch_.frames[i].ingress.interface();
  const bool v4 = p.ip[0] >> 4 == 4;
  const NextHopRecord& next_hop = first_next_hop(tables.all().next_hops, batch_.frames[i].group);
  if (next_hop.kind != RecordKind::kForward) {
    chunk.refuse(packet, reason_without_next_hop(i, next_hop, tables, source), interface);
    return false;
  }
  const bool tunnel = p.sa->shape().tunnel;
  const bool hops = tunnel && source == PacketSource::kPort;
  if (hops && p.ip[v4 ? 8 : 7] <= 1) [[unlikely]] {
    chunk.refuse(packet, Reason::kTtlExpired, interface);
    return false;
  }
  const uint32_t outer_mtu = outer_mtu_of(*p.sa, next_hop, state_.now_s());
  if (p.sa->outer_bytes(p.bytes) > outer_mtu) [[unlikely]] {
    if (!cut_or_answer(i, outer_mtu, chunk)) return false;
    return prepare_one(i, chunk, tables, source);
  }
  if (hops && v4)
    rewrite_detail::decrement_ttl(chunk.v4, p.ip);
  else if (hops)
    rewrite_detail::decrement_ttl(chunk.v6, p.ip);
  else if (source == PacketSource::kLinux && !tunnel)
    increment_ttl(p.ip, v4);
  return true;
}

// A packet that does not fit. True: it has been cut, and what is left of it may go on.
bool Encap::cut_or_answer(unsigned i, uint32_t outer_mtu, Chunk& chunk) noexcept {
  const Fit fit = fit_of(batch_.packets[i], outer_mtu);
  if (fit.may_be_cut && fit.mtu >= kLeastCutMtu && fragment(i, fit.mtu, chunk)) return true;
  const EspFrame& frame = batch_.frames[i];
  if (fit.may_be_cut || !answers_.add(frame.packet, frame.ingress, fit.mtu))
    chunk.refuse(frame.packet, Reason::kTunnelTooBig, frame.ingress.interface());
  return false;
}

// An IPv4 packet that may be cut: it becomes its own first fragment, those behind it go to the end
// of the batch. False: there is no room, or not in one mbuf each, and it is not to go on.
bool Encap::fragment(unsigned i, uint32_t mtu, const Chunk& chunk) noexcept {
  constexpr unsigned kMostForTunnel = 8;
  const Ingress ingress = batch_.frames[i].ingress;
  const unsigned used =
      batch_.count + chunk.v4.count + chunk.v6.count + chunk.refused_count + answers_.count();
  rte_mbuf* fragments[kMostForTunnel];
  const unsigned room = used >= kChunkSize ? 0 : std::min(kMostForTunnel, kChunkSize - used);
  rte_mbuf* packet = batch_.frames[i].packet;
  const unsigned count = fragment_ipv4(packet, ingress.l2_length(), mtu, 0, {fragments, room});
  if (count == 0) return false;
  const auto in_parts = [](const rte_mbuf* piece) { return piece->nb_segs > 1; };
  if (in_parts(packet) || std::any_of(fragments, fragments + count, in_parts)) [[unlikely]] {
    rte_pktmbuf_free_bulk(fragments, count);
    return false;
  }
  for (unsigned n = 0; n < count; ++n) {
    batch_.frames[batch_.count].group = batch_.frames[i].group;
    batch_.frames[batch_.count].route = batch_.frames[i].route;
    batch_.add(fragments[n], ingress, batch_.packets[i].sa);
  }
  batch_.packets[i].tailroom = rte_pktmbuf_tailroom(packet);
  batch_.packets[i].bytes = packet->data_len - ingress.l2_length();
  fragments_made_.store(fragments_made() + count, std::memory_order_relaxed);
  return true;
}

// ---- The crypto, and what comes of it ----

void Encap::run_here(Chunk& chunk, Observer* observer) noexcept {
  state_.engine->outbound(batch_.all(), state_.now_s(), kOuterHops);
  if (observer == nullptr) [[likely]]
    for (unsigned i = 0; i < batch_.count; ++i) deliver(batch_.packets[i], batch_.frames[i], chunk);
  else
    for (unsigned i = 0; i < batch_.count; ++i) deliver_and_show(i, chunk, observer);
  deliver_answers(chunk);
}

bool Encap::start_beside_device(Chunk& chunk, Observer* observer) noexcept {
  const auto work = state_.engine->write(batch_.all(), state_.now_s(), kOuterHops, device_->work());
  for (unsigned i = 0; i < batch_.count; ++i)
    if (batch_.packets[i].reason != Reason::kNone)
      deliver(batch_.packets[i], batch_.frames[i], chunk);
  device_->begin(work, batch_.packets, batch_.frames, observer != nullptr);
  return resume(chunk, observer);
}

bool Encap::resume(Chunk& chunk, Observer* observer) noexcept {
  if (!device_->take()) return false;
  const std::span<esp::Work> here = device_->here();
  const uint64_t start = device_->now();
  state_.engine->seal(here);
  device_->took_here(device_->now() - start);
  esp::Engine::finish(here);
  for (const esp::Work& work : here)
    deliver_and_show(static_cast<unsigned>(work.packet - batch_.packets), chunk, observer);
  deliver_answers(chunk);
  return true;
}

// Back into the lanes, with the groups of the tunnels' ends. False: it is refused.
bool Encap::deliver(const esp::Packet& outer, const EspFrame& frame, Chunk& chunk) noexcept {
  rte_mbuf* packet = frame.packet;
  if (outer.reason != Reason::kNone) {
    outer.sa->count_drop(outer.reason);
    chunk.refuse(packet, outer.reason, frame.ingress.interface());
    return false;
  }
  uint8_t* ether = outer.ip - kEthernetBytes;
  packet->data_off = static_cast<uint16_t>(ether - static_cast<uint8_t*>(packet->buf_addr));
  packet->data_len = static_cast<uint16_t>(outer.bytes + kEthernetBytes);
  packet->pkt_len = packet->data_len;
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};  // the inner packet's
  const bool v4 = outer.ip[0] >> 4 == 4;
  const uint16_t type = v4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(outer.ip - 2, &type, sizeof type);
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

void Encap::deliver_and_show(unsigned i, Chunk& chunk, Observer* observer) noexcept {
  const bool whole = deliver(batch_.packets[i], batch_.frames[i], chunk);
  if (whole && observer != nullptr) [[unlikely]]
    observer->encapsulated(batch_.observed(i));
}

void Encap::deliver_encrypted(std::span<esp::Work> work, const EspFrame* frames,
                              Chunk& chunk) noexcept {
  esp::Engine::finish(work);
  for (size_t i = 0; i < work.size(); ++i) deliver(*work[i].packet, frames[i], chunk);
}

// Answers to senders inside. One that a policy would protect or drop is not sent: its sender is behind
// a tunnel itself.
void Encap::deliver_answers(Chunk& chunk) noexcept {
  answers_.deliver(chunk, [&](rte_mbuf* packet, Ingress ingress) {
    const unsigned l2 = ingress.l2_length();
    const auto* ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
    const Family family = ip[0] >> 4 == 4 ? Family::kIpv4 : Family::kIpv6;
    const esp::FlowKey key = esp::flow_key(family, ip, packet->data_len - l2);
    const esp::Policy* policy = state_.tables.out->find(key, 0);
    if (policy == nullptr || policy->action == PolicyAction::kBypass) return true;
    chunk.refuse(packet, Reason::kTunnelTooBig, ingress.interface());
    return false;
  });
}

}  // namespace hecto::router
