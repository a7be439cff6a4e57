// Devices that somebody made in Linux on our TAPs, or on others of these: VLAN devices, by one tag or
// two, and macvlans are interfaces of ours.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/notes.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

// What a device on one of ours is that the fast path has no interface for; empty: it has.
std::string what_left_out(const LinuxLink& link, const Interface& parent) {
  if (!link.left_out.empty()) return link.left_out;
  if (link.vlan == 0) return parent.bridge != 0 ? "a macvlan on a bridge" : "";
  if (parent.tags.vlan == 0)
    return parent.bridge != 0 && link.service_tag ? "a VLAN of 802.1ad on a bridge" : "";
  if (parent.bridge != 0) return "a VLAN within one of a bridge";
  if (parent.parent != kNoInterface) return "a VLAN on a macvlan of another";
  if (parent.tags.count() == 2) return "a VLAN with three tags";
  return link.service_tag ? "a VLAN of 802.1ad within another" : "";
}

VlanTags tags_of(const LinuxLink& link, const Interface& parent) {
  if (link.vlan == 0) return parent.tags;
  if (parent.tags.vlan == 0) return {link.vlan, 0, link.service_tag};
  return {link.vlan, parent.tags.vlan, parent.tags.service};
}

}  // namespace

void InterfaceControl::adopt_device(const LinuxLink& link) {
  const Interface* parent = table_.by_ifindex(link.parent);
  const bool macvlan = link.vlan == 0;
  if (parent == nullptr || (macvlan && parent->parent != kNoInterface)) return;
  if (const std::string left_out = what_left_out(link, *parent); !left_out.empty()) {
    if (left_out_.insert(link.ifindex).second)
      notes_.add(
          fmt::format("Linux's {} is {}, on {}: left alone, the fast path has no interface for it",
                      link.name, left_out, parent->name));
    return;
  }
  const VlanTags tags = tags_of(link, *parent);
  const bool of_port = parent->bridge == 0;
  if (const Interface* taken = macvlan || !of_port ? nullptr : table_.find(parent->port, tags)) {
    notes_.add(fmt::format("Linux's {}: VLAN {} of {} is {} already; left alone", link.name,
                           to_string(tags), parent->port_name, taken->name));
    return;
  }
  Interface interface;
  interface.name = link.name;
  interface.port_name = parent->port_name;
  interface.port = parent->port;
  interface.bridge = parent->bridge;
  interface.tags = tags;
  interface.made_by_linux = true;
  if (macvlan) {
    interface.parent = parent->id;
    take_checks(interface, *parent);
  }
  interface.mac = link.mac;
  interface.mtu = parent->mtu;  // Linux's own counts, too, where it is less
  interface.up = parent->up;
  interface.ifindex = link.ifindex;
  const std::string on = parent->name;
  if (auto added = add(interface); !added) {
    notes_.add(added.error().message);
    return;
  }
  spdlog::info("interface {}: {} of {}, made in Linux", link.name,
               macvlan ? fmt::format("the address {}", to_string(link.mac))
                       : fmt::format("VLAN {}", to_string(tags)),
               on);
  update_twins();
  // Devices on it that Linux told of before it.
  for (const LinuxLink& above : routing_.interfaces().links_on(link.ifindex))
    if (table_.by_ifindex(above.ifindex) == nullptr) adopt_device(above);
}

std::string InterfaceControl::adopt_tunnel(const LinuxLink& tunnel) {
  if (table_.by_ifindex(tunnel.ifindex) != nullptr) return "";
  Interface interface;
  interface.name = tunnel.name;
  interface.port = kNoPort;
  interface.tunnel = true;
  interface.made_by_linux = true;
  interface.counters = true;
  interface.mtu = 65535;  // Linux's counts
  interface.ifindex = tunnel.ifindex;
  if (auto added = add(interface); !added) return added.error().message;
  spdlog::info("interface {}: a tunnel ({}) from {} to {}, made in Linux", tunnel.name, tunnel.kind,
               tunnel.tunnel->local.to_string(), tunnel.tunnel->remote.to_string());
  return "";
}

std::string InterfaceControl::adopt_vrf(const LinuxLink& vrf) {
  if (table_.by_ifindex(vrf.ifindex) != nullptr) return "";
  Interface interface;
  interface.name = vrf.name;
  interface.port = kNoPort;
  interface.vrf_device = true;
  interface.made_by_linux = true;
  interface.counters = true;
  interface.mtu = 65535;  // Linux's counts
  interface.ifindex = vrf.ifindex;
  if (auto added = add(interface); !added) return added.error().message;
  spdlog::info("interface {}: a VRF that labels lead into, made in Linux", vrf.name);
  return "";
}

// A second tag, or one of 802.1ad, some drivers and kernels count as part of the packet.
void InterfaceControl::note_long_frames(const Interface& interface) {
  const auto port = plane_.port(interface.port_name);
  if (!interface.tags.stacked() || !port) return;
  const uint16_t most = port->mtu_behind(interface.tags);
  const uint16_t mtu = routing_.interfaces().mtu(interface);
  if (mtu > most)
    notes_.add(fmt::format(
        "interface {}: with its tags frames of {} bytes are longer than {} takes at the port's MTU "
        "of {}: {} fit; give it that MTU, or the port and its wire one of {}",
        interface.name, mtu, port->driver, port->mtu, most, port->mtu + mtu - most));
}

}  // namespace hecto::router
