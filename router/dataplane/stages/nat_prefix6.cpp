// NAT of IPv6: prefix to prefix (RFC 6296), both ways.
#include <cstring>

#include "router/dataplane/stages/flow.hpp"
#include "router/dataplane/stages/nat.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {

using lookup::NextHopRecord;
using lookup::RecordKind;

void NatStage::in(Lane6& lane, Chunk& chunk) noexcept {
  if (lane.count == 0 || tables_->prefixes.empty()) return;
  begin(lane.count);
  for (unsigned i = 0; i < lane.count; ++i) {
    const unsigned l2 = lane.ingress[i].l2_length();
    uint8_t* const ip = rte_pktmbuf_mtod_offset(lane.packets[i], uint8_t*, l2);
    const nat::Prefix6* found = nullptr;
    for (const nat::Prefix6& prefix : tables_->prefixes)
      if (prefix.is_outside(ip + 24)) found = &prefix;
    if (found == nullptr) continue;
    const VrfTables tables(*views_, snapshot_->rules.get());
    if (tables.is_own(lane.ingress[i].interface(), lookup::Family::kIpv6, ip + 24)) continue;
    uint8_t* const embedded = nat::find_embedded6(ip, lane.packets[i]->data_len - l2);
    if (!found->to_inside(ip + 24) || (embedded != nullptr && found->is_outside(embedded + 8) &&
                                       !found->to_inside(embedded + 8))) {
      refuse(i, Reason::kNatUnknown);
      continue;
    }
    // §4.2: what came from inside goes back with its outside address.
    if (found->is_inside(ip + 8) && !found->to_outside(ip + 8)) refuse(i, Reason::kNatUnknown);
    std::memcpy(&lane.destinations[i], ip + 24, 16);
  }
  finish(lane, chunk);
}

void NatStage::out(Lane6& lane, Chunk& chunk) noexcept {
  if (lane.count == 0 || tables_->prefixes.empty()) return;
  begin(lane.count);
  for (unsigned i = 0; i < lane.count; ++i) {
    const NextHopRecord* record = &views_->next_hops.record(lane.groups[i]);
    const unsigned l2 = lane.ingress[i].l2_length();
    uint8_t* const ip = rte_pktmbuf_mtod_offset(lane.packets[i], uint8_t*, l2);
    const uint32_t bytes = lane.packets[i]->data_len - l2;
    if (record->kind == RecordKind::kMultipath) {
      const uint32_t hash = flow_hash6(lane.packets[i], ip, bytes, snapshot_->ecmp_seed);
      const lookup::NextHopView& hops = views_->next_hops;
      lookup::GroupId group;
      __atomic_load(&hops.buckets[record->bucket_offset + (hash & record->bucket_mask)], &group,
                    __ATOMIC_ACQUIRE);
      record = &hops.record(group);
      if (lookup::leaves_by_port(record->kind)) lane.groups[i] = group;
    }
    if (!lookup::leaves_by_port(record->kind) || tables_->set_of[record->interface] == 0) continue;
    if (ip[7] <= 1 || lane.packets[i]->pkt_len - l2 > record->mtu) continue;
    for (const nat::Prefix6& prefix :
         tables_->sets[tables_->set_of[record->interface] - 1u].prefixes) {
      uint8_t* const embedded = nat::find_embedded6(ip, bytes);
      if (embedded != nullptr && prefix.is_inside(embedded + 24) &&
          !prefix.to_outside(embedded + 24))
        refuse(i, Reason::kNatUnknown);
      if (prefix.is_inside(ip + 8) && !prefix.to_outside(ip + 8)) refuse(i, Reason::kNatUnknown);
    }
  }
  finish(lane, chunk);
}

}  // namespace hecto::router
