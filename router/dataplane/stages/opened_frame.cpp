#include "router/dataplane/stages/opened_frame.hpp"

#include "base/frame_tags.hpp"

namespace hecto::router {
namespace {

void begin_as_before(rte_mbuf* packet) noexcept {
  const uint32_t bytes = packet->vlan_tci_outer;
  if (bytes > packet->data_off) return;
  packet->data_off = static_cast<uint16_t>(packet->data_off - bytes);
  packet->data_len = static_cast<uint16_t>(packet->data_len + bytes);
  packet->pkt_len += bytes;
}

}  // namespace

void begin_as_before(Chunk& chunk, const Snapshot& snapshot, uint64_t flag) noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& refused = chunk.refused[i];
    rte_mbuf* const packet = refused.packet;
    if ((packet->ol_flags & flag) == 0) continue;
    packet->ol_flags &= ~flag;
    begin_as_before(packet);
    if (!info(refused.reason).punt) continue;
    if (packet->port >= kMaxPorts || packet->data_len < kEthernetBytes) continue;
    const PortView& port = snapshot.ports[packet->port];
    const FrameTags l2 =
        read_frame_tags(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
    refused.interface = l2.tags.vlan == 0 ? port.untagged : port.tagged.find(l2.tags);
  }
}

FramedIp find_ip(const rte_mbuf* packet, uint64_t opened) noexcept {
  const auto* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const uint32_t outer = packet->vlan_tci_outer;
  if ((packet->ol_flags & opened) == 0 || outer > packet->data_off)
    return find_ip(frame, packet->data_len);
  FramedIp found;
  found.l2_bytes = read_frame_tags(frame - outer, packet->data_len + outer).l2_bytes;
  if (packet->data_len <= found.l2_bytes) return found;
  found.ip = frame + found.l2_bytes;
  found.bytes = packet->data_len - found.l2_bytes;
  found.family = found.ip[0] >> 4 == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6;
  found.plain = found.whole = true;
  return found;
}

}  // namespace hecto::router
