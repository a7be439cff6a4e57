#include "router/control/linux_side.hpp"

#include <fmt/format.h>

namespace hecto::router {

Result<std::unique_ptr<LinuxSide>> LinuxSide::open(const config::LinuxConfig& config,
                                                   LinuxEvents& events) {
  auto space = NetworkNamespace::open_or_create(config.name_space, NamespaceLifetime::kRemove);
  if (!space) return tl::unexpected(space.error());
  if (auto done = space->enable_forwarding(); !done) return tl::unexpected(done.error());
  auto requests = NetlinkRequests::open(*space);
  if (!requests) return tl::unexpected(requests.error());
  auto mirror = NetlinkMirror::open(*space, events);
  if (!mirror) return tl::unexpected(mirror.error());
  std::unique_ptr<LinuxSide> side(new LinuxSide(std::move(*space), std::move(*requests)));
  side->mirror_ = std::move(*mirror);
  return side;
}

Result<std::shared_ptr<Twin>> LinuxSide::make_twin(const Interface& interface, rte_mempool* pool) {
  auto tap = Tap::create(space_, {interface.name, interface.mac, interface.mtu});
  if (!tap) return tl::unexpected(tap.error());
  if (auto done = tap->set_up(true); !done) return tl::unexpected(done.error());
  auto twin = std::make_shared<Twin>(std::move(*tap));
  twin->interface = interface.id;
  twin->port = interface.port;
  twin->vlan = interface.vlan;
  twin->pool = pool;
  return twin;
}

void LinuxSide::write_addresses(const Interface& interface, std::vector<std::string>& refusals) {
  for (const IpPrefix& address : interface.addresses)
    if (auto done = requests_.add_address(interface.ifindex, address, true); !done)
      refusals.push_back(fmt::format("interface {}: address {}: {}", interface.name,
                                     address.to_string(), done.error().message));
}

void LinuxSide::write_routes(const std::vector<Route>& routes, bool remove,
                             std::vector<std::string>& refusals) {
  std::vector<RouteRequest> requests;
  requests.reserve(routes.size());
  for (const Route& route : routes) requests.push_back({route, remove});
  auto outcome = requests_.apply(requests, RequestMode::kAdd);
  if (!outcome) {
    refusals.push_back(outcome.error().message);
    return;
  }
  for (const BatchOutcome::Failure& failure : outcome->failures) {
    // Removing what Linux has dropped by itself is no news, nor is what somebody else has put
    // there.
    if (failure.error.error_number == (remove ? ESRCH : EEXIST)) continue;
    refusals.push_back(fmt::format("route {}: Linux refused it: {}",
                                   routes[failure.index].prefix.to_string(),
                                   failure.error.message));
  }
}

}  // namespace hecto::router
