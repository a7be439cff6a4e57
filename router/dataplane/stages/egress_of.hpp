// By which interface a packet leaves: that of the next hop that rewrite will choose.
#pragma once

#include "base/reason.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/stages/flow.hpp"

namespace hecto::router {

// Where it leaves, or will when its neighbor is known; kNoInterface: it does not.
template <typename Address>
InterfaceId egress_of(const Lane<Address>& lane, unsigned i, const lookup::NextHopView& next_hops,
                      uint32_t seed) noexcept {
  using lookup::NextHopRecord;
  using lookup::RecordKind;
  const NextHopRecord* record = &next_hops.record(lane.groups[i]);
  if (record->kind == RecordKind::kMultipath) [[unlikely]] {
    const unsigned l2 = lane.ingress[i].l2_length();
    const rte_mbuf* const packet = lane.packets[i];
    const auto* const ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
    const uint32_t bytes = packet->data_len - l2;
    record = &next_hops.member(*record, sizeof(Address) == 4 ? flow_hash4(packet, ip, bytes, seed)
                                                             : flow_hash6(packet, ip, bytes, seed));
  }
  const bool leaves =
      lookup::leaves_by_port(record->kind) || record->kind == RecordKind::kTunnel ||
      (record->kind == RecordKind::kPunt && static_cast<Reason>(record->reason) == Reason::kGlean);
  return leaves ? InterfaceId(record->interface) : kNoInterface;
}

}  // namespace hecto::router
