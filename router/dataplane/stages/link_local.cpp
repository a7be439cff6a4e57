#include "router/dataplane/stages/link_local.hpp"

#include "base/bytes.hpp"
#include "base/reason.hpp"
#include "router/dataplane/stages/framed_ip.hpp"

namespace hecto::router {

bool ends_on_this_link(const rte_mbuf* packet, const TableViews& tables) noexcept {
  const FramedIp frame = find_ip(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
  if (frame.ip == nullptr || frame.family == lookup::Family::kIpv6) return true;
  const uint32_t destination = load32_be(frame.ip + 16);
  lookup::GroupId group;
  lookup_batch(tables.fib4, &destination, &group, 1);
  const lookup::NextHopRecord& record = tables.next_hops.record(group);
  return record.own != 0 || static_cast<Reason>(record.reason) == Reason::kBroadcast;
}

}  // namespace hecto::router
