#include "router/control/reload.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "config/file/diff.hpp"
#include "router/control/filter_control.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/idle_shortfalls.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/nat_control.hpp"
#include "router/control/notes.hpp"
#include "router/control/route_control.hpp"
#include "router/control/rule_control.hpp"
#include "router/control/running.hpp"
#include "router/ipsec/ipsec_config.hpp"

namespace hecto::router {
namespace {

// What routes and neighbors may name: interfaces of the wanted file, and those that Linux made.
std::set<std::string> interfaces_of(const Parts& parts, const config::Config& wanted) {
  std::set<std::string> names;
  for (const config::PortConfig& port : wanted.ports) {
    names.insert(port.name);
    for (const config::VlanConfig& vlan : port.vlans)
      names.insert(config::interface_name(port.name, vlan));
  }
  for (const auto& [id, interface] : parts.interfaces.table().all())
    if (interface.made_by_linux) names.insert(interface.name);
  return names;
}

// Names and gateways of routes and neighbors, against the wanted ports and what Linux has on ours.
class References {
 public:
  References(const Parts& parts, const config::Config& wanted)
      : parts_(parts), wanted_(wanted), interfaces_(interfaces_of(parts, wanted)) {}

  void check(const config::Difference& difference, std::vector<std::string>& problems) const {
    for (const config::NeighborConfig& neighbor : difference.neighbors_added)
      if (!interfaces_.contains(neighbor.interface))
        problems.push_back(fmt::format("neighbor {}: there is no interface {}",
                                       neighbor.address.to_string(), neighbor.interface));
    for (const config::RouteConfig& route : difference.routes_added)
      for (const config::NextHopConfig& via : route.via) check(route, via, problems);
  }

 private:
  void check(const config::RouteConfig& route, const config::NextHopConfig& via,
             std::vector<std::string>& problems) const {
    if (via.interface.empty() ? covered(via.gateway, route.table)
                              : interfaces_.contains(via.interface))
      return;
    problems.push_back(
        fmt::format("route {}: gateway {}: {}", route.to.to_string(), via.gateway.to_string(),
                    via.interface.empty() ? "no interface has an address in its subnet"
                                          : "there is no interface " + via.interface));
  }

  // By an interface of the VRF that has the table, or by one in no VRF.
  bool covered(const IpAddress& gateway, uint32_t table) const {
    const uint32_t vrf_table = config::vrf_table_of(wanted_, table);
    const auto holds = [&](const auto& interface) {
      return interface.vrf_table == vrf_table &&
             std::any_of(interface.addresses.begin(), interface.addresses.end(),
                         [&](const IpPrefix& a) { return a.network().contains(gateway); });
    };
    for (const config::PortConfig& port : wanted_.ports)
      if (holds(port) || std::any_of(port.vlans.begin(), port.vlans.end(), holds)) return true;
    return parts_.interfaces.with_linux() &&
           parts_.routing.interfaces().covering(gateway, table) != kNoInterface;
  }

  const Parts& parts_;
  const config::Config& wanted_;
  const std::set<std::string> interfaces_;
};

void check_devices(const Parts& parts, const config::Difference& difference,
                   std::vector<std::string>& problems) {
  for (const config::PortConfig& port : difference.ports_added)
    if (auto there = parts.plane.check_device(port); !there)
      problems.push_back(there.error().message);
}

void check_route_files(const config::Difference& difference, const ReadRouteFiles& files,
                       std::vector<std::string>& problems) {
  for (const std::string& path : difference.route_files_added) {
    const auto file = files.find(path);
    if (file == files.end())
      problems.push_back(path + ": was not read");
    else if (!file->second)
      problems.push_back(file->second.error().message);
  }
}

// The steps, each of which can be taken back. Takes all of them back unless they are kept.
class Application {
 public:
  Application(const Parts& parts, const config::Config& wanted,
              const config::Difference& difference, ReadRouteFiles& files,
              const ReloadStep& before_step)
      : parts_(parts),
        wanted_(wanted),
        difference_(difference),
        files_(files),
        before_step_(before_step) {}
  ~Application() { (void)take_back(); }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  Result<void> run();
  // All steps, in reverse; what could not be put back, a line each.
  std::vector<std::string> take_back();
  void finish();

 private:
  Result<void> begin(const std::string& step) const {
    return before_step_ ? before_step_(step) : Result<void>{};
  }
  void undo(std::function<void()> back) { undo_.push_back(std::move(back)); }
  template <typename Done>
  void put_back(const Done& done) {
    if (!done) stays(done.error().message);
  }
  void stays(const std::string& line) {
    parts_.notes.add("reload: not all could be put back: " + line);
    left_.push_back(std::string(kNotPutBack) + line);
  }
  void put_back_into_linux();
  void settle_gateways();

  Result<void> add_port(const config::PortConfig& port);
  Result<void> take_away_routes();
  Result<void> change_port(const config::PortConfig& wanted);
  Result<void> change_mtu(const config::PortConfig& wanted, const config::PortConfig& running);
  Result<void> change_rules();
  Result<void> change_filters();
  Result<void> change_nat();
  Result<void> follow_rules(const config::Config& config);
  Result<void> add_routes();
  Result<void> load_files();
  Result<void> tell_linux();
  Result<void> add_policies();
  Result<void> change_ipsec();
  void publish_ipsec();

  const Parts& parts_;
  const config::Config& wanted_;
  const config::Difference& difference_;
  ReadRouteFiles& files_;
  const ReloadStep& before_step_;
  std::vector<std::string> known_;  // what Linux has refused so far
  std::vector<std::function<void()>> undo_;
  std::vector<std::string> left_;  // that could not be put back
};

std::vector<std::string> Application::take_back() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
  undo_.clear();
  return std::exchange(left_, {});
}

Result<void> Application::run() {
  // What Linux refuses of what runs already is no matter of this reload.
  known_ = parts_.interfaces.write_to_linux();
  undo([this] { put_back_into_linux(); });
  // Before the ports that they are for.
  if (auto done = change_filters(); !done) return done;
  for (const config::PortConfig& port : difference_.ports_added)
    if (auto done = add_port(port); !done) return done;
  if (auto done = take_away_routes(); !done) return done;
  for (const config::PortConfig& port : difference_.ports_changed)
    if (auto done = change_port(port); !done) return done;
  if (auto done = change_rules(); !done) return done;
  if (auto done = change_nat(); !done) return done;
  // Policies before the routes that they are for.
  if (auto done = add_policies(); !done) return done;
  if (auto done = add_routes(); !done) return done;
  if (auto done = load_files(); !done) return done;
  undo([this, before = parts_.running.config] { parts_.running.config = before; });
  parts_.running.config = wanted_;
  if (auto done = tell_linux(); !done) return done;
  return change_ipsec();
}

// What Linux may have lost on the way there and back.
void Application::put_back_into_linux() {
  if (undo_.size() == 1) return;
  for (const std::string& refused : parts_.interfaces.write_to_linux())
    if (std::find(known_.begin(), known_.end(), refused) == known_.end()) stays(refused);
  parts_.routes.write_to_linux();
  parts_.interfaces.update_twins();
  put_back(follow_rules(parts_.running.config));  // for the interfaces as they are again
  publish_ipsec();
  parts_.routing.commit();
  parts_.plane.publish();
}

Result<void> Application::add_port(const config::PortConfig& port) {
  if (auto done = begin("port " + port.name); !done) return done;
  auto placement = place_beside(parts_.running, wanted_, port.name);
  if (!placement) return tl::unexpected(placement.error());
  if (auto done = parts_.interfaces.add_port(port, *placement); !done) return done;
  undo([this, name = port.name, before = parts_.running.placement] {
    parts_.interfaces.remove_port(name);
    parts_.running.placement = before;
  });
  parts_.running.placement = std::move(*placement);
  return follow_rules(wanted_);
}

Result<void> Application::take_away_routes() {
  if (auto done = begin("routes taken away"); !done) return done;
  parts_.routes.remove_from_linux(difference_.routes_removed);
  for (const config::RouteConfig& route : difference_.routes_removed) {
    (void)parts_.routes.remove(route.to, route.metric, RouteOrigin::kFile, route.table);
    undo([this, route] { put_back(parts_.routes.add(route, RouteOrigin::kFile)); });
  }
  for (const config::NeighborConfig& neighbor : difference_.neighbors_removed) {
    parts_.interfaces.remove_neighbor(neighbor);
    undo([this, neighbor] { put_back(parts_.interfaces.add_neighbor(neighbor)); });
  }
  return {};
}

Result<void> Application::change_port(const config::PortConfig& wanted) {
  if (auto done = begin("port " + wanted.name); !done) return done;
  const auto& ports = parts_.running.config.ports;
  const auto running = std::find_if(ports.begin(), ports.end(),
                                    [&](const auto& p) { return p.name == wanted.name; });
  if (running == ports.end()) return {};
  if (auto done = change_mtu(wanted, *running); !done) return done;
  const auto port = parts_.plane.port(wanted.name);
  undo([this, before = *running, driver = port ? port->driver : std::string()] {
    put_back(parts_.interfaces.change_port(before));
    put_back(parts_.interfaces.open_as_before(before, driver));
  });
  if (auto done = parts_.interfaces.change_port(wanted); !done) return done;
  return follow_rules(wanted_);
}

Result<void> Application::change_mtu(const config::PortConfig& wanted,
                                     const config::PortConfig& running) {
  // One that the port refused at its start, or that Linux changed, is no matter of this reload.
  const auto port = parts_.plane.port(wanted.name);
  if (!port || port->mtu == wanted.mtu || running.mtu == wanted.mtu) return {};
  if (auto done = parts_.plane.set_mtu(wanted.name, wanted.mtu); !done) return done;
  // The interfaces follow, also where nothing else of the port was changed.
  undo([this, running, mtu = port->mtu] {
    if (!parts_.plane.port(running.name)) return;  // it is lost, and that is told
    put_back(parts_.plane.set_mtu(running.name, mtu));
    put_back(parts_.interfaces.change_port(running));
  });
  return {};
}

Result<void> Application::change_rules() {
  if (difference_.rules_changed)
    if (auto done = begin("rules"); !done) return done;
  undo([this, before = parts_.running.config] { put_back(follow_rules(before)); });
  return follow_rules(wanted_);
}

Result<void> Application::change_filters() {
  if (!difference_.filters_changed) return {};
  if (auto done = begin("filters"); !done) return done;
  undo([this, before = parts_.filters.state()]() mutable {
    parts_.filters.put_back(std::move(before));
  });
  return parts_.filters.follow(wanted_);
}
Result<void> Application::change_nat() {
  if (difference_.nat_changed)
    if (auto done = begin("nat"); !done) return done;
  if (wanted_.nat.empty() && parts_.running.config.nat.empty()) return {};
  for (const std::string& line : nat_losses(wanted_.nat, parts_.plane)) spdlog::warn(line);
  undo([this, before = parts_.running.config.nat] {
    put_back(follow_nat(before, parts_.interfaces.table(), parts_.plane));
  });
  return follow_nat(wanted_.nat, parts_.interfaces.table(), parts_.plane);
}
// Rules where there is no Linux side, whose they would be, and filters. Behind each change of interfaces,
// before it is published: what comes in by one that came into a VRF is never main's, nor passes unfiltered.
Result<void> Application::follow_rules(const config::Config& config) {
  parts_.filters.tick();
  return parts_.interfaces.with_linux() ? Result<void>{} : parts_.rules.follow(config);
}

Result<void> Application::add_routes() {
  for (const config::NeighborConfig& neighbor : difference_.neighbors_added) {
    // A VLAN device of Linux may have gone with its port.
    if (parts_.interfaces.table().find(neighbor.interface) == nullptr) continue;
    if (auto done = begin("neighbor " + neighbor.address.to_string()); !done) return done;
    if (auto done = parts_.interfaces.add_neighbor(neighbor); !done) return done;
    undo([this, neighbor] { parts_.interfaces.remove_neighbor(neighbor); });
  }
  for (const config::RouteConfig& route : difference_.routes_added) {
    if (auto done = begin("route " + route.to.to_string()); !done) return done;
    if (auto done = parts_.routes.add(route, RouteOrigin::kFile); !done)
      return tl::unexpected(done.error());
    undo([this, route] {
      (void)parts_.routes.remove(route.to, route.metric, RouteOrigin::kFile, route.table);
    });
  }
  return {};
}

Result<void> Application::load_files() {
  for (const std::string& file : difference_.route_files_added) {
    if (auto done = begin("route file " + file); !done) return done;
    if (auto done = parts_.routes.begin_file(file, *files_.at(file)); !done) return done;
    undo([this, file] { parts_.routes.unload_file(file); });
  }
  return {};
}

Result<void> Application::tell_linux() {
  if (auto done = begin("Linux"); !done) return done;
  undo([this] { parts_.routes.remove_from_linux(difference_.routes_added); });
  for (const std::string& refused : parts_.interfaces.write_to_linux())
    if (std::find(known_.begin(), known_.end(), refused) == known_.end()) return fail(refused);
  parts_.routes.write_to_linux();
  return {};
}

Result<void> Application::add_policies() {
  undo([this] { undo_ipsec(parts_.ipsec, difference_); });
  if (const auto refused = add_new_policies(parts_.ipsec, difference_); !refused.empty())
    return fail(refused.front());
  publish_ipsec();
  return {};
}

// The last step: an SA that was replaced is not put back, as its numbers would begin anew.
Result<void> Application::change_ipsec() {
  if (auto done = begin("ipsec"); !done) return done;
  undo([this] { undo_ipsec(parts_.ipsec, difference_); });
  if (const auto refused = apply_ipsec(parts_.ipsec, difference_); !refused.empty())
    return fail(refused.front());
  publish_ipsec();
  return {};
}

// Nothing that follows is forwarded past it.
void Application::publish_ipsec() {
  parts_.ipsec.commit();
  if (parts_.ipsec.empty() || parts_.plane.uses_ipsec()) return;
  parts_.plane.use_ipsec(true);
  parts_.plane.publish();
}

// Nothing of this can fail.
void Application::finish() {
  undo_.clear();
  for (const std::string& file : difference_.route_files_removed) parts_.routes.unload_file(file);
  for (const std::string& name : difference_.ports_removed) {
    parts_.interfaces.remove_port(name);
    remove_port(parts_.running.placement, name);
  }
  if (!difference_.ports_removed.empty()) {
    settle_gateways();
    if (auto done = follow_rules(wanted_); !done) parts_.notes.add(done.error().message);
    if (!wanted_.nat.empty())
      if (auto done = follow_nat(wanted_.nat, parts_.interfaces.table(), parts_.plane); !done)
        parts_.notes.add(done.error().message);
  }
  parts_.running.loaded_unix_s = std::time(nullptr);
  parts_.plane.configure(wanted_);
  spdlog::set_level(spdlog::level::from_str(wanted_.log_level));
  parts_.interfaces.update_twins();
  parts_.routing.commit();
  parts_.plane.publish();
  if (difference_.idle_changed || !difference_.ports_added.empty())
    for (const std::string& line : idle_shortfalls(parts_.plane.workers())) spdlog::warn(line);
}

// A port that went may have had the subnet that one that came has: gateways are looked for again.
void Application::settle_gateways() {
  for (const config::RouteConfig& route : wanted_.routes)
    if (auto done = parts_.routes.add(route, RouteOrigin::kFile); !done)
      parts_.notes.add(done.error().message);
  parts_.routes.write_to_linux();
}

// All new ports are found, or none is kept.
std::vector<std::string> probe(const Parts& parts, const config::Difference& difference) {
  std::vector<std::string> problems;
  for (const config::PortConfig& port : difference.ports_added)
    if (auto found = parts.plane.probe(port); !found) problems.push_back(found.error().message);
  if (!problems.empty())
    for (const config::PortConfig& port : difference.ports_added)
      parts.plane.forget_probed(port.name);
  return problems;
}

// The difference, once nothing was found that speaks against it. Touches nothing.
tl::expected<config::Difference, std::vector<std::string>> checked(const Parts& parts,
                                                                   const config::Config& wanted,
                                                                   const ReadRouteFiles& files) {
  auto difference = config::diff(parts.running.config, wanted);
  if (!difference) return tl::unexpected(difference.error());
  std::vector<std::string> problems;
  check_devices(parts, *difference, problems);
  References(parts, wanted).check(*difference, problems);
  check_route_files(*difference, files, problems);
  for (std::string& problem : check_ipsec(parts.ipsec, *difference))
    problems.push_back(std::move(problem));
  if (!parts.plane.has_ipsec() && !(wanted.ipsec.sas.empty() && wanted.ipsec.policies.empty()))
    problems.push_back("ipsec: nothing here can hold SAs and policies, as hectod's log says");
  if (!problems.empty()) return tl::unexpected(problems);
  return difference;
}

}  // namespace

WantedRouteFiles route_files_of_reload(const Parts& parts, const config::Config& wanted) {
  const auto difference = config::diff(parts.running.config, wanted);
  if (!difference) return {};  // reload() says why
  const std::set<std::string> interfaces = interfaces_of(parts, wanted);
  return {difference->route_files_added, {interfaces.begin(), interfaces.end()}};
}

ReloadResult preview(const Parts& parts, const config::Config& wanted,
                     const ReadRouteFiles& files) {
  return checked(parts, wanted, files).map([](const auto& difference) { return difference.lines; });
}

ReloadResult reload(const Parts& parts, const config::Config& wanted, ReadRouteFiles& files,
                    const ReloadStep& before_step) {
  auto difference = checked(parts, wanted, files);
  if (!difference) return tl::unexpected(difference.error());
  if (auto problems = probe(parts, *difference); !problems.empty()) return tl::unexpected(problems);

  Application application(parts, wanted, *difference, files, before_step);
  if (auto done = application.run(); !done) {
    for (const config::PortConfig& port : difference->ports_added)
      parts.plane.forget_probed(port.name);
    std::vector<std::string> problems = application.take_back();
    problems.insert(problems.begin(),
                    done.error().message + (problems.empty() ? "; all is as it was before" : ""));
    return tl::unexpected(std::move(problems));
  }
  application.finish();
  for (const std::string& line : difference->lines) spdlog::info("reload: {}", line);
  return difference->lines;
}

}  // namespace hecto::router
