// IPv4 fragmentation (RFC 791 §3.2), of what must fit a tunnel.
#pragma once

#include <cstdint>
#include <span>

struct rte_mbuf;

namespace hecto::router {

// Cuts a packet of one segment, without options, to IP packets of at most `mtu` bytes (68 or more):
// it keeps the last fragment, those before it go to `fragments`, in order, each behind room for
// `l2_length` bytes. Returns how many those are. 0: more than fit there, options, or no mbufs, and
// the packet is as it was.
unsigned fragment_ipv4(rte_mbuf* packet, unsigned l2_length, uint32_t mtu,
                       std::span<rte_mbuf*> fragments) noexcept;

}  // namespace hecto::router
