#include "router/control/startup.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "router/control/filter_control.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/nat_control.hpp"
#include "router/control/notes.hpp"
#include "router/control/route_control.hpp"
#include "router/control/rule_control.hpp"
#include "router/control/running.hpp"
#include "router/ipsec/ipsec_config.hpp"

namespace hecto::router {
namespace {

Result<void> apply_static_state(const Parts& parts, StartRouteFiles files) {
  const config::Config& config = parts.running.config;
  for (const config::NeighborConfig& neighbor : config.neighbors)
    if (auto done = parts.interfaces.add_neighbor(neighbor); !done) return done;
  for (const config::RouteConfig& route : config.routes)
    if (auto done = parts.routes.add(route, RouteOrigin::kFile); !done)
      return tl::unexpected(done.error());
  for (const std::string& refused : parts.interfaces.write_to_linux()) parts.notes.add(refused);
  parts.routes.write_to_linux();
  if (files == StartRouteFiles::kNow)
    if (auto done = load_route_files(parts); !done) return done;
  if (const auto refused = apply_ipsec(parts.ipsec, config.ipsec); !refused.empty())
    return fail(refused.front());
  parts.routing.commit();
  return {};
}

}  // namespace

// One after the other: each is as large as it is.
Result<void> load_route_files(const Parts& parts) {
  std::vector<std::string> interfaces;
  for (const auto& [id, interface] : parts.interfaces.table().all())
    interfaces.push_back(interface.name);
  for (const std::string& path : parts.running.config.route_files) {
    Result<ReadRouteFile> file = read_route_files({{path}, interfaces}).at(path);
    if (!file) return tl::unexpected(file.error());
    if (auto done = parts.routes.load_file(path, *file); !done) return done;
  }
  return {};
}

Result<void> check_user(const config::Config& config) {
  if (!config.linux_side.enabled || geteuid() == 0) return {};
  return fail(
      "the Linux side needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN): run as root, or "
      "write \"linux: off\" for a router that runs from its file alone",
      EPERM);
}

Result<void> probe_ports(Running& running, ForwardingPlane& plane) {
  std::vector<config::PortCapability> capabilities;
  for (const config::PortConfig& config : running.config.ports) {
    auto capability = plane.probe(config);
    if (!capability) return tl::unexpected(capability.error());
    capabilities.push_back(*capability);
  }
  auto placement = place_probed(running, capabilities);
  if (!placement) return tl::unexpected(placement.error());
  running.placement = std::move(*placement);
  return {};
}

Result<void> bring_up(const Parts& parts, StartRouteFiles files) {
  const Running& running = parts.running;
  parts.plane.configure(running.config);
  spdlog::set_level(spdlog::level::from_str(running.config.log_level));
  for (const config::PortConfig& port : running.config.ports)
    if (auto done = parts.interfaces.add_port(port, running.placement); !done) return done;
  parts.interfaces.update_twins();
  if (auto done = parts.filters.start(running.config); !done) return done;
  if (!parts.interfaces.with_linux())
    if (auto done = parts.rules.follow(running.config); !done) return done;
  if (!running.config.nat.empty())
    if (auto done = follow_nat(running.config.nat, parts.interfaces.table(), parts.plane); !done)
      return done;
  if (auto done = apply_static_state(parts, files); !done) return done;
  parts.plane.publish();
  return {};
}

}  // namespace hecto::router
