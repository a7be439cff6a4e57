#include "router/control/interface_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/forwarding_plane.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/notes.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {

Result<void> InterfaceControl::add_port(const config::PortConfig& config,
                                        const config::Placement& placement) {
  auto port = plane_.add_port(config, placement);
  if (!port) return tl::unexpected(port.error());
  sampler_.reset_port(port->id);
  if (config.mac && port->mac != *config.mac)
    notes_.add(fmt::format("port {}: mac {} is not what it has: {} keeps {}", config.name,
                           to_string(*config.mac), port->driver, to_string(port->mac)));
  auto done = add_interfaces(*port, config);
  if (!done) remove_port(config.name);
  return done;
}

Result<void> InterfaceControl::add_interfaces(const PortStatus& port,
                                              const config::PortConfig& config) {
  Interface untagged;
  untagged.name = config.name;
  untagged.port_name = config.name;
  untagged.port = port.id;
  untagged.mac = port.mac;
  untagged.mtu = port.mtu;
  untagged.up = port.link.up;
  untagged.urpf = config.urpf;
  untagged.clamps_mss = config.mss_clamp == config::MssClamp::kAuto;
  untagged.counters = config.counters;
  untagged.addresses = config.addresses;
  untagged.vrf = {config.vrf, config.vrf_table};
  if (auto added = add(untagged); !added) return added;
  for (const config::VlanConfig& vlan : config.vlans)
    if (auto added = add(tagged(untagged, port, vlan)); !added) return added;
  return {};
}

// A VLAN of the file beside its port's untagged interface.
Interface InterfaceControl::tagged(Interface untagged, const PortStatus& port,
                                   const config::VlanConfig& vlan) const {
  Interface tagged = std::move(untagged);
  tagged.name = config::interface_name(tagged.port_name, vlan);
  tagged.tags = vlan.tags();
  tagged.mtu = std::min(vlan.mtu.value_or(port.mtu), port.mtu);
  tagged.urpf = vlan.urpf;
  tagged.clamps_mss = vlan.mss_clamp == config::MssClamp::kAuto;
  tagged.addresses = vlan.addresses;
  tagged.vrf = {vlan.vrf, vlan.vrf_table};
  tagged.ifindex = 0;
  tagged.has_twin = tagged.twin_gone = false;
  return tagged;
}

static_assert(config::kMostInterfaces == kMaxInterfaceId + 1);

Result<void> InterfaceControl::add(Interface interface) {
  interface.id = id_for(interface);
  if (interface.id == kNoInterface)
    return fail(fmt::format("interface {}: {} is the most there can be", interface.name,
                            kMaxInterfaceId + 1));
  if (linux_ != nullptr && !interface.made_by_linux) {
    const auto ifindex = linux_->make_twin(interface);
    if (!ifindex) return tl::unexpected(ifindex.error());
    interface.has_twin = true;
    interface.ifindex = *ifindex;
    linux_->set_twin_carrier(interface.id, interface.up);
  }
  if (auto done = routing_.add_interface(interface); !done) {
    if (interface.has_twin) linux_->remove_twin(interface.id);
    return done;
  }
  sampler_.reset_interface(interface.id);
  Interface& added = table_.insert(std::move(interface));
  // What a label has led into a VRF, Linux sends as its own: no switch holds for it.
  if (linux_ != nullptr && !added.vrf_device)
    if (const auto now = linux_->switches({added.name}); now && now->front())
      take_switches(added, in_force(*now->front()));
  refresh(added);
  note_long_frames(added);
  return {};
}

void InterfaceControl::remove(InterfaceId id) {
  for (const InterfaceId macvlan : routing_.interfaces().macvlans(id)) remove(macvlan);
  (void)routing_.remove_interface(id);
  plane_.remove_interface(id);
  if (linux_ != nullptr) linux_->remove_twin(id);
  table_.erase(id);
  mending_.erase(id);
}

void InterfaceControl::remove_port(const std::string& name) {
  std::vector<InterfaceId> mine;
  for (auto& [id, interface] : table_.all()) {
    if (interface.port_name != name) continue;
    mine.push_back(id);
    if (linux_ != nullptr) linux_->remove_twin(id);
    interface.has_twin = false;
  }
  // The slow path first: it must not inject into a port that closes.
  update_twins();
  // The next one with the number of an interface inherits nothing.
  for (const config::NeighborConfig& neighbor : running_.config.neighbors)
    if (const Interface* on = table_.find(neighbor.interface); on && on->port_name == name)
      (void)routing_.remove_neighbor(on->id, neighbor.address);
  for (const InterfaceId id : mine) remove(id);
  routing_.commit();
  plane_.remove_port(name);
  port_gone_.erase(name);
  reopening_.erase(name);
  lost_ports_.erase(name);
}

void InterfaceControl::update_twins() {
  if (linux_ != nullptr) linux_->deliver(table_);
}

void InterfaceControl::refresh(const Interface& interface) {
  const Interfaces& known = routing_.interfaces();
  Interface seen = interface;
  seen.mtu = known.mtu(interface);
  plane_.set_interface(seen, known.up(interface), known.addresses(interface));
}

Result<void> InterfaceControl::change_port(const config::PortConfig& wanted) {
  auto port = plane_.port(wanted.name);
  if (!port) {  // its device is back but refuses: what it is to be it becomes with it
    if (const auto lost = lost_ports_.find(wanted.name); lost != lost_ports_.end())
      lost->second.status.config = wanted;
    return {};
  }
  const Interface* const own = table_.find(port->id, VlanTags{});
  const bool bridged = own != nullptr && own->bridged;
  if (wanted.promiscuous != port->config.promiscuous && !bridged)
    if (auto done = plane_.set_promiscuous(wanted.name, wanted.promiscuous); !done) return done;
  // AF_XDP does not show VLAN tags that the kernel has taken off.
  if (!wanted.vlans.empty() && port->driver == "net_af_xdp") {
    if (auto done = remake_port(wanted); !done) return done;
    port = plane_.port(wanted.name);
    notes_.add(
        fmt::format("port {}: opened anew as {}, which shows VLAN tags; packets of that "
                    "moment are lost",
                    wanted.name, port->driver));
  }
  plane_.update_config(wanted);
  port->config = wanted;
  // VLANs that went, changed or came.
  std::vector<InterfaceId> gone;
  for (auto& [id, interface] : table_.all()) {
    if (interface.port_name != wanted.name || interface.made_by_linux) continue;
    const auto is_it = [&tags = interface.tags](const auto& vlan) { return vlan.tags() == tags; };
    if (interface.tags.vlan != 0 && std::none_of(wanted.vlans.begin(), wanted.vlans.end(), is_it))
      gone.push_back(id);
    else if (auto done = change(interface, *port, wanted); !done)
      return done;
  }
  for (const InterfaceId id : gone) remove(id);
  if (!gone.empty()) update_twins();  // the slow path lets go of their TAPs
  update_mtus(*port);                 // those that Linux made
  for (const config::VlanConfig& vlan : wanted.vlans) {
    if (table_.find(port->id, vlan.tags()) != nullptr) continue;
    if (auto added = add(tagged(*table_.find(port->id, VlanTags{}), *port, vlan)); !added)
      return added;
  }
  return {};
}

Result<void> InterfaceControl::change(Interface& interface, const PortStatus& port,
                                      const config::PortConfig& wanted) {
  const bool untagged = interface.tags.vlan == 0;
  const auto vlan = std::find_if(wanted.vlans.begin(), wanted.vlans.end(),
                                 [&](const auto& v) { return v.tags() == interface.tags; });
  const std::vector<IpPrefix>& addresses = untagged ? wanted.addresses : vlan->addresses;
  if (linux_ != nullptr)
    for (const IpPrefix& address : interface.addresses)
      if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
        (void)linux_->remove_address(interface.ifindex, address);
  interface.addresses = addresses;
  interface.vrf = untagged ? Vrf{wanted.vrf, wanted.vrf_table} : Vrf{vlan->vrf, vlan->vrf_table};
  interface.urpf = untagged ? wanted.urpf : vlan->urpf;
  const config::MssClamp clamp = untagged ? wanted.mss_clamp : vlan->mss_clamp;
  interface.clamps_mss = clamp == config::MssClamp::kAuto;
  interface.counters = wanted.counters;
  const uint16_t mtu = untagged ? port.mtu : std::min(vlan->mtu.value_or(port.mtu), port.mtu);
  if (mtu != interface.mtu && interface.has_twin) linux_->set_twin_mtu(interface.id, mtu);
  interface.mtu = mtu;
  if (auto done = routing_.update_interface(interface); !done) return done;
  refresh(interface);
  for (const InterfaceId id : routing_.interfaces().macvlans(interface.id)) {
    Interface& macvlan = *table_.find(id);
    take_checks(macvlan, interface);
    refresh(macvlan);
  }
  return {};
}

Result<void> InterfaceControl::add_neighbor(const config::NeighborConfig& neighbor) {
  const Interface* interface = table_.find(neighbor.interface);
  if (interface == nullptr)
    return fail(fmt::format("neighbor {}: there is no interface {}", neighbor.address.to_string(),
                            neighbor.interface));
  return routing_.add_neighbor(interface->id, neighbor.address, neighbor.mac);
}

void InterfaceControl::remove_neighbor(const config::NeighborConfig& neighbor) {
  const Interface* interface = table_.find(neighbor.interface);
  if (interface == nullptr) return;
  (void)routing_.remove_neighbor(interface->id, neighbor.address);
  if (linux_ != nullptr) (void)linux_->remove_neighbor(interface->ifindex, neighbor.address);
}

std::vector<std::string> InterfaceControl::write_to_linux() {
  std::vector<std::string> refused;
  for (const auto& [id, interface] : table_.all())
    for (std::string& line : write_to_linux(interface)) refused.push_back(std::move(line));
  return refused;
}

std::vector<std::string> InterfaceControl::write_to_linux(const Interface& interface) {
  std::vector<std::string> refused;
  if (linux_ == nullptr || interface.made_by_linux || interface.twin_gone) return refused;
  for (const IpPrefix& address : interface.addresses)
    if (auto done = linux_->add_address(interface.ifindex, address); !done)
      refused.push_back(fmt::format("interface {}: address {}: {}", interface.name,
                                    address.to_string(), done.error().message));
  for (const config::NeighborConfig& neighbor : running_.config.neighbors) {
    if (neighbor.interface != interface.name) continue;
    if (auto done =
            linux_->set_permanent_neighbor(interface.ifindex, neighbor.address, neighbor.mac);
        !done)
      refused.push_back(done.error().message);
  }
  return refused;
}

void InterfaceControl::note_refusals(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) notes_.add(line);
}

void InterfaceControl::poll_links() {
  (void)plane_.follow_members();
  for (const PortStatus& port : plane_.ports()) {
    const bool up = port.up();
    for (auto& [id, interface] : table_.all()) {
      if (interface.port != port.id || interface.up == up) continue;
      interface.up = up;
      if (interface.tags.vlan == 0 && interface.parent == kNoInterface)
        spdlog::info("port {}: link {}", port.name(), up ? "up" : "down");
      (void)routing_.update_interface(interface);
      if (interface.has_twin) linux_->set_twin_carrier(id, up);
      refresh(interface);
    }
  }
}

// So many a second: each costs four to five small files.
void InterfaceControl::follow_switches() {
  constexpr size_t kAtOnce = 128;
  if (linux_ == nullptr || table_.all().empty()) return;
  std::vector<InterfaceId> ids;
  std::vector<std::string> names;
  auto at = table_.all().lower_bound(next_switches_);
  for (; at != table_.all().end() && ids.size() < kAtOnce; ++at) {
    if (at->second.vrf_device) continue;
    ids.push_back(at->first);
    names.push_back(at->second.name);
  }
  next_switches_ = at == table_.all().end() ? InterfaceId{0} : at->first;
  const auto now = linux_->switches(names);
  if (!now && !switches_unread_)
    notes_.add("Linux's switches (rp_filter, forwarding, …) cannot be read, those known stay: " +
               now.error().message);
  switches_unread_ = !now;
  if (!now) return;
  for (size_t i = 0; i < ids.size(); ++i) {
    Interface& interface = *table_.find(ids[i]);
    if (!(*now)[i] || interface.switches == in_force(*(*now)[i])) continue;
    take_switches(interface, in_force(*(*now)[i]));
    refresh(interface);
  }
}

// What goes back by its interface is for Linux to forward, which has no routes of the API and of
// route files: with such nothing is given to it, and no redirect is sent.
InterfaceSwitches InterfaceControl::in_force(InterfaceSwitches told) const {
  if (!running_.config.route_files.empty() ||
      routing_.counts().by_origin[static_cast<size_t>(RouteOrigin::kApi)] > 0)
    told.redirects4 = told.redirects6 = false;
  return told;
}

// Said where it takes something away that the router does by itself.
void InterfaceControl::take_switches(Interface& interface, const InterfaceSwitches& wanted) {
  const InterfaceSwitches before = std::exchange(interface.switches, wanted);
  const auto forwards = [](const InterfaceSwitches& s) {
    return std::pair(s.forwards4, s.forwards6);
  };
  if (forwards(before) != forwards(wanted))
    spdlog::warn("interface {}: by Linux's switches IPv4 is {}forwarded, IPv6 is {}forwarded",
                 interface.name, wanted.forwards4 ? "" : "not ", wanted.forwards6 ? "" : "not ");
  if (before.rp_filter != wanted.rp_filter)
    spdlog::info("interface {}: by Linux's rp_filter uRPF is {} for IPv4", interface.name,
                 to_string(std::max(wanted.rp_filter, interface.urpf)));
}

void InterfaceControl::refresh_addresses() {
  for (const auto& [id, interface] : table_.all())
    if (plane_.interface_addresses(id) != routing_.interfaces().addresses(interface))
      refresh(interface);
}

// What the file says of a wire holds for the macvlans on it.
void InterfaceControl::take_checks(Interface& macvlan, const Interface& parent) {
  macvlan.urpf = parent.urpf;
  macvlan.clamps_mss = parent.clamps_mss;
  macvlan.counters = parent.counters;
}

void InterfaceControl::set_bridged(InterfaceId id, bool bridged) {
  Interface* const interface = table_.find(id);
  if (interface == nullptr || interface->bridged == bridged) return;
  interface->bridged = bridged;
  if (bridged) interface->linux_only = false;
  if (const auto port = plane_.port(interface->port_name))
    if (auto done =
            plane_.set_promiscuous(interface->port_name, bridged || port->config.promiscuous);
        !done)
      notes_.add(fmt::format("port {}: a bridge's, but it takes only what is for it: {}",
                             interface->port_name, done.error().message));
  refresh(*interface);
  update_twins();
}

void InterfaceControl::adopt_bridge(const LinuxLink& bridge, const std::vector<LinuxLink>& on_it) {
  if (table_.by_ifindex(bridge.ifindex) == nullptr) {
    Interface interface;
    interface.name = bridge.name;
    interface.port = kNoPort;
    interface.bridge = bridge.ifindex;
    interface.made_by_linux = true;
    interface.mac = bridge.mac;
    interface.mtu = 65535;  // Linux's counts
    interface.ifindex = bridge.ifindex;
    if (auto added = add(interface); !added) {
      notes_.add(added.error().message);
      return;
    }
    spdlog::info("interface {}: a bridge, made in Linux", bridge.name);
  }
  for (const LinuxLink& link : on_it)
    if (table_.by_ifindex(link.ifindex) == nullptr) adopt_device(link);
}

void InterfaceControl::attach(InterfaceId id, std::vector<Attachment> attached) {
  Interface& interface = *table_.find(id);
  if (interface.attached == attached) return;
  interface.attached = std::move(attached);
  refresh(interface);
}

void InterfaceControl::drop(InterfaceId id, const std::string& why) {
  if (const Interface* const interface = table_.find(id)) {
    spdlog::info("interface {}: it is Linux's alone: {}", interface->name, why);
    remove(id);
    update_twins();
  }
}

// After the port's has changed: no interface of it sends more than the port does.
void InterfaceControl::update_mtus(const PortStatus& port) {
  for (auto& [id, interface] : table_.all()) {
    if (interface.port != port.id) continue;
    uint16_t mtu = port.mtu;
    for (const config::VlanConfig& vlan : port.config.vlans)
      if (vlan.tags() == interface.tags) mtu = std::min(vlan.mtu.value_or(mtu), mtu);
    if (interface.mtu == mtu) continue;
    interface.mtu = mtu;
    if (interface.has_twin && interface.tags.vlan != 0) linux_->set_twin_mtu(id, mtu);
    (void)routing_.update_interface(interface);
    refresh(interface);
  }
}

// The MTU that somebody gave the port's twin. One that is refused the twin does not keep: Linux
// would send what the port cannot.
void InterfaceControl::take_mtu(const Interface& interface, uint16_t mtu) {
  const auto done = plane_.set_mtu(interface.port_name, mtu);
  const auto port = plane_.port(interface.port_name);
  if (done) {
    spdlog::info("port {}: MTU {} from Linux", interface.name, mtu);
    update_mtus(*port);
  } else {
    notes_.add(fmt::format("Linux wants another MTU, the port and its TAP keep {}: {}", port->mtu,
                           done.error().message));
    linux_->set_twin_mtu(interface.id, port->mtu);
  }
}

bool InterfaceControl::follow_link(const LinuxLink& link, bool removed) {
  Interface* interface = table_.by_ifindex(link.ifindex);
  if (interface == nullptr) {
    if (removed) left_out_.erase(link.ifindex);
    if (!removed && link.parent != 0) adopt_device(link);
    return false;
  }
  if (removed && interface->made_by_linux) {
    spdlog::info("interface {}: removed in Linux", interface->name);
    remove(interface->id);
    update_twins();
    return false;
  }
  if (removed) return lose_twin(*interface);
  if (interface->made_by_linux && !link.name.empty() && link.name != interface->name) {
    interface->name = link.name;
    (void)routing_.update_interface(*interface);
  }
  if (interface->made_by_linux && link.mac != MacAddress{} && link.mac != interface->mac) {
    spdlog::info("interface {}: MAC {} in Linux", interface->name, to_string(link.mac));
    interface->mac = link.mac;
    (void)routing_.update_interface(*interface);
  }
  follow_twin(*interface, link);
  if (interface->tags.vlan == 0 && interface->has_twin && link.mtu != interface->mtu &&
      link.mtu <= 65535)
    take_mtu(*interface, static_cast<uint16_t>(link.mtu));
  const bool was_up = plane_.interface_up(interface->id);
  refresh(*interface);
  // Setting a link down makes Linux forget IPv6 addresses and routes: the file's come back.
  if (was_up || !link.up || !link.carrier) return false;
  note_refusals(write_to_linux(*interface));
  return true;
}

}  // namespace hecto::router
