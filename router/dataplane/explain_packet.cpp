#include "router/dataplane/explain_packet.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/filter_lead.hpp"
#include "router/dataplane/stages/forwarding.hpp"
#include "router/dataplane/stages/fragment.hpp"
#include "router/dataplane/stages/link_local.hpp"
#include "router/dataplane/stages/policy_routing.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/dataplane/stages/tunnel.hpp"
#include "router/dataplane/stages/urpf.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using lookup::Family;
using lookup::IpAddress;

constexpr MacAddress kPortMac = {0x02, 0, 0, 0, 0, 0x01};
constexpr MacAddress kSenderMac = {0x02, 0, 0, 0, 0, 0x02};
constexpr uint8_t kUdp = 17;

// RFC 5737, RFC 3849: nobody's, and not the destination.
IpAddress stand_in(const IpAddress& destination) {
  const bool v4 = destination.family == Family::kIpv4;
  const auto address = [v4](const char* four, const char* six) {
    return *IpAddress::parse(v4 ? four : six);
  };
  const IpAddress first = address("192.0.2.1", "2001:db8::1");
  return first == destination ? address("192.0.2.2", "2001:db8::2") : first;
}

void put16_be(uint8_t* to, uint16_t value) {
  to[0] = static_cast<uint8_t>(value >> 8);
  to[1] = static_cast<uint8_t>(value);
}

// A frame and the mbuf that shows it; of no pool, never sent and never freed.
class ThoughtPacket {
 public:
  // `bytes`: of the IP packet.
  ThoughtPacket(const IpAddress& source, const IpAddress& destination, uint16_t bytes, uint8_t ttl)
      : bytes_(RTE_PKTMBUF_HEADROOM + kEthernetBytes + bytes) {
    uint8_t* const frame = bytes_.data() + RTE_PKTMBUF_HEADROOM;
    std::memcpy(frame, kPortMac.data(), kPortMac.size());
    std::memcpy(frame + 6, kSenderMac.data(), kSenderMac.size());
    uint8_t* const ip = frame + kEthernetBytes;
    const bool v4 = destination.family == Family::kIpv4;
    const uint16_t ether_type = v4 ? kEtherIpv4 : kEtherIpv6;
    std::memcpy(frame + 12, &ether_type, sizeof ether_type);
    const unsigned header = v4 ? write_ipv4(ip, source, destination, bytes, ttl)
                               : write_ipv6(ip, source, destination, bytes, ttl);
    put16_be(ip + header, PacketQuestion::kSourcePort);
    put16_be(ip + header + 2, PacketQuestion::kDestinationPort);
    put16_be(ip + header + 4, static_cast<uint16_t>(bytes - header));
    mbuf_->buf_addr = bytes_.data();
    mbuf_->buf_len = static_cast<uint16_t>(bytes_.size());
    mbuf_->data_off = RTE_PKTMBUF_HEADROOM;
    mbuf_->nb_segs = 1;
    rte_mbuf_refcnt_set(mbuf_.get(), 1);
    mbuf_->data_len = static_cast<uint16_t>(kEthernetBytes + bytes);
    mbuf_->pkt_len = mbuf_->data_len;
  }
  rte_mbuf* mbuf() { return mbuf_.get(); }

 private:
  static unsigned write_ipv4(uint8_t* ip, const IpAddress& from, const IpAddress& to,
                             uint16_t bytes, uint8_t ttl) {
    ip[0] = 0x45;
    put16_be(ip + 2, bytes);
    ip[8] = ttl;
    ip[9] = kUdp;
    std::memcpy(ip + 12, from.bytes.data(), 4);
    std::memcpy(ip + 16, to.bytes.data(), 4);
    uint32_t sum = 0;
    for (unsigned i = 0; i < kIpv4Bytes; i += 2) sum += load16_be(ip + i);
    while (sum > 0xffff) sum = (sum >> 16) + (sum & 0xffff);
    put16_be(ip + 10, static_cast<uint16_t>(~sum));
    return kIpv4Bytes;
  }
  static unsigned write_ipv6(uint8_t* ip, const IpAddress& from, const IpAddress& to,
                             uint16_t bytes, uint8_t ttl) {
    ip[0] = 0x60;
    put16_be(ip + 4, static_cast<uint16_t>(bytes - kIpv6Bytes));
    ip[6] = kUdp;
    ip[7] = ttl;
    std::memcpy(ip + 8, from.bytes.data(), 16);
    std::memcpy(ip + 24, to.bytes.data(), 16);
    return kIpv6Bytes;
  }

  const std::unique_ptr<rte_mbuf> mbuf_ = std::make_unique<rte_mbuf>();
  std::vector<uint8_t> bytes_;
};

// Of the question, or any that is up; kNoInterface: none is.
InterfaceId ingress(const PacketQuestion& question, const Snapshot& snapshot) {
  if (question.interface != kNoInterface) return question.interface;
  for (size_t id = 0; id < snapshot.interfaces.size(); ++id)
    if (snapshot.interfaces[id].up) return InterfaceId(id);
  return kNoInterface;
}

// Whether Linux hears of it, and may tell its sender of a better first hop. Nobody is told where
// IPsec runs (Pipeline::run_after_encap).
bool redirects(const lookup::NextHopRecord& record, const PacketQuestion& question,
               const Snapshot& snapshot) {
  if (record.interface != question.interface || (snapshot.features & kFeatureIpsec) != 0)
    return false;
  const InterfaceView& back = snapshot.interfaces[record.interface];
  return question.destination.family == Family::kIpv4 ? back.redirects4 : back.redirects6;
}

const lookup::NextHopRecord& first_of(const lookup::NextHopRecord& record,
                                      const lookup::NextHopView& hops) {
  const bool several = record.kind == lookup::RecordKind::kMultipath;
  return several ? hops.record(hops.buckets[record.bucket_offset]) : record;
}

// What TunnelStage makes of it, and of the outer packets that it becomes; of several ways to an end
// the first.
Reason into_tunnels(const lookup::NextHopRecord& record, const PacketQuestion& question,
                    const Snapshot& snapshot, const TableViews& tables, PacketAnswer& answer) {
  using lookup::RecordKind;
  const VrfTables by_vrf(tables, snapshot.rules.get());
  const lookup::NextHopRecord* at = &record;
  uint32_t bytes = answer.length;
  bool v4 = question.destination.family == Family::kIpv4;
  bool df = false;
  for (unsigned depth = 0; at->kind == RecordKind::kTunnel; ++depth) {
    const bool on = snapshot.tunnels != nullptr && (snapshot.features & kFeatureIpsec) == 0;
    const TunnelView* const tunnel =
        on ? snapshot.tunnels->of(InterfaceId(at->interface)) : nullptr;
    if (tunnel == nullptr || !(v4 ? tunnel->carries4 : tunnel->carries6)) return Reason::kLocal;
    if (depth == kMostNestedTunnels) return Reason::kTunnelLoop;
    if (depth == 0 && question.ttl <= 1) return Reason::kTtlExpired;
    TunnelStep& step = answer.tunnels.emplace_back();
    step.tunnel = tunnel->interface;
    step.end = tunnel->outer6 ? IpAddress::from(tunnel->remote6)
                              : IpAddress::from(lookup::Ipv4Address{tunnel->remote4});
    const lookup::GroupId group = tunnel->outer6 ? by_vrf.group(tunnel->link, tunnel->remote6)
                                                 : by_vrf.group(tunnel->link, tunnel->remote4);
    const lookup::NextHopRecord& way = first_of(tables.next_hops.record(group), tables.next_hops);
    if (way.kind == RecordKind::kTunnel && way.interface == tunnel->interface)
      return Reason::kTunnelLoop;
    if (way.kind != RecordKind::kForward && way.kind != RecordKind::kTunnel)
      return static_cast<Reason>(way.reason);
    if (tunnel->link != kNoInterface && way.interface != tunnel->link) return Reason::kLocal;
    step.egress = InterfaceId(way.interface);
    step.inner = std::min<uint32_t>(at->mtu, way.mtu - std::min<uint32_t>(way.mtu, tunnel->bytes));
    const bool cut = !df && bytes <= at->mtu && may_leave_in_fragments(*tunnel, way, bytes);
    if (bytes > step.inner && !cut) {
      answer.mtu = step.inner;
      return depth == 0 ? Reason::kTooBig : Reason::kTunnelTooBig;
    }
    bytes += tunnel->bytes;
    v4 = !tunnel->outer6;
    df = v4 && tunnel->sets_df;
    at = &way;
  }
  return Reason::kNone;
}

// What rewrite makes of it: by its record, or by those of the buckets that its flow chooses from.
template <typename Address>
void read_record(const Lane<Address>& lane, const lookup::NextHopView& hops,
                 const PacketQuestion& question, const Snapshot& snapshot, const TableViews& tables,
                 FilterQuestions& filters, PacketAnswer& answer) {
  using lookup::NextHopRecord;
  using lookup::RecordKind;
  const auto* ip = rte_pktmbuf_mtod_offset(lane.packets[0], const uint8_t*, kEthernetBytes);
  const NextHopRecord* record = &hops.record(lane.groups[0]);
  const bool several = record->kind == RecordKind::kMultipath;
  const NextHopRecord& whole = *record;
  answer.buckets = several ? whole.bucket_mask + 1u : 1;
  for (uint32_t bucket = 0; bucket < answer.buckets; ++bucket) {
    if (several) record = &hops.record(hops.buckets[whole.bucket_offset + bucket]);
    auto reason = static_cast<Reason>(record->reason);
    if (lookup::leaves_by_port(record->kind)) {
      reason = filters.out(lane.packets[0], lane.ingress[0], question.destination.family,
                           InterfaceId(record->interface));
      if (reason == Reason::kNone)
        reason = rewrite_detail::hold_back<Address>(ip, answer.length, *record, snapshot, nullptr);
      if (reason == Reason::kTooBig) {
        answer.mtu = record->mtu;
        answer.cut = sizeof(Address) == 4 && may_be_cut(ip, answer.length, record->mtu);
        if (answer.cut) reason = Reason::kNone;
      }
      if (reason == Reason::kNone) {
        answer.redirects |= redirects(*record, question, snapshot);
        continue;
      }
    }
    if (record->kind == RecordKind::kTunnel) {
      answer.tunnels.clear();
      reason = filters.out(lane.packets[0], lane.ingress[0], question.destination.family,
                           InterfaceId(record->interface));
      if (reason == Reason::kNone)
        reason = into_tunnels(*record, question, snapshot, tables, answer);
      if (reason == Reason::kNone) continue;
    }
    ++answer.refusing;
    answer.refused_by = reason;
  }
  if (answer.refusing < answer.buckets) return;
  answer.reason = answer.refused_by;
  answer.refusing = 0;
}

// What encap makes of a packet that an SA is to protect: by the record of its tunnel's end.
void read_tunnel(const EspBatch& batch, const VrfTables& tables, uint32_t now_s,
                 PacketAnswer& answer) {
  const esp::Packet& packet = batch.packets[0];
  const auto& id = packet.sa->id;
  const lookup::NextHopView& hops = tables.all().next_hops;
  const lookup::NextHopRecord& route = hops.record(batch.frames[0].route);
  const InterfaceId way_out = tables.way_out(route, batch.frames[0].ingress.interface());
  answer.spi = id.spi;
  const lookup::NextHopRecord* record =
      &tables.record(way_out, id.destination.family, id.destination.bytes.data());
  if (record->kind == lookup::RecordKind::kMultipath)
    record = &hops.record(hops.buckets[record->bucket_offset]);
  if (record->kind != lookup::RecordKind::kForward) {
    answer.reason = Encap::reason_without_next_hop(*record, route);
    return;
  }
  const uint32_t path = packet.sa->path_mtu(now_s);
  const uint32_t outer = path == 0 ? record->mtu : std::min<uint32_t>(record->mtu, path);
  answer.tunnel = {id.destination, record->mtu, path, packet.sa->inner_mtu(outer)};
  const bool expired = packet.ip[packet.ip[0] >> 4 == 4 ? 8 : 7] <= 1;
  const Encap::Fit fit = Encap::fit_of(packet, *record, now_s);
  if (expired && (fit.fits || packet.sa->mode == IpsecMode::kTunnel)) {
    answer.reason = Reason::kTtlExpired;
    return;
  }
  answer.mtu = fit.mtu;
  answer.cut = fit.may_be_cut && fit.mtu >= kLeastCutMtu;
  if (!fit.fits && !answer.cut) answer.reason = Reason::kTunnelTooBig;
  if (expired && answer.cut) answer.reason = Reason::kTtlExpired;
}

bool asks_urpf(const PacketQuestion& question, const Snapshot& snapshot) {
  return (snapshot.features & kFeatureUrpf) != 0 && question.source &&
         question.interface != kNoInterface;
}

// The stages in the pipeline's order, until one refuses the packet or an SA takes it.
template <typename Address, typename Fib>
void lead(Lane<Address>& lane, const Fib& fib, const PacketQuestion& question, Chunk& chunk,
          const Snapshot& snapshot, const TableViews& tables, FilterQuestions& filters,
          PolicyCheck* policies, uint32_t now_s, PacketAnswer& answer) {
  if (lane.count > 0 && asks_urpf(question, snapshot)) {
    answer.urpf = true;
    check_reverse_path(lane, chunk, tables, snapshot, 0, snapshot.rules.get());
  }
  if (lane.count > 0 && snapshot.rules)
    look_up_by_rules(lane, tables, *snapshot.rules);
  else if (lane.count > 0)
    lookup_batch(fib, lane.destinations, lane.groups, lane.count);
  if (filters.views() != nullptr) look_up_led(lane, chunk, tables, *filters.views());
  if (snapshot.rules) apply_rules(lane, chunk, tables, *snapshot.rules, filters.views());
  if (lane.count > 0 && question.interface != kNoInterface)
    check_forwarding(lane, chunk, tables.next_hops, snapshot);
  if (policies != nullptr) {
    answer.policies = true;
    const auto protect = std::make_unique<EspBatch>();
    policies->forwarded(chunk, tables, snapshot.rules.get(), *protect);
    if (protect->count > 0)
      read_tunnel(*protect, VrfTables(tables, snapshot.rules.get()), now_s, answer);
  }
  if (lane.count > 0)
    read_record(lane, tables.next_hops, question, snapshot, tables, filters, answer);
}

}  // namespace

PacketAnswer explain_packet(const PacketQuestion& question, const Snapshot& snapshot,
                            const TableViews& tables,
                            const std::optional<IpsecStages::Options>& ipsec) {
  PacketAnswer answer;
  answer.source = question.source.value_or(stand_in(question.destination));
  const Family family = question.destination.family;
  answer.length = question.length == 0 ? PacketQuestion::least_length(family) : question.length;
  if (question.interface != kNoInterface && !snapshot.interfaces[question.interface].up) {
    answer.reason = Reason::kInterfaceDown;
    return answer;
  }
  ThoughtPacket packet(answer.source, question.destination, answer.length, question.ttl);
  const auto chunk = std::make_unique<Chunk>();
  chunk->packets[0] = packet.mbuf();
  chunk->count = 1;
  PortView port;
  port.present = true;
  port.untagged = ingress(question, snapshot);
  std::memcpy(&port.mac, kPortMac.data(), kPortMac.size());
  classify<0>(*chunk, port, snapshot);
  FilterQuestions filters(snapshot);
  const Ingress came_in(port.untagged, kEthernetBytes);
  // By which interface is not known: none of those is asked.
  const bool enters = chunk->refused_count == 0 || info(chunk->refused[0].reason).punt;
  const bool asks = question.interface != kNoInterface && enters && !snapshot.closed;
  answer.filters_unasked = question.interface == kNoInterface && filters.any_in();
  const Reason at_door = !asks ? Reason::kNone : filters.in(packet.mbuf(), came_in, family);

  std::unique_ptr<PolicyCheck> policies;
  if (ipsec && (snapshot.features & kFeatureIpsec) != 0)
    policies = std::make_unique<PolicyCheck>(
        EspState{ipsec->tables, ipsec->mark, ipsec->now_s, nullptr, false});
  const uint32_t now_s = ipsec ? ipsec->now_s->load(std::memory_order_relaxed) : 0;
  if (at_door != Reason::kNone)
    answer.reason = at_door;
  else if (family == Family::kIpv4)
    lead(chunk->v4, tables.fib4, question, *chunk, snapshot, tables, filters, policies.get(), now_s,
         answer);
  else
    lead(chunk->v6, tables.fib6, question, *chunk, snapshot, tables, filters, policies.get(), now_s,
         answer);
  if (at_door == Reason::kNone && chunk->refused_count > 0)
    answer.reason = chunk->refused[0].reason;
  const bool for_router = answer.reason == Reason::kLocal || answer.reason == Reason::kMulticast ||
                          answer.reason == Reason::kBroadcast ||
                          answer.reason == Reason::kLinkLocal;
  if (for_router)
    if (const Reason inside = filters.local(packet.mbuf(), came_in, family);
        inside != Reason::kNone)
      answer.reason = inside;
  if (filters.views() != nullptr && filters.views()->lead.is_led(packet.mbuf())) {
    answer.led_table = filters.views()->lead.table(packet.mbuf());
    answer.redirects = false;
    answer.reason = reason_if_led(answer.reason);
    answer.refused_by = reason_if_led(answer.refused_by);
  }
  answer.filters = filters.take();
  if (snapshot.closed) answer.reason = Reason::kNotReady;
  answer.punts = info(answer.reason).punt &&
                 (answer.reason != Reason::kLinkLocal || ends_on_this_link(packet.mbuf(), tables));
  // That is answered here (IcmpAnswers).
  const bool told = answer.reason == Reason::kTooBig && (snapshot.features & kFeatureIpsec) == 0;
  if (!answer.punts || snapshot.linux_side || told) return answer;
  answer.punts = false;
  answer.reason = Reason::kNoLinux;
  return answer;
}

}  // namespace hecto::router
