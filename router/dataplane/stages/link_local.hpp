// IPv4 link-local addresses (169.254.0.0/16) stay on their link: RFC 3927 §7. Linux, which gets what
// is for the router itself, would forward the rest.
#pragma once

#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/table_views.hpp"

namespace hecto::router {

// Of a packet refused as kLinkLocal: whether it may go to Linux. IPv6's may: Linux keeps to RFC 4291.
bool ends_on_this_link(const rte_mbuf* packet, const TableViews& tables) noexcept;

}  // namespace hecto::router
