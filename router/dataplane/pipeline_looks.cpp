// Of the pipeline: what it does while it is closed, and what it looks at without changing it.
#include "router/dataplane/pipeline.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/framed_ip.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"
#include "router/dataplane/stages/unfinished_checksum.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

// Of a kernel interface's bursts the first packet's checksum is looked at: so many, then of one burst
// in so many.
constexpr unsigned kSampledChecksums = 1000, kBurstsASample = 64;

}  // namespace

// Before all routes and policies are known nothing is forwarded. Linux may hear what a link lives
// by, so that neighbors are known then.
void Pipeline::receive_closed(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept {
  classify<kFeatureVlan>(chunk, port, *pipeline.snapshot_);
  if (pipeline.filter_.any()) pipeline.filter_.in(chunk);
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& refused = chunk.refused[i];
    if (refused.reason == Reason::kArp || !info(refused.reason).punt) continue;
    const FramedIp frame =
        find_ip(rte_pktmbuf_mtod(refused.packet, const uint8_t*), refused.packet->data_len);
    if (frame.ip == nullptr) continue;  // IS-IS, LACP, LLDP: Linux does not forward them
    if (frame.damaged || !keeps_link_alive(frame.family, frame.ip, frame.bytes))
      refused.reason = Reason::kNotReady;
  }
  const VrfTables tables(pipeline.options_.tables, pipeline.rules_);
  const auto refuse = [&](auto& lane, lookup::Family family, unsigned destination) {
    for (unsigned i = 0; i < lane.count; ++i) {
      const unsigned l2 = lane.ingress[i].l2_length();
      const auto* ip = rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2);
      const bool wanted = keeps_link_alive(family, ip, lane.packets[i]->data_len - l2) &&
                          tables.is_own(lane.ingress[i].interface(), family, ip + destination);
      chunk.refuse(lane.packets[i], wanted ? Reason::kLocal : Reason::kNotReady,
                   lane.ingress[i].interface());
    }
    lane.count = 0;
  };
  refuse(chunk.v4, lookup::Family::kIpv4, 16);
  refuse(chunk.v6, lookup::Family::kIpv6, 24);
}

Reason Pipeline::check_linux(const FramedIp& frame, InterfaceId interface,
                             bool by_policy) const noexcept {
  if (snapshot_->closed) {
    const bool harmless = frame.ip == nullptr ||
                          (!frame.damaged && keeps_link_alive(frame.family, frame.ip, frame.bytes));
    return harmless ? Reason::kNone : Reason::kNotReady;
  }
  if ((features_ & kFeatureIpsec) == 0) return Reason::kNone;
  return options_.ipsec->linux_check.check(frame, interface, by_policy,
                                           VrfTables(options_.tables, rules_));
}

void Pipeline::watch(const ReceiveQueue& queue, const Chunk& chunk, const PortView& view) noexcept {
  PortCounters& port = counters_.ports[queue.port];
  if (view.longest_frame != 0) watch_offloads(chunk, view.longest_frame, port);
  if (!view.bond) return;
  const Reordering::Counts seen =
      reordering_.watch(queue.port, chunk.packets, chunk.count, rte_rdtsc());
  if (seen.segments == 0) return;
  port.rx_segments.add(seen.segments);
  port.rx_reordered.add(seen.reordered);
}

// What a kernel interface hands on that its own or its sender's NIC was to work on: several frames
// in one, checksums that are not finished.
void Pipeline::watch_offloads(const Chunk& chunk, uint32_t longest, PortCounters& port) noexcept {
  unsigned coalesced = 0;
  for (unsigned i = 0; i < chunk.count; ++i) coalesced += chunk.packets[i]->pkt_len > longest;
  if (coalesced > 0) port.rx_coalesced.add(coalesced);
  if (port.rx_checked.get() >= kSampledChecksums && ++bursts_watched_ % kBurstsASample != 0) return;
  const TransportChecksum checksum = transport_checksum(chunk.packets[0]);
  if (checksum == TransportChecksum::kNotSeen) return;
  port.rx_checked.add(1);
  if (checksum == TransportChecksum::kUnfinished) port.rx_unfinished.add(1);
}

}  // namespace hecto::router
