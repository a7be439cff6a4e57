#include "router/control/linux_events.hpp"

#include "router/control/interface_control.hpp"
#include "router/control/route_control.hpp"

namespace hecto::router {

void LinuxEventFanOut::follow_link(const LinuxLink& link, bool removed) {
  if (interfaces_.follow_link(link, removed)) routes_.write_to_linux();
}

void LinuxEventFanOut::address(const LinuxAddress& address, bool removed) {
  if (config_.mirror_addresses) routing_.address(address, removed);
}

void LinuxEventFanOut::neighbor(const LinuxNeighbor& neighbor, bool removed) {
  if (config_.mirror_neighbors) routing_.neighbor(neighbor, removed);
}

void LinuxEventFanOut::nexthop_object(const NextHopObject& object, bool removed) {
  if (config_.mirror_routes) routing_.nexthop_object(object, removed);
}

// Local and broadcast routes come with the addresses, all others with `routes`.
void LinuxEventFanOut::route(const Route& route, bool removed, bool replace) {
  const bool own = route.type == RouteType::kLocal || route.type == RouteType::kBroadcast;
  if (own ? config_.mirror_addresses : config_.mirror_routes)
    routing_.route(route, removed, replace);
}

}  // namespace hecto::router
