// Links that are tunnels over IP: IFLA_INFO_DATA of gre, ip6gre, ipip, sit and ip6tnl. Thread-safe: no
// state.
#pragma once

#include <string_view>

#include "router/linux/attributes.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

bool is_tunnel_kind(std::string_view kind) noexcept;
// Of a kind that is one. What the fast path does not do of it is said in `beyond`. False: malformed.
bool read_tunnel(std::string_view kind, Bytes data, LinuxTunnel& out);

}  // namespace hecto::router
