// TCP's MSS (RFC 9293 §3.7.1) of SYNs that come in or leave by an interface that clamps: lowered to
// what fits both interfaces' MTUs and the route's, never raised; the checksum with it (RFC 1624). SYNs
// without the option, and options that are not in order, are left as they are, as is what is no first
// fragment. Behind the look-up, compiled in with uRPF.
//
// Not seen: what Linux forwards by other ways (policy rules), and the MTU of an IPsec tunnel.
#pragma once

#include "lookup/nexthop.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"

namespace hecto::router {

void clamp_mss(Lane4& lane, const lookup::NextHopView& next_hops,
               const Snapshot& snapshot) noexcept;
void clamp_mss(Lane6& lane, const lookup::NextHopView& next_hops,
               const Snapshot& snapshot) noexcept;

// Of a TCP header and what follows it, `bytes` in all. True: it has been lowered to `most`.
bool lower_mss(uint8_t* tcp, uint32_t bytes, uint16_t most) noexcept;

}  // namespace hecto::router
