#include "router/api/show/names.hpp"

#include <fmt/format.h>

#include "router/control/forwarding_plane.hpp"

namespace hecto::router {

std::string protocol_text(uint8_t protocol) {
  switch (protocol) {
    case 0:
      return "unspec";
    case 1:
      return "redirect";
    case 2:
      return "kernel";
    case 3:
      return "boot";
    case 4:
      return "static";
    case 9:
      return "ra";
    case 11:
      return "zebra";
    case 12:
      return "bird";
    case 16:
      return "dhcp";
    case 18:
      return "keepalived";
    case 42:
      return "babel";
    case 100:
      return "hecto";
    case 186:
      return "bgp";
    case 187:
      return "isis";
    case 188:
      return "ospf";
    case 189:
      return "rip";
    case 192:
      return "eigrp";
    default:
      return std::to_string(protocol);
  }
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

std::string port_text(const ForwardingPlane& plane, uint16_t id) {
  return plane.port_name(id).value_or(fmt::format("port {}", id));
}

}  // namespace hecto::router
