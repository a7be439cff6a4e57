// "Which way does a packet to this address take, and why?" Control thread.
#pragma once

#include "router/rib/routing_queries.hpp"

namespace hecto::router {

Explanation explain(const RouteStore& store, const RoutingTable& table, const IpAddress& address);

}  // namespace hecto::router
