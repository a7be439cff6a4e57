// What an entry writes into IP headers and those behind them, with checksums that change by as much
// (RFC 1624): one that was wrong stays wrong. Of TCP, UDP, UDP-Lite, DCCP and ICMPv6 that of the transport
// header, where it is there: it is in a first fragment for all of them.
//
// Not handled: behind an IPv6 routing header that has segments left, the address that the transport
// checksum goes by is not the header's (RFC 8200 §8.1), so a new destination makes it wrong.
#pragma once

#include "router/dataplane/flow/flow_entry.hpp"

namespace hecto::router {

// `bytes` from `ip` on are there, a whole header at least.
void rewrite_ipv4(uint8_t* ip, uint32_t bytes, const FlowAction& action) noexcept;
void rewrite_ipv6(uint8_t* ip, uint32_t bytes, const FlowAction& action) noexcept;

}  // namespace hecto::router
