#include "router/rib/local_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hecto::router {

using lookup::Prefix;

namespace {

constexpr uint16_t kNudPermanent = 0x80;

Route make_route(const IpPrefix& prefix, RouteType type, const InterfaceState& state) {
  Route route;
  route.prefix = prefix;
  route.origin = RouteOrigin::kFile;
  route.type = type;
  route.protocol = kProtocolKernel;
  route.table = type == RouteType::kUnicast ? kTableMain : kTableLocal;
  if (state.vrf.table != 0) route.table = state.vrf.table;
  if (type == RouteType::kUnicast) {
    NextHop hop;
    hop.interface = state.id;
    route.next_hops.push_back(hop);
  }
  return route;
}

// The routes that Linux would make of an interface's address.
void append_routes_of(const IpPrefix& address, const InterfaceState& state,
                      std::vector<Route>& routes) {
  const auto bits = static_cast<uint8_t>(address.address.size() * 8);
  routes.push_back(make_route({address.address, bits}, RouteType::kLocal, state));
  if (address.length == bits) return;
  IpPrefix network = address.network();
  routes.push_back(make_route(network, RouteType::kUnicast, state));
  if (address.length == bits - 1) return;  // RFC 3021, RFC 6164: both addresses are hosts
  if (address.address.family == Family::kIpv4) {
    uint32_t host_bits = ~uint32_t{0} >> address.length;
    IpAddress broadcast =
        IpAddress::from(lookup::Ipv4Address{network.address.v4().value | host_bits});
    routes.push_back(make_route({broadcast, bits}, RouteType::kBroadcast, state));
  } else {
    // The subnet-router anycast address, RFC 4291 section 2.6.1.
    routes.push_back(make_route({network.address, bits}, RouteType::kLocal, state));
  }
}

std::vector<Route> routes_of(const InterfaceState& state) {
  std::vector<Route> routes;
  if (state.ifindex != 0) return routes;
  for (const IpPrefix& address : state.addresses) append_routes_of(address, state, routes);
  return routes;
}

}  // namespace

// So that its routes find their table.
Result<void> LocalRoutes::check_vrf(const InterfaceState& state) {
  if (state.vrf.table == 0 || store_.make_table(state.vrf.table) != nullptr) return {};
  return fail(
      fmt::format("interface {}: there is no room for table {} of VRF {}; a restart of hectod "
                  "forgets those that are in use no more",
                  state.name, state.vrf.table, state.vrf.name),
      ENOSPC);
}

Result<void> LocalRoutes::add_interface(const InterfaceState& state) {
  if (auto checked = check_vrf(state); !checked) return checked;
  auto added = store_.interfaces().add(state);
  if (!added) return added;
  store_.interfaces_changed();
  set_routes_of(state.id, routes_of(state));
  return {};
}

Result<void> LocalRoutes::update_interface(const InterfaceState& state) {
  const InterfaceState* known = store_.interfaces().find(state.id);
  if (known != nullptr && *known == state) return {};
  if (auto checked = check_vrf(state); !checked) return checked;
  auto updated = store_.interfaces().update(state);
  if (!updated) return updated;
  store_.interfaces_changed();
  set_routes_of(state.id, routes_of(state));
  return {};
}

Result<void> LocalRoutes::remove_interface(InterfaceId id) {
  auto removed = store_.interfaces().remove(id);
  if (!removed) return removed;
  set_routes_of(id, {});
  store_.interfaces_changed();
  return {};
}

void LocalRoutes::set_routes_of(InterfaceId id, std::vector<Route> wanted) {
  std::vector<Route> old = std::exchange(routes_[id], wanted);
  if (wanted.empty()) routes_.erase(id);
  auto missing_in = [](const std::vector<Route>& routes, const Route& route) {
    return std::find(routes.begin(), routes.end(), route) == routes.end();
  };
  for (const Route& route : wanted) {
    if (missing_in(old, route)) add(route);
  }
  for (const Route& route : old) {
    if (missing_in(wanted, route)) remove(route);
  }
}

void LocalRoutes::add(const Route& route) {
  Candidate candidate = store_.make_candidate(route, route.origin, route.next_hops);
  RoutingTable& table = *store_.table(route.table);  // check_vrf() has made it
  with_prefix(route.prefix, [&](const auto& prefix) {
    store_.insert_or_replace(table, prefix, kNoRouteId, candidate);
  });
}

// Two interfaces may well have the same route, so these are told apart by their next hops too.
void LocalRoutes::remove(const Route& route) {
  Candidate candidate = store_.make_candidate(route, route.origin, route.next_hops);
  RoutingTable& table = *store_.table(route.table);
  with_prefix(route.prefix, [&]<typename Address>(const Prefix<Address>& prefix) {
    const Rib<Address>& rib = table.rib<Address>();
    RouteId id = rib.find_route(rib.find(prefix), [&](const Candidate& other) {
      return other.same_slot(candidate) && other.protocol == kProtocolKernel &&
             other.next_hop_set == candidate.next_hop_set;
    });
    if (id != kNoRouteId) store_.erase(table, prefix, id);
  });
  store_.sets().release(candidate.next_hop_set);
}

Result<void> LocalRoutes::add_neighbor(InterfaceId interface, const IpAddress& address,
                                       const MacAddress& mac) {
  if (store_.interfaces().find(interface) == nullptr) {
    return fail(
        fmt::format("neighbor {}: there is no interface {}", address.to_string(), interface));
  }
  if ((mac[0] & 1) != 0 || mac == MacAddress{}) {
    return fail(
        fmt::format("neighbor {}: {} is no station's MAC address; use one that is "
                    "neither zero nor multicast",
                    address.to_string(), to_string(mac)));
  }
  Neighbor neighbor{address, 0, interface, mac, kNudPermanent, true};
  if (store_.neighbors().set(neighbor, 0)) store_.neighbor_changed(neighbor);
  return {};
}

Result<void> LocalRoutes::remove_neighbor(InterfaceId interface, const IpAddress& address) {
  Neighbor neighbor;
  neighbor.address = address;
  neighbor.interface = interface;
  if (!store_.neighbors().remove(neighbor)) {
    return fail(fmt::format("neighbor {}: not configured on this interface", address.to_string()),
                ENOENT);
  }
  store_.neighbor_changed(neighbor);
  return {};
}

}  // namespace hecto::router
