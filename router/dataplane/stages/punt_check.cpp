#include "router/dataplane/stages/punt_check.hpp"

#include "router/dataplane/stages/esp_parse.hpp"
#include "router/dataplane/stages/framed_ip.hpp"
#include "router/dataplane/stages/policy_verdict.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

// Multicast, the broadcast address, or a link-local one of IPv6, which Linux does not forward.
bool to_group(Family family, const uint8_t* to) noexcept {
  return family == Family::kIpv4 ? to[0] >> 4 == 0xe || load32_native(to) == 0xffffffff
                                 : to[0] == 0xff;
}
bool to_this_link(Family family, const uint8_t* to) noexcept {
  return family == Family::kIpv6 && to[0] == 0xfe && (to[1] & 0xc0) == 0x80;
}

}  // namespace

Reason PuntCheck::check(const Refused& refused, const VrfTables& tables) const noexcept {
  rte_mbuf* const packet = refused.packet;
  const esp::Sa* const sa = state_.mark.take(packet);
  const FramedIp frame = find_ip(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
  if (frame.ip == nullptr || frame.damaged) return Reason::kNone;  // not IP, or Linux drops it
  const esp::FlowKey key = esp::flow_key(frame.family, frame.ip, frame.bytes);
  const OnePacket one(state_.tables, key, state_.counts);
  const uint8_t* const to = key.destination.bytes.data();
  const bool group = to_group(frame.family, to), link = to_this_link(frame.family, to);
  const auto& record = tables.record(refused.interface, frame.family, to);
  const Goes way = link ? Goes::kOwn : group ? Goes::kRejected : goes(record);
  if ((group || way == Goes::kOwn) && keeps_link_alive(frame.family, frame.ip, frame.bytes))
    return Reason::kNone;
  Reason reason = Reason::kNone;
  if (way != Goes::kOwn) reason = one.forward(sa);
  if (reason == Reason::kNone && way != Goes::kOn) {
    const bool ike = way == Goes::kOwn && esp_parse::is_ike(key.protocol, key.destination_port);
    reason = one.in(sa, ike);
  }
  if (reason != Reason::kNone) return reason;
  // ESP that came in no way that an SA of ours takes: Linux has the keys, but not our window.
  if (way == Goes::kOwn) return esp_parse::reason_without_sa(key, frame.ip, frame.bytes);
  // Of several next hops Linux may choose one that it alone has.
  const bool goes_on = refused.reason != Reason::kTtlExpired;  // by Linux, perhaps
  const bool unseen = (goes_on && !tables.all_main()) || way == Goes::kByLinux ||
                      way == Goes::kNoRoute || record.kind == lookup::RecordKind::kMultipath;
  return unseen ? one.out_in_clear(record.if_id) : Reason::kNone;
}

void PuntCheck::check(Chunk& chunk, const TableViews& tables,
                      const RuleTables* rules) const noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& refused = chunk.refused[i];
    if (refused.reason == Reason::kArp || !info(refused.reason).punt) continue;
    const Reason reason = check(refused, VrfTables(tables, rules));
    if (reason != Reason::kNone) refused.reason = reason;
  }
}

}  // namespace hecto::router
