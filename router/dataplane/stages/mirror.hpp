// Copies of packets that leave by a port of their own, as they are at that moment: deep ones, so that nothing
// that the pipeline does to a packet later reaches its copy. Each counts as one packet more that came; one for
// which there is no room is a drop by name, and the packet itself goes its way.
#pragma once

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/snapshot.hpp"

struct rte_mbuf;

namespace hecto::router {

class Transmitter;

// `l2_bytes`: of the frame's header, which no MTU counts. While the snapshot is closed nothing is copied.
void mirror(const rte_mbuf* packet, unsigned l2_bytes, PortId port, const Snapshot& snapshot,
            Transmitter& transmitter, ReasonCounters& reasons) noexcept;

}  // namespace hecto::router
