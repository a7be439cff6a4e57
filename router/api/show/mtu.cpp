// How long packets may be: on each interface, from the port's device to its twin, and on the way to an
// address, from the route to a tunnel's path.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "router/api/show/show.hpp"
#include "router/api/show/tags.hpp"
#include "router/control/bridge_control.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/explain_packet.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr uint16_t kLeastOfIpv6 = 1280;  // RFC 8200 §5

// Of the file, for the interface; 0: it is not in it.
uint16_t configured(const Interface& interface, const config::PortConfig& port) {
  if (interface.made_by_linux) return 0;
  if (interface.tags.vlan == 0) return port.mtu;
  for (const config::VlanConfig& vlan : port.vlans)
    if (vlan.tags() == interface.tags) return vlan.mtu.value_or(port.mtu);
  return 0;
}

// Where two that should be alike are not, and what follows from it.
std::vector<std::string> mismatches(const Interface& interface, const PortStatus& port,
                                    uint16_t wanted, uint32_t of_linux, uint16_t in_force,
                                    bool has_ipv6) {
  std::vector<std::string> lines;
  if (wanted != 0 && wanted != in_force && interface.mtu == in_force)
    lines.push_back(fmt::format("the file says {}, it has {}{}", wanted, in_force,
                                wanted > port.largest_mtu
                                    ? fmt::format(": driver and buffers take {} at most as they "
                                                  "were set up",
                                                  port.largest_mtu)
                                    : std::string(": changed in Linux, or refused by the driver")));
  if (of_linux != 0 && of_linux != interface.mtu)
    lines.push_back(fmt::format(
        "twin {} has {}, the port's interface {}: {}", interface.name, of_linux, interface.mtu,
        of_linux < interface.mtu
            ? fmt::format("Linux and the fast path send at most {}", of_linux)
            : fmt::format("what Linux sends beyond {} is lost", interface.mtu)));
  if (interface.tags.vlan != 0 && wanted > port.mtu)
    lines.push_back(fmt::format("its port has {}: no VLAN of it sends more", port.mtu));
  if (const uint16_t most = port.mtu_behind(interface.tags);
      interface.tags.stacked() && in_force > most)
    lines.push_back(fmt::format("behind its tags {} carries {}: longer packets are lost there",
                                port.driver, most));
  if (port.device_mtu != 0 && port.device_mtu != port.mtu)
    lines.push_back(fmt::format(
        "the kernel's {} has {}, the port {}: {}", port.config.device, port.device_mtu, port.mtu,
        port.device_mtu < port.mtu ? fmt::format("what is longer than {} is lost there; \"ip link "
                                                 "set dev {} mtu {}\" mends it",
                                                 port.device_mtu, port.config.device, port.mtu)
                                   : std::string("longer packets come in and are forwarded, none "
                                                 "are sent")));
  if (has_ipv6 && in_force < kLeastOfIpv6)
    lines.push_back(fmt::format("IPv6 needs {}", kLeastOfIpv6));
  return lines;
}

bool has_ipv6(const Interfaces& known, const Interface& interface) {
  const auto addresses = known.addresses(interface);
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const IpPrefix& a) { return a.address.family == Family::kIpv6; });
}

json show_interface(const Interface& interface, const Routing& routing, const PortStatus& port) {
  const Interfaces& known = routing.interfaces();
  const uint16_t wanted = configured(interface, port.config), in_force = known.mtu(interface);
  const uint32_t of_linux = known.linux_mtu(interface);
  return {{"name", interface.name},
          {"port", interface.port_name},
          {"ports", nullptr},
          {"vlan", vlan_json(interface.tags)},
          {"outer_vlan", outer_vlan_json(interface.tags)},
          {"mtu", in_force},
          {"file", wanted == 0 ? json() : json(wanted)},
          {"port_mtu", port.mtu},
          {"port_most", port.largest_mtu},
          {"device", port.device_mtu == 0 ? json() : json(port.device_mtu)},
          {"linux", of_linux == 0 ? json() : json(of_linux)},
          {"mss_clamp", interface.clamps_mss ? "auto" : "off"},
          {"mismatches",
           mismatches(interface, port, wanted, of_linux, in_force, has_ipv6(known, interface))}};
}

// By which its packets leave.
std::vector<BridgeStatus::Port> ports_of(const Interface& interface, const BridgeStatus& bridge) {
  std::vector<BridgeStatus::Port> ports = bridge.ports;
  if (interface.tags.vlan != 0)
    std::erase_if(ports, [&](const BridgeStatus::Port& port) {
      return std::none_of(interface.attached.begin(), interface.attached.end(),
                          [&](const Attachment& to) { return to.port == port.port; });
    });
  return ports;
}

// A bridge's own, or a VLAN device on it: Linux alone says what it has.
json show_bridge_interface(const Interface& interface, const Routing& routing,
                           const BridgeStatus& bridge) {
  const Interfaces& known = routing.interfaces();
  const uint16_t in_force = known.mtu(interface);
  const uint32_t of_linux = known.linux_mtu(interface);
  std::vector<std::string> lines;
  json ports = json::array(), least;
  for (const BridgeStatus::Port& port : ports_of(interface, bridge)) {
    const bool is_ours = port.mtu != 0;
    ports.push_back({{"name", port.name}, {"mtu", is_ours ? json(port.mtu) : json()}});
    if (is_ours && (least.is_null() || port.mtu < least)) least = port.mtu;
    if (is_ours && port.mtu < in_force)
      lines.push_back(fmt::format(
          "port {} of the bridge has {}: frames longer than that are lost there (bridge_too_long)",
          port.name, port.mtu));
  }
  if (in_force < kLeastOfIpv6 && has_ipv6(known, interface))
    lines.push_back(fmt::format("IPv6 needs {}", kLeastOfIpv6));
  return {{"name", interface.name},
          {"port", nullptr},
          {"ports", std::move(ports)},
          {"vlan", vlan_json(interface.tags)},
          {"outer_vlan", outer_vlan_json(interface.tags)},
          {"mtu", in_force},
          {"file", nullptr},
          {"port_mtu", std::move(least)},
          {"port_most", nullptr},
          {"device", nullptr},
          {"linux", of_linux == 0 ? json() : json(of_linux)},
          {"mss_clamp", interface.clamps_mss ? "auto" : "off"},
          {"mismatches", std::move(lines)}};
}

json show_way(const GroupMemberView& member, const Routing& routing,
              std::vector<std::string>& why) {
  const bool forwards = lookup::leaves_by_port(member.record.kind);
  const InterfaceState* const interface =
      forwards ? routing.interfaces().find(InterfaceId(member.record.interface)) : nullptr;
  const uint16_t of_interface = interface == nullptr ? 0 : routing.interfaces().mtu(*interface);
  const bool by_route = forwards && member.record.mtu < of_interface;
  if (by_route)
    why.push_back(fmt::format("the route says mtu {}, {} has {}", member.record.mtu,
                              member.next_hop.interface_name, of_interface));
  return {
      {"interface",
       member.next_hop.interface_name.empty() ? json() : json(member.next_hop.interface_name)},
      {"gateway", member.next_hop.gateway ? json(member.next_hop.gateway->to_string()) : json()},
      {"interface_mtu", of_interface == 0 ? json() : json(of_interface)},
      {"route_mtu", by_route ? json(member.record.mtu) : json()},
      {"mtu", forwards ? json(member.record.mtu) : json()}};
}

json show_tunnel(const PacketAnswer& packet, std::vector<std::string>& why) {
  const TunnelMtu& tunnel = packet.tunnel;
  if (packet.spi == 0 || tunnel.next_hop == 0) return {};
  if (tunnel.path != 0 && tunnel.path < tunnel.next_hop)
    why.push_back(fmt::format("a router on the way to {} has told {} (ICMP), the next hop takes {}",
                              tunnel.end.to_string(), tunnel.path, tunnel.next_hop));
  why.push_back(
      fmt::format("as ESP to {} {} bytes become {} at most", tunnel.end.to_string(), tunnel.inner,
                  tunnel.path == 0 ? tunnel.next_hop : std::min(tunnel.path, tunnel.next_hop)));
  return {{"spi", to_string(packet.spi)},
          {"end", tunnel.end.to_string()},
          {"next_hop_mtu", tunnel.next_hop},
          {"path_mtu", tunnel.path == 0 ? json() : json(tunnel.path)},
          {"mtu", tunnel.inner}};
}

json show_path(const MtuPath& path, const Routing& routing) {
  const auto& [explanation, packet] = path;
  std::vector<std::string> why;
  json ways = json::array(), least;
  if (explanation.group)
    for (const GroupMemberView& member : explanation.group->members) {
      if (member.dead) continue;
      ways.push_back(show_way(member, routing, why));
      const json& mtu = ways.back()["mtu"];
      if (!mtu.is_null() && (least.is_null() || mtu < least)) least = mtu;
    }
  json tunnel = show_tunnel(packet, why);
  if (!tunnel.is_null()) least = packet.tunnel.inner;
  if (packet.spi != 0 && tunnel.is_null()) least = json();
  if (packet.reason != Reason::kNone) {
    least = json();
    why.push_back(fmt::format("a packet to it does not go on: {}, {}", info(packet.reason).name,
                              info(packet.reason).description));
  }
  return {{"address", explanation.address.to_string()},
          {"from", packet.source.to_string()},
          {"match", explanation.match ? json(explanation.match->to_string()) : json()},
          {"mtu", least},
          {"ways", ways},
          {"tunnel", tunnel},
          {"why", why}};
}

}  // namespace

json show_mtu(const MtuSources& sources, const MtuPath* path) {
  const auto& [interfaces, routing, plane, bridges] = sources;
  const std::vector<BridgeStatus> all_bridges =
      bridges == nullptr ? std::vector<BridgeStatus>{} : bridges->status();
  json list = json::array();
  for (const auto& [id, interface] : interfaces.all()) {
    if (const auto port = plane.port(interface.port_name))
      list.push_back(show_interface(interface, routing, *port));
    for (const BridgeStatus& bridge : all_bridges)
      if (bridge.ifindex == interface.bridge)
        list.push_back(show_bridge_interface(interface, routing, bridge));
  }
  return {{"interfaces", list}, {"path", path == nullptr ? json() : show_path(*path, routing)}};
}

}  // namespace hecto::router
