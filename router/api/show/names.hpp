// Names for numbers in what is shown. Control thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/net.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

class ForwardingPlane;
class InterfaceTable;

std::string protocol_text(uint8_t protocol);  // as iproute2 names rtm_protocol
std::optional<uint8_t> route_protocol_by_name(std::string_view name);  // or a number
std::optional<RouteOrigin> origin_by_name(std::string_view name);
// NUD_* of linux/neighbour.h
std::string_view neighbor_state_text(uint16_t state, bool configured);
std::string_view to_string(lookup::RecordKind kind) noexcept;

std::string interface_text(const InterfaceTable& interfaces, InterfaceId id);
// Packets by interface; those of interfaces that are gone, and of none, together under "".
std::map<std::string, uint64_t> by_name(const std::map<InterfaceId, uint64_t>& packets,
                                        const InterfaceTable& interfaces);
std::string port_text(const ForwardingPlane& plane, PortId id);

}  // namespace hecto::router
