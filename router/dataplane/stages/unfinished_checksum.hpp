// A TCP or UDP checksum that is still the pseudo header's sum: the sender left it to its NIC, and
// there was none (the far end of a veth). Packets of kernel interfaces are sampled for it.
#pragma once

struct rte_mbuf;

namespace hecto::router {

enum class TransportChecksum { kNotSeen, kFinished, kUnfinished };

// kNotSeen: no IPv4 with TCP or UDP as a whole in the first segment. `packet`: any frame.
TransportChecksum transport_checksum(const rte_mbuf* packet) noexcept;

}  // namespace hecto::router
