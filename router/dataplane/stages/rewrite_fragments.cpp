// A packet of IPv4 that does not fit its next hop's MTU leaves in fragments (RFC 791 §3.2, RFC 1812
// §4.2.2.7): TTL, checksum and header of each as of any packet, in order, one behind the other.
//
// With DF, with options, and where it would be too many it is not cut here: Linux answers, or cuts.
// What a flood of them takes of a pool is bounded by what transmit queues hold: a packet has all its
// fragments before the first of them leaves, kMostFragments at most.
#include "router/dataplane/stages/fragment.hpp"
#include "router/dataplane/stages/rewrite.hpp"

namespace hecto::router::rewrite_detail {

bool forward_in_fragments(Lane4& lane, unsigned i, const lookup::NextHopRecord& record,
                          const Rewriting& with) noexcept {
  rte_mbuf* const packet = lane.packets[i];
  const Ingress ingress = lane.ingress[i];
  const unsigned l2_length = ingress.l2_length();
  const uint8_t* const ip = rte_pktmbuf_mtod(packet, const uint8_t*) + l2_length;
  const uint32_t bytes = packet->pkt_len - l2_length;
  if (!may_be_cut(ip, bytes, record.mtu)) return false;
  const auto refuse = [&](Reason reason) {
    with.chunk.refuse(packet, reason, ingress.interface());
    return true;
  };
  if (record.interface == ingress.interface() &&
      is_told<uint32_t>(ip, record, with.snapshot, with.telling.redirects))
    return refuse(Reason::kRedirect);
  if (ends_beyond_datagram(ip, bytes)) return refuse(Reason::kBadFragment);
  if (packet->data_off + l2_length < record.header_length + record.label_count * kLabelBytes)
    return refuse(Reason::kTunnelNoRoom);

  rte_mbuf* fragments[kMostFragments];  // not zeroed: that would cost as much as a packet
  fragments[0] = packet;
  const unsigned more =
      fragment_ipv4(packet, l2_length, record.mtu, 1, {fragments + 1, kMostFragments - 1});
  if (more == 0) return refuse(Reason::kFragmentMbuf);
  const PortId port(record.port);
  const unsigned labels = record.label_count * kLabelBytes;
  for (unsigned n = 0; n <= more; ++n) {
    uint8_t* const header = rte_pktmbuf_mtod(fragments[n], uint8_t*) + l2_length;
    if (record.kind == lookup::RecordKind::kLabelled)
      (void)write_labelled_header(fragments[n], header, l2_length, record,
                                  record.label_ttl != 0 ? record.label_ttl : header[8], true);
    else
      write_any_header(fragments[n], header, l2_length, record);
    with.transmitter.enqueue(port, fragments[n]);
  }
  with.transmitter.count_fragments(more);
  if (with.snapshot.interfaces[record.interface].counters) {
    InterfaceCounters& counters = with.interfaces[record.interface];
    counters.tx_packets.add(more + 1);
    counters.tx_bytes.add(bytes + more * kIpv4Bytes + (more + 1) * labels);
  }
  return true;
}

}  // namespace hecto::router::rewrite_detail
