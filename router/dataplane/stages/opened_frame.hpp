// Frames of packets that came out of a tunnel (TunnelStage) or a label (LabelStage). They begin so much later that as long an L2
// header as before lies in front of the inner packet; what stands there is of the outer one, till rewrite
// writes another. That it is so, a flag in ol_flags says, and how much later it is, the mbuf's outer tag,
// which nobody reads here: it lies in the line that is written anyway, tx_offload does not.
#pragma once

#include <cstdint>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/stages/framed_ip.hpp"

namespace hecto::router {

inline void begin_later(rte_mbuf* packet, uint32_t bytes) noexcept {
  packet->data_off = static_cast<uint16_t>(packet->data_off + bytes);
  packet->data_len = static_cast<uint16_t>(packet->data_len - bytes);
  packet->pkt_len -= bytes;
  packet->vlan_tci_outer = static_cast<uint16_t>(bytes);
}
// What is refused and has the flag, without it; and of what is Linux's the interface that the whole frame
// came in by.
void begin_as_before(Chunk& chunk, const Snapshot& snapshot, uint64_t flag) noexcept;

// The packet that is on its way: of what has the flag the inner one. 0: nothing has.
FramedIp find_ip(const rte_mbuf* packet, uint64_t opened) noexcept;

}  // namespace hecto::router
