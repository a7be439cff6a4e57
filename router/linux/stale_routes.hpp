// Routes that an earlier run of the router left in the kernel: those of its own protocol number.
// Those without a device (blackhole, unreachable, prohibit) and those through somebody else's
// outlive the router's TAPs, and would stand in the way of what the file says now.
//
// Control thread only. Source: what `ip route flush proto N` does (RTM_GETROUTE, and each answer
// sent back as RTM_DELROUTE).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

class NetworkNamespace;

// Removes those of both families in all tables but for what is as one of `keep`; how many went.
Result<size_t> remove_routes_of_protocol(const NetworkNamespace& space, uint8_t protocol,
                                         std::span<const Route> keep = {});

}  // namespace hecto::router
