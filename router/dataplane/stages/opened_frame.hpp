// Frames of packets that came out of a tunnel (TunnelStage). They begin so much later that as long an L2
// header as before lies in front of the inner packet; what stands there is of the outer one, till rewrite
// writes another. How much later it is stands in the mbuf, as the length of an outer header, and that it is
// so, a flag in ol_flags says.
#pragma once

#include <cstdint>

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/stages/framed_ip.hpp"

namespace hecto::router {

inline void begin_later(rte_mbuf* packet, uint32_t bytes) noexcept {
  packet->data_off = static_cast<uint16_t>(packet->data_off + bytes);
  packet->data_len = static_cast<uint16_t>(packet->data_len - bytes);
  packet->pkt_len -= bytes;
  packet->outer_l3_len = bytes;
}
// Nothing, where it has become a frame of ours.
void begin_as_before(rte_mbuf* packet) noexcept;

// The packet that is on its way: of what has the flag the inner one. 0: nothing has.
FramedIp find_ip(const rte_mbuf* packet, uint64_t opened) noexcept;

}  // namespace hecto::router
