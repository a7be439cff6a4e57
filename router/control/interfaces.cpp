// The router's interfaces: made with their ports, followed through link changes, shown to Linux.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/router.hpp"

namespace hecto::router {

Result<void> Router::add_interfaces(Port& port, const config::PortConfig& config) {
  Interface untagged;
  untagged.name = config.name;
  untagged.port_name = config.name;
  untagged.port = port.id();
  untagged.mac = port.mac();
  untagged.mtu = port.mtu();
  untagged.port_up = port.link().up;
  untagged.urpf = config.urpf;
  untagged.counters = config.counters;
  untagged.addresses = config.addresses;
  if (auto added = add_interface(untagged); !added) return tl::unexpected(added.error());
  for (const config::VlanConfig& vlan : config.vlans) {
    Interface tagged = untagged;
    tagged.name = fmt::format("{}.{}", config.name, vlan.id);
    tagged.vlan = vlan.id;
    tagged.mtu = std::min(vlan.mtu.value_or(port.mtu()), port.mtu());
    tagged.urpf = vlan.urpf;
    tagged.addresses = vlan.addresses;
    if (auto added = add_interface(tagged); !added) return tl::unexpected(added.error());
  }
  return {};
}

Result<Interface*> Router::add_interface(Interface interface) {
  interface.id = interfaces_.free_id();
  if (interface.id == kNoInterface)
    return fail(fmt::format("interface {}: {} is the most there can be", interface.name,
                            kMaxInterfaceId + 1));
  if (linux_side_ && !interface.made_by_linux) {
    const Mempool* pool = dataplane_->pool_of(interface.port_name);
    auto twin = linux_side_->make_twin(interface, pool->get());
    if (!twin) return tl::unexpected(twin.error());
    interface.twin = std::move(*twin);
    if (xfrm_mirror_)
      if (auto done = exempt_from_xfrm(linux_side_->space(), interface.name); !done)
        note("ipsec: " + done.error().message);
    interface.ifindex = interface.twin->tap.ifindex();
    (void)interface.twin->tap.set_carrier(interface.port_up);
  }
  if (auto done = routing().add_interface(interface.state()); !done)
    return tl::unexpected(done.error());
  if (sampler_) sampler_->reset_interface(interface.id);
  Interface& stored = interfaces_.insert(std::move(interface));
  refresh_interface(stored);
  return &stored;
}

void Router::remove_interface(InterfaceId id) {
  (void)routing().remove_interface(id);
  dataplane_->remove_interface(id);
  interfaces_.erase(id);
  snapshot_dirty_ = true;
}

void Router::update_twins() {
  dataplane_->set_twins(interfaces_.twins());
}

void Router::refresh_interface(Interface& interface) {
  const InterfaceState state = interface.state();
  InterfaceSetup setup;
  setup.id = interface.id;
  setup.port = interface.port;
  setup.vlan = interface.vlan;
  setup.up = routing().interfaces().up(state);
  setup.urpf = interface.urpf;
  setup.counters = interface.counters;
  setup.addresses = routing().interfaces().addresses(state);
  dataplane_->set_interface(setup);
  snapshot_dirty_ = true;
}

void Router::poll_links() {
  for (const auto& [name, port] : dataplane_->ports()) {
    const bool up = port->present() && port->link().up;
    for (auto& [id, interface] : interfaces_.all()) {
      if (interface.port != port->id() || interface.port_up == up) continue;
      interface.port_up = up;
      if (interface.vlan == 0) spdlog::info("port {}: link {}", name, up ? "up" : "down");
      (void)routing().update_interface(interface.state());
      if (interface.twin) (void)interface.twin->tap.set_carrier(up);
      refresh_interface(interface);
    }
  }
}

// A VLAN device that somebody made on one of our TAPs is an interface of ours.
void Router::adopt_vlan_device(const LinuxLink& link) {
  Interface* parent = interfaces_.by_ifindex(link.parent);
  if (parent == nullptr || parent->vlan != 0) return;
  if (const Interface* taken = interfaces_.find(parent->port, link.vlan)) {
    note(fmt::format("Linux's {}: VLAN {} of {} is {} already; left alone", link.name, link.vlan,
                     parent->name, taken->name));
    return;
  }
  Interface interface;
  interface.name = link.name;
  interface.port_name = parent->port_name;
  interface.port = parent->port;
  interface.vlan = link.vlan;
  interface.made_by_linux = true;
  interface.mac = link.mac;
  interface.mtu = parent->mtu;  // Linux's own counts, too, where it is less
  interface.port_up = parent->port_up;
  interface.ifindex = link.ifindex;
  if (auto added = add_interface(interface); !added) {
    note(added.error().message);
    return;
  }
  spdlog::info("interface {}: VLAN {} of {}, made in Linux", link.name, link.vlan, parent->name);
  update_twins();
}

// After the port's has changed: no interface of it sends more than the port does.
void Router::update_mtus(const Port& port) {
  for (auto& [id, interface] : interfaces_.all()) {
    if (interface.port != port.id()) continue;
    uint16_t mtu = port.mtu();
    for (const config::VlanConfig& vlan : port.config().vlans)
      if (vlan.id == interface.vlan) mtu = std::min(vlan.mtu.value_or(mtu), mtu);
    if (interface.mtu == mtu) continue;
    interface.mtu = mtu;
    if (interface.twin && interface.vlan != 0) (void)interface.twin->tap.set_mtu(mtu);
    (void)routing().update_interface(interface.state());
  }
}

void Router::on_linux_link(const LinuxLink& link, bool removed) {
  Interface* interface = interfaces_.by_ifindex(link.ifindex);
  if (interface == nullptr) {
    if (!removed && link.vlan != 0) adopt_vlan_device(link);
    return;
  }
  if (removed && interface->made_by_linux) {
    spdlog::info("interface {}: removed in Linux", interface->name);
    remove_interface(interface->id);
    update_twins();
    return;
  }
  if (!removed && interface->vlan == 0 && link.mtu != interface->mtu && link.mtu <= 65535) {
    Port* port = dataplane_->port(interface->port_name);
    const auto mtu = static_cast<uint16_t>(link.mtu);
    if (auto done = port->set_mtu(mtu); done) {
      spdlog::info("port {}: MTU {} from Linux", interface->name, mtu);
      update_mtus(*port);
    } else if (mtu > port->mtu()) {
      note("Linux wants another MTU, the port keeps its own: " + done.error().message);
    }
  }
  const bool was_up = dataplane_->snapshot().interfaces[interface->id].up;
  refresh_interface(*interface);
  // Setting a link down makes Linux forget IPv6 addresses and routes: the file's come back.
  if (removed || was_up || !link.up || !link.carrier) return;
  restore_linux_state(*interface);
  write_file_routes(config_.routes, false);
}

void Router::restore_linux_state(const Interface& interface) {
  if (!linux_side_ || interface.made_by_linux) return;
  std::vector<std::string> refusals;
  linux_side_->write_addresses(interface, refusals);
  for (const std::string& refusal : refusals) note(refusal);
  for (const config::NeighborConfig& neighbor : config_.neighbors) {
    if (neighbor.interface != interface.name) continue;
    if (auto done = linux_side_->requests().set_permanent_neighbor(interface.ifindex,
                                                                   neighbor.address, neighbor.mac);
        !done)
      note(done.error().message);
  }
}

}  // namespace hecto::router
