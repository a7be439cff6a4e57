#include <fmt/format.h>

#include <array>

#include "router/api/show/show.hpp"
#include "router/control/router.hpp"

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

// NUD_* of linux/neighbour.h
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

std::string interface_text(Router& router, InterfaceId id) {
  const Interface* interface = router.interfaces().find(id);
  return interface == nullptr ? fmt::format("interface {}", id) : interface->name;
}

std::string port_text(Router& router, uint16_t id) {
  const Port* port = router.dataplane().port(id);
  return port == nullptr ? fmt::format("port {}", id) : port->name();
}

}  // namespace hecto::router
