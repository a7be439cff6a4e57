#include "router/control/reload.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "config/file/diff.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/notes.hpp"
#include "router/control/route_control.hpp"
#include "router/control/running.hpp"
#include "router/ipsec/ipsec_config.hpp"

namespace hecto::router {
namespace {

using RouteTables = std::map<std::string, std::shared_ptr<const RouteTable>>;  // by file

// What can fail. Takes itself back unless it is kept.
class Preparation {
 public:
  explicit Preparation(const Parts& parts) : parts_(parts), placement_(parts.running.placement) {}
  ~Preparation() {
    if (kept_) return;
    for (const std::string& name : added_) parts_.interfaces.remove_port(name);
    parts_.running.placement = std::move(placement_);
    for (const auto& [name, mtu] : mtus_) (void)parts_.plane.set_mtu(name, mtu);
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  Result<void> add_port(const config::Config& wanted, const config::PortConfig& port);
  Result<void> change_mtu(const config::PortConfig& wanted);
  void keep() { kept_ = true; }

 private:
  const Parts& parts_;
  config::Placement placement_;
  std::vector<std::string> added_;
  std::vector<std::pair<std::string, uint16_t>> mtus_;  // as they were
  bool kept_ = false;
};

Result<void> Preparation::add_port(const config::Config& wanted, const config::PortConfig& port) {
  auto placement = place_beside(parts_.running, wanted, port.name);
  if (!placement) return tl::unexpected(placement.error());
  if (auto done = parts_.interfaces.add_port(port, *placement); !done) return done;
  added_.push_back(port.name);
  parts_.running.placement = std::move(*placement);
  return {};
}

Result<void> Preparation::change_mtu(const config::PortConfig& wanted) {
  // One that the port refused at its start, or that Linux changed, is no matter of this reload.
  const auto& ports = parts_.running.config.ports;
  const auto running = std::find_if(ports.begin(), ports.end(),
                                    [&](const auto& p) { return p.name == wanted.name; });
  const auto port = parts_.plane.port(wanted.name);
  if (!port || port->mtu == wanted.mtu) return {};
  if (running != ports.end() && running->mtu == wanted.mtu) return {};
  if (auto done = parts_.plane.set_mtu(wanted.name, wanted.mtu); !done) return done;
  mtus_.emplace_back(wanted.name, port->mtu);
  return {};
}

// Names and gateways of routes and neighbors, against the wanted ports and what Linux has on ours.
class References {
 public:
  References(const Parts& parts, const config::Config& wanted) : parts_(parts), wanted_(wanted) {}

  void check(const config::Difference& difference, std::vector<std::string>& problems) const {
    for (const config::NeighborConfig& neighbor : difference.neighbors_added)
      if (!interface_there(neighbor.interface))
        problems.push_back(fmt::format("neighbor {}: there is no interface {}",
                                       neighbor.address.to_string(), neighbor.interface));
    for (const config::RouteConfig& route : difference.routes_added)
      for (const config::NextHopConfig& via : route.via) check(route, via, problems);
  }

 private:
  void check(const config::RouteConfig& route, const config::NextHopConfig& via,
             std::vector<std::string>& problems) const {
    if (via.interface.empty() ? covered(via.gateway) : interface_there(via.interface)) return;
    problems.push_back(
        fmt::format("route {}: gateway {}: {}", route.to.to_string(), via.gateway.to_string(),
                    via.interface.empty() ? "no interface has an address in its subnet"
                                          : "there is no interface " + via.interface));
  }

  bool interface_there(const std::string& name) const {
    for (const config::PortConfig& port : wanted_.ports) {
      if (port.name == name) return true;
      for (const config::VlanConfig& vlan : port.vlans)
        if (fmt::format("{}.{}", port.name, vlan.id) == name) return true;
    }
    const Interface* made = parts_.interfaces.table().find(name);
    return made != nullptr && made->made_by_linux;
  }

  bool covered(const IpAddress& gateway) const {
    const auto holds = [&](const IpPrefix& a) { return a.network().contains(gateway); };
    for (const config::PortConfig& port : wanted_.ports) {
      if (std::any_of(port.addresses.begin(), port.addresses.end(), holds)) return true;
      for (const config::VlanConfig& vlan : port.vlans)
        if (std::any_of(vlan.addresses.begin(), vlan.addresses.end(), holds)) return true;
    }
    return parts_.interfaces.with_linux() &&
           parts_.routing.interfaces().covering(gateway) != kNoInterface;
  }

  const Parts& parts_;
  const config::Config& wanted_;
};

RouteTables read_route_files(const Parts& parts, const config::Difference& difference,
                             std::vector<std::string>& problems) {
  RouteTables tables;
  for (const std::string& file : difference.route_files_added) {
    auto table = parts.routes.read_file(file);
    if (table)
      tables[file] = *table;
    else
      problems.push_back(table.error().message);
  }
  return tables;
}

void take_away(const Parts& parts, const config::Difference& difference) {
  parts.routes.remove_from_linux(difference.routes_removed);
  for (const config::RouteConfig& route : difference.routes_removed)
    (void)parts.routes.remove(route.to, route.metric, RouteOrigin::kFile);
  for (const config::NeighborConfig& neighbor : difference.neighbors_removed)
    parts.interfaces.remove_neighbor(neighbor);
  for (const std::string& file : difference.route_files_removed) parts.routes.unload_file(file);
  for (const config::PortConfig& port : difference.ports_changed)
    parts.interfaces.change_port(port);
  for (const std::string& name : difference.ports_removed) {
    parts.interfaces.remove_port(name);
    remove_port(parts.running.placement, name);
  }
}

void put_in_place(const Parts& parts, const config::Difference& difference,
                  const RouteTables& tables) {
  Notes& notes = parts.notes;
  for (const config::NeighborConfig& neighbor : difference.neighbors_added) {
    // A VLAN device of Linux may have gone with its port.
    if (parts.interfaces.table().find(neighbor.interface) == nullptr) continue;
    if (auto done = parts.interfaces.add_neighbor(neighbor); !done) notes.add(done.error().message);
  }
  for (const config::RouteConfig& route : difference.routes_added)
    if (auto done = parts.routes.add(route, RouteOrigin::kFile); !done)
      notes.add(done.error().message);
  parts.interfaces.write_to_linux();
  parts.routes.write_to_linux();
  for (const auto& [file, table] : tables)
    if (auto done = parts.routes.load_file(file, table); !done) notes.add(done.error().message);
  for (const std::string& refused : apply_ipsec(parts.ipsec, difference)) notes.add(refused);
  parts.interfaces.update_twins();
}

}  // namespace

tl::expected<std::vector<std::string>, std::vector<std::string>> reload(
    const Parts& parts, const config::Config& wanted) {
  const auto refused = [](const Error& error) {
    return tl::unexpected(std::vector<std::string>{error.message});
  };
  auto difference = config::diff(parts.running.config, wanted);
  if (!difference) return tl::unexpected(difference.error());

  Preparation preparation(parts);
  for (const config::PortConfig& port : difference->ports_added)
    if (auto done = preparation.add_port(wanted, port); !done) return refused(done.error());
  for (const config::PortConfig& port : difference->ports_changed)
    if (auto done = preparation.change_mtu(port); !done) return refused(done.error());
  std::vector<std::string> problems;
  References(parts, wanted).check(*difference, problems);
  const RouteTables tables = read_route_files(parts, *difference, problems);
  for (std::string& problem : check_ipsec(parts.ipsec, *difference))
    problems.push_back(std::move(problem));
  if (!problems.empty()) return tl::unexpected(problems);
  preparation.keep();

  take_away(parts, *difference);
  parts.running.config = wanted;
  parts.running.loaded_unix_s = std::time(nullptr);
  parts.plane.configure(wanted);
  spdlog::set_level(spdlog::level::from_str(wanted.log_level));
  put_in_place(parts, *difference, tables);
  parts.routing.commit();
  parts.plane.publish();
  for (const std::string& line : difference->lines) spdlog::info("reload: {}", line);
  return difference->lines;
}

}  // namespace hecto::router
