// Errors to the sender of a packet, made of the packet itself. It does not fit its egress interface or its
// tunnel: ICMP type 3 code 4 with the MTU (RFC 792, RFC 1191), ICMPv6 type 2 (RFC 4443 §3.2). A filter
// rejects it: type 3 code 13 (RFC 1812 §5.2.7.1), ICMPv6 type 1 code 1 (RFC 4443 §3.1).
#pragma once

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"

namespace hecto::router {

// False, and the packet is as it was, where there must be no answer (RFC 1812 §4.3.2.7, RFC 4443
// §2.4: to ICMP errors, to fragments behind the first) or there can be none: no address of our own
// on the interface that it came in by, no room. `ip` points into `packet`, which then holds
// `l2_length` bytes and the answer, to its source, hop limit 64.
bool make_too_big4(rte_mbuf* packet, unsigned l2_length, uint16_t mtu,
                   const InterfaceView& interface) noexcept;
bool make_too_big6(rte_mbuf* packet, unsigned l2_length, uint16_t mtu,
                   const InterfaceView& interface) noexcept;
bool make_prohibited4(rte_mbuf* packet, unsigned l2_length,
                      const InterfaceView& interface) noexcept;
bool make_prohibited6(rte_mbuf* packet, unsigned l2_length,
                      const InterfaceView& interface) noexcept;

}  // namespace hecto::router
