#include "router/dataplane/stages/policy_routing.hpp"

#include <algorithm>

#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/stages/sources.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::router {
namespace {

using lookup::GroupId;
using lookup::NextHopRecord;
using lookup::RecordKind;

constexpr uint8_t kTcp = 6, kUdp = 17;

void read_ports(const uint8_t* transport, const uint8_t* end, RuleKey& key) noexcept {
  if ((key.protocol != kTcp && key.protocol != kUdp) || transport + 4 > end) return;
  key.ports_seen = true;
  key.source_port = load16_be(transport);
  key.destination_port = load16_be(transport + 2);
}

// `bytes`: of the packet's first segment from the IP header on.
void read_key(const uint8_t* ip, unsigned bytes, RuleKey& key, const uint32_t*) noexcept {
  constexpr uint16_t kFragment = 0x3fff;  // an offset, or more of them
  key.tos = ip[1];
  key.protocol = ip[9];
  key.protocol_seen = true;
  if ((load16_be(ip + 6) & kFragment) == 0) read_ports(ip + kIpv4Bytes, ip + bytes, key);
}
void read_key(const uint8_t* ip, unsigned bytes, RuleKey& key,
              const lookup::Ipv6Address*) noexcept {
  constexpr uint8_t kIcmp6 = 58, kEsp = 50;
  key.tos = static_cast<uint8_t>(load16_be(ip) >> 4);
  key.protocol = ip[6];
  key.protocol_seen = key.protocol == kTcp || key.protocol == kUdp || key.protocol == kIcmp6 ||
                      key.protocol == kEsp;  // else perhaps an extension header
  read_ports(ip + kIpv6Bytes, ip + bytes, key);
}

template <typename Address>
void keep(Lane<Address>& lane, unsigned to, unsigned from) noexcept {
  lane.packets[to] = lane.packets[from];
  lane.destinations[to] = lane.destinations[from];
  lane.groups[to] = lane.groups[from];
  lane.ingress[to] = lane.ingress[from];
}

// By its route it is Linux's, which asks its rules itself.
bool is_for_linux(const NextHopRecord& record) noexcept {
  const auto reason = static_cast<Reason>(record.reason);
  return record.kind == RecordKind::kPunt &&
         (reason == Reason::kLocal || reason == Reason::kMulticast || reason == Reason::kBroadcast);
}

bool is_routed(const NextHopRecord& record) noexcept {
  const bool refuses = record.kind == RecordKind::kPunt || record.kind == RecordKind::kDrop;
  return !refuses || static_cast<Reason>(record.reason) != Reason::kNoRoute;
}

}  // namespace

template <typename Address>
void apply_rules(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                 const RuleTables& all) noexcept {
  const RuleTable<Address>* const rules = all.of(Address{});
  if (rules == nullptr || lane.count == 0) return;
  alignas(64) Address sources[kChunkSize];
  GroupId from[kChunkSize], to[kChunkSize];
  read_sources(lane, sources);
  rules->classify_sources(sources, from, lane.count);
  rules->classify_destinations(lane.destinations, to, lane.count);
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    const NextHopRecord& record = tables.next_hops.record(lane.groups[i]);
    const InterfaceId interface = lane.ingress[i].interface();
    Reason reason = Reason::kNone;
    if (!is_for_linux(record)) {
      typename RuleTable<Address>::Packet packet{
          sources[i], lane.destinations[i], from[i], to[i], {.interface = interface}};
      if (rules->asks_for_more()) {
        const unsigned l2 = lane.ingress[i].l2_length();
        read_key(rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2),
                 lane.packets[i]->data_len - l2, packet.key, sources);
      }
      const bool routed = is_routed(record);
      reason = rules->verdict(packet, routed);
      if (reason == Reason::kNoRoute && !routed) reason = Reason::kNone;  // its record says so
    }
    if (reason != Reason::kNone)
      chunk.refuse(lane.packets[i], reason, interface);
    else
      keep(lane, kept++, i);
  }
  lane.count = kept;
}

template <typename Address>
void apply_rules_back(Lane<Address>& lane, Chunk& chunk, const RuleTables& all,
                      const Snapshot& snapshot, uint64_t sa_flag) noexcept {
  const RuleTable<Address>* const rules = all.of(Address{});
  if (rules == nullptr || lane.count == 0) return;
  alignas(64) Address sources[kChunkSize];
  GroupId from[kChunkSize], to[kChunkSize];
  read_sources(lane, sources);
  rules->classify_sources(lane.destinations, from, lane.count);
  rules->classify_destinations(sources, to, lane.count);
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    const InterfaceId interface = lane.ingress[i].interface();
    const InterfaceView& view = snapshot.interfaces[interface];
    const UrpfMode mode = sizeof(Address) == 4 ? std::max(view.urpf, view.rp_filter) : view.urpf;
    Reason reason = Reason::kNone;
    if (mode != UrpfMode::kOff && (lane.packets[i]->ol_flags & sa_flag) == 0) {
      // Linux asks as if itself sent it, and of ports only where some rule does.
      const typename RuleTable<Address>::Packet packet{
          lane.destinations[i], sources[i], from[i], to[i], {}};
      reason = rules->verdict(packet, true);
    }
    if (reason == Reason::kNone)
      keep(lane, kept++, i);
    else
      chunk.refuse(lane.packets[i], reason == Reason::kPolicyRule ? reason : Reason::kUrpf,
                   interface);
  }
  lane.count = kept;
}

template void apply_rules(Lane4&, Chunk&, const TableViews&, const RuleTables&) noexcept;
template void apply_rules(Lane6&, Chunk&, const TableViews&, const RuleTables&) noexcept;
template void apply_rules_back(Lane4&, Chunk&, const RuleTables&, const Snapshot&,
                               uint64_t) noexcept;
template void apply_rules_back(Lane6&, Chunk&, const RuleTables&, const Snapshot&,
                               uint64_t) noexcept;

}  // namespace hecto::router
