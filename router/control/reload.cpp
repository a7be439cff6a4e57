// A reload: what can fail is prepared first and taken back if anything does; then the rest, which
// cannot, is applied. Ports that stay forward all the while.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>

#include "router/control/router.hpp"
#include "router/ipsec/ipsec_config.hpp"

namespace hecto::router {

struct Router::Rollback {
  explicit Rollback(Router& r) : router(r), placement(r.placement_) {}
  ~Rollback() {
    if (kept) return;
    for (const std::string& name : added) router.remove_port(name);
    router.placement_ = std::move(placement);
    for (const auto& [name, mtu] : mtus)
      if (Port* port = router.dataplane_->port(name)) (void)port->set_mtu(mtu);
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;

  Router& router;
  config::Placement placement;
  std::vector<std::string> added;
  std::vector<std::pair<std::string, uint16_t>> mtus;  // as they were
  bool kept = false;
};

// Where a new port's queues and buffers go, with the workers that run.
config::Placement Router::place_beside(const config::Config& wanted, const std::string& port,
                                       std::string& error) const {
  const config::Config running = config::resolved(config_, placement_);
  config::Config fixed = wanted;
  fixed.workers = running.workers;
  fixed.control_core = running.control_core;
  for (config::PortConfig& mine : fixed.ports)
    for (const config::PortConfig& theirs : running.ports)
      if (mine.name == theirs.name) mine.rx_queues = theirs.rx_queues;
  auto placement = config::place(fixed, topology_);
  if (!placement) {
    error = placement.error();
    return {};
  }
  keep_worker_ids(*placement, placement_);
  const bool placed = std::any_of(placement->ports.begin(), placement->ports.end(),
                                  [&](const config::PortPlacement& p) { return p.port == port; });
  if (!placed) error = fmt::format("port {}: no place was found for it", port);
  return std::move(*placement);
}

Result<void> Router::add_ports(const config::Config& wanted, const config::Difference& difference,
                               Rollback& rollback) {
  for (const config::PortConfig& config : difference.ports_added) {
    std::string error;
    config::Placement placement = place_beside(wanted, config.name, error);
    if (!error.empty()) return fail(error);
    auto port = Port::probe(config);
    if (!port) return tl::unexpected(port.error());
    if (auto done = dataplane_->add_port(std::move(*port), placement); !done) return done;
    ipsec_->offer_to_nics();
    rollback.added.push_back(config.name);
    Port& running = *dataplane_->port(config.name);
    sampler_->reset_port(running.id());
    if (auto done = add_interfaces(running, config); !done) return done;
    placement_ = std::move(placement);
  }
  return {};
}

Result<void> Router::change_mtus(const config::Difference& difference, Rollback& rollback) {
  for (const config::PortConfig& config : difference.ports_changed) {
    // One that the port refused at its start, or that Linux changed, is no matter of this reload.
    const auto running = std::find_if(config_.ports.begin(), config_.ports.end(),
                                      [&](const auto& p) { return p.name == config.name; });
    Port* port = dataplane_->port(config.name);
    if (port == nullptr || port->mtu() == config.mtu) continue;
    if (running != config_.ports.end() && running->mtu == config.mtu) continue;
    const uint16_t before = port->mtu();
    if (auto done = port->set_mtu(config.mtu); !done) return done;
    rollback.mtus.emplace_back(config.name, before);
  }
  return {};
}

void Router::remove_port(const std::string& name) {
  std::vector<InterfaceId> mine;
  for (const auto& [id, interface] : interfaces_.all())
    if (interface.port_name == name) mine.push_back(id);
  // The slow path first: it must not inject into a port that closes.
  for (const InterfaceId id : mine) interfaces_.find(id)->twin.reset();
  update_twins();
  for (const InterfaceId id : mine) remove_interface(id);
  routing().commit();
  dataplane_->remove_port(name);
  port_gone_.erase(name);
  // The plan shows what runs.
  std::erase_if(placement_.ports, [&](const auto& port) { return port.port == name; });
  for (config::WorkerPlacement& worker : placement_.workers)
    std::erase_if(worker.queues, [&](const auto& queue) { return queue.port == name; });
  for (config::PoolPlacement& pool : placement_.pools) std::erase(pool.ports, name);
}

void Router::change_port(const config::PortConfig& wanted) {
  Port& port = *dataplane_->port(wanted.name);
  if (wanted.promiscuous != port.config().promiscuous)
    if (auto done = port.set_promiscuous(wanted.promiscuous); !done) note(done.error().message);
  if (!wanted.vlans.empty() && port.driver() == "net_af_xdp")
    note(
        fmt::format("port {}: AF_XDP does not show VLAN tags that the kernel has taken off; reload "
                    "once without the port and then with it",
                    wanted.name));
  port.update(wanted);
  // VLANs that went, changed or came.
  std::vector<InterfaceId> gone;
  for (auto& [id, interface] : interfaces_.all()) {
    if (interface.port_name != wanted.name || interface.made_by_linux) continue;
    const bool untagged = interface.vlan == 0;
    const auto vlan = std::find_if(wanted.vlans.begin(), wanted.vlans.end(),
                                   [tag = interface.vlan](const auto& v) { return v.id == tag; });
    if (!untagged && vlan == wanted.vlans.end()) {
      gone.push_back(id);
      continue;
    }
    const std::vector<IpPrefix>& addresses = untagged ? wanted.addresses : vlan->addresses;
    if (linux_side_)
      for (const IpPrefix& address : interface.addresses)
        if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
          (void)linux_side_->requests().remove_address(interface.ifindex, address);
    interface.addresses = addresses;
    interface.urpf = untagged ? wanted.urpf : vlan->urpf;
    interface.counters = wanted.counters;
    const uint16_t mtu =
        untagged ? port.mtu() : std::min(vlan->mtu.value_or(port.mtu()), port.mtu());
    if (mtu != interface.mtu && interface.twin) (void)interface.twin->tap.set_mtu(mtu);
    interface.mtu = mtu;
    (void)routing().update_interface(interface.state());
    refresh_interface(interface);
  }
  for (const InterfaceId id : gone) remove_interface(id);
  update_mtus(port);  // those that Linux made
  for (const config::VlanConfig& vlan : wanted.vlans) {
    if (interfaces_.find(port.id(), vlan.id) != nullptr) continue;
    Interface tagged = *interfaces_.find(port.id(), 0);
    tagged.name = fmt::format("{}.{}", wanted.name, vlan.id);
    tagged.vlan = vlan.id;
    tagged.mtu = std::min(vlan.mtu.value_or(port.mtu()), port.mtu());
    tagged.urpf = vlan.urpf;
    tagged.addresses = vlan.addresses;
    tagged.ifindex = 0;
    tagged.twin.reset();
    if (auto added = add_interface(tagged); !added) note(added.error().message);
  }
}

// Interfaces and gateways that routes and neighbors name, against the wanted ports and what Linux
// has on ours.
std::vector<std::string> Router::check_references(const config::Config& wanted,
                                                  const config::Difference& difference) {
  std::vector<std::string> problems;
  const auto interface_there = [&](const std::string& name) {
    for (const config::PortConfig& port : wanted.ports) {
      if (port.name == name) return true;
      for (const config::VlanConfig& vlan : port.vlans)
        if (fmt::format("{}.{}", port.name, vlan.id) == name) return true;
    }
    const Interface* made = interfaces_.find(name);
    return made != nullptr && made->made_by_linux;
  };
  const auto covered = [&](const IpAddress& gateway) {
    const auto holds = [&](const IpPrefix& a) { return a.network().contains(gateway); };
    for (const config::PortConfig& port : wanted.ports) {
      if (std::any_of(port.addresses.begin(), port.addresses.end(), holds)) return true;
      for (const config::VlanConfig& vlan : port.vlans)
        if (std::any_of(vlan.addresses.begin(), vlan.addresses.end(), holds)) return true;
    }
    return linux_side_ && routing().interfaces().covering(gateway) != kNoInterface;
  };
  for (const config::NeighborConfig& neighbor : difference.neighbors_added)
    if (!interface_there(neighbor.interface))
      problems.push_back(fmt::format("neighbor {}: there is no interface {}",
                                     neighbor.address.to_string(), neighbor.interface));
  for (const config::RouteConfig& route : difference.routes_added) {
    for (const config::NextHopConfig& via : route.via) {
      if (via.interface.empty() ? covered(via.gateway) : interface_there(via.interface)) continue;
      problems.push_back(
          fmt::format("route {}: gateway {}: {}", route.to.to_string(), via.gateway.to_string(),
                      via.interface.empty() ? "no interface has an address in its subnet"
                                            : "there is no interface " + via.interface));
    }
  }
  return problems;
}

tl::expected<std::vector<std::string>, std::vector<std::string>> Router::reload(
    const config::Config& wanted) {
  const auto refused = [](const Error& error) {
    return tl::unexpected(std::vector<std::string>{error.message});
  };
  auto difference = config::diff(config_, wanted);
  if (!difference) return tl::unexpected(difference.error());

  Rollback rollback(*this);
  if (auto done = add_ports(wanted, *difference, rollback); !done) return refused(done.error());
  if (auto done = change_mtus(*difference, rollback); !done) return refused(done.error());
  std::vector<std::string> problems = check_references(wanted, *difference);
  std::map<std::string, std::shared_ptr<const RouteTable>> tables;
  for (const std::string& file : difference->route_files_added) {
    auto table = read_route_file(file);
    if (table)
      tables[file] = *table;
    else
      problems.push_back(table.error().message);
  }
  for (std::string& problem : check_ipsec(*ipsec_, *difference))
    problems.push_back(std::move(problem));
  if (!problems.empty()) return tl::unexpected(problems);
  rollback.kept = true;

  write_file_routes(difference->routes_removed, true);
  for (const config::RouteConfig& route : difference->routes_removed)
    (void)remove_route(route.to, route.metric, RouteOrigin::kFile);
  for (const config::NeighborConfig& neighbor : difference->neighbors_removed)
    if (Interface* interface = interfaces_.find(neighbor.interface)) {
      (void)routing().remove_neighbor(interface->id, neighbor.address);
      if (linux_side_)
        (void)linux_side_->requests().remove_neighbor(interface->ifindex, neighbor.address);
    }
  for (const std::string& file : difference->route_files_removed)
    if (auto load = file_loads_.extract(file); !load.empty()) routing().remove_load(load.mapped());
  for (const config::PortConfig& port : difference->ports_changed) change_port(port);
  for (const std::string& name : difference->ports_removed) remove_port(name);

  config_ = wanted;
  loaded_unix_s_ = std::time(nullptr);
  apply_settings();
  for (const config::NeighborConfig& neighbor : difference->neighbors_added)
    if (Interface* interface = interfaces_.find(neighbor.interface))
      if (auto done = routing().add_neighbor(interface->id, neighbor.address, neighbor.mac); !done)
        note(done.error().message);
  for (const config::RouteConfig& route : difference->routes_added)
    if (auto done = add_route(route, RouteOrigin::kFile); !done) note(done.error().message);
  for (const auto& [id, interface] : interfaces_.all()) restore_linux_state(interface);
  write_file_routes(config_.routes, false);
  for (const auto& [file, table] : tables)
    if (auto done = load_route_file(file, table); !done) note(done.error().message);
  for (const std::string& refused : apply_ipsec(*ipsec_, *difference)) note(refused);
  update_twins();
  routing().commit();
  dataplane_->publish();
  for (const std::string& line : difference->lines) spdlog::info("reload: {}", line);
  return difference->lines;
}

}  // namespace hecto::router
