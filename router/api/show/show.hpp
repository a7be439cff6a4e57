// The router's state as JSON, in the shapes of docs/api.md. Control thread only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/placement/placement.hpp"
#include "router/dataplane/observe/trace.hpp"
#include "router/rib/routing_views.hpp"

namespace hecto::router {

class Ipsec;
class NicSessions;
class Router;

nlohmann::json show_summary(Router& router);
nlohmann::json show_ports(Router& router);
nlohmann::json show_interfaces(Router& router);
nlohmann::json show_neighbors(Router& router);
nlohmann::json show_next_hops(Router& router);
nlohmann::json show_workers(Router& router);
nlohmann::json show_offload(Router& router);
// `nic`: null where NICs are to do no crypto.
nlohmann::json show_ipsec(const Ipsec& ipsec, const std::string& crypto, const NicSessions* nic);
nlohmann::json show_drops(Router& router);
nlohmann::json show_pools(Router& router);
nlohmann::json show_config(Router& router);
nlohmann::json show_plan(Router& router);
nlohmann::json show_page(Router& router, const RoutePage& page);
nlohmann::json show_explanation(Router& router, const Explanation& explanation);
// Packets with a number above `after`.
nlohmann::json show_trace(Router& router, const TraceSession& session, uint32_t after);

// Words shared by the above.
std::string protocol_text(uint8_t protocol);  // as iproute2 names rtm_protocol
std::string_view neighbor_state_text(uint16_t state, bool configured);
std::string interface_text(Router& router, InterfaceId id);
std::string port_text(Router& router, uint16_t id);

}  // namespace hecto::router
