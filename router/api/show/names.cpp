#include "router/api/show/names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "router/control/forwarding_plane.hpp"

namespace hecto::router {
namespace {

// As iproute2 names rtm_protocol.
constexpr std::pair<uint8_t, const char*> kProtocols[] = {
    {0, "unspec"}, {1, "redirect"}, {2, "kernel"}, {3, "boot"},   {4, "static"},
    {9, "ra"},     {11, "zebra"},   {12, "bird"},  {16, "dhcp"},  {18, "keepalived"},
    {42, "babel"}, {100, "hecto"},  {186, "bgp"},  {187, "isis"}, {188, "ospf"},
    {189, "rip"},  {192, "eigrp"}};
constexpr RouteOrigin kOrigins[] = {RouteOrigin::kLinux, RouteOrigin::kFile, RouteOrigin::kApi,
                                    RouteOrigin::kNeighbor};

}  // namespace

std::string protocol_text(uint8_t protocol) {
  for (const auto& [number, name] : kProtocols)
    if (number == protocol) return name;
  return std::to_string(protocol);
}

std::optional<uint8_t> route_protocol_by_name(std::string_view name) {
  for (const auto& [number, known] : kProtocols)
    if (name == known) return number;
  uint8_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::optional<RouteOrigin> origin_by_name(std::string_view name) {
  for (const RouteOrigin origin : kOrigins)
    if (to_string(origin) == name) return origin;
  return std::nullopt;
}

std::string_view neighbor_state_text(uint16_t state, bool configured) {
  if (configured || state & 0x80) return "permanent";
  if (state & 0x02) return "reachable";
  if (state & 0x04) return "stale";
  if (state & 0x08) return "delay";
  if (state & 0x10) return "probe";
  if (state & 0x20) return "failed";
  if (state & 0x40) return "noarp";
  return state & 0x01 ? "incomplete" : "none";
}

std::string_view to_string(lookup::RecordKind kind) noexcept {
  switch (kind) {
    case lookup::RecordKind::kForward:
      return "forward";
    case lookup::RecordKind::kPunt:
      return "punt";
    case lookup::RecordKind::kTunnel:
      return "tunnel";
    case lookup::RecordKind::kLabelled:
      return "labels";
    case lookup::RecordKind::kReceive:
      return "receive";
    case lookup::RecordKind::kMultipath:
      return "multipath";
    case lookup::RecordKind::kDrop:
      break;
  }
  return "drop";
}

std::string interface_text(const InterfaceTable& interfaces, InterfaceId id) {
  const Interface* interface = interfaces.find(id);
  return interface == nullptr ? fmt::format("interface {}", id) : interface->name;
}

std::map<std::string, uint64_t> by_name(const std::map<InterfaceId, uint64_t>& packets,
                                        const InterfaceTable& interfaces) {
  std::map<std::string, uint64_t> named;
  for (const auto& [id, count] : packets) {
    const Interface* interface = interfaces.find(id);
    named[interface == nullptr ? "" : interface->name] += count;
  }
  return named;
}

std::string port_text(const ForwardingPlane& plane, PortId id) {
  return plane.port_name(id).value_or(fmt::format("port {}", id));
}

}  // namespace hecto::router
