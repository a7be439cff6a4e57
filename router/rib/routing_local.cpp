// What does not come from Linux: interfaces, and the routes and neighbors of the file and the API.
#include <fmt/format.h>

#include <algorithm>

#include "router/rib/routing.hpp"

namespace hecto::router {

using lookup::Prefix;

namespace {

constexpr uint8_t kProtocolKernel = 2;
constexpr uint16_t kNudPermanent = 0x80;

Route own_route(const IpPrefix& prefix, RouteType type, const InterfaceState& state) {
  Route route;
  route.prefix = prefix;
  route.origin = RouteOrigin::kFile;
  route.type = type;
  route.protocol = kProtocolKernel;
  route.table = type == RouteType::kUnicast ? kTableMain : kTableLocal;
  if (type == RouteType::kUnicast) {
    NextHop hop;
    hop.interface = state.id;
    route.next_hops.push_back(hop);
  }
  return route;
}

// The routes that Linux would make of an interface's address.
void own_routes_of(const IpPrefix& address, const InterfaceState& state,
                   std::vector<Route>& routes) {
  const auto bits = static_cast<uint8_t>(address.address.size() * 8);
  routes.push_back(own_route({address.address, bits}, RouteType::kLocal, state));
  if (address.length == bits) return;
  IpPrefix network = address.network();
  routes.push_back(own_route(network, RouteType::kUnicast, state));
  if (address.length == bits - 1) return;  // RFC 3021, RFC 6164: both addresses are hosts
  if (address.address.family == Family::kIpv4) {
    uint32_t host_bits = ~uint32_t{0} >> address.length;
    IpAddress broadcast =
        IpAddress::from(lookup::Ipv4Address{network.address.v4().value | host_bits});
    routes.push_back(own_route({broadcast, bits}, RouteType::kBroadcast, state));
  } else {
    // The subnet-router anycast address, RFC 4291 section 2.6.1.
    routes.push_back(own_route({network.address, bits}, RouteType::kLocal, state));
  }
}

bool host_bits_clear(const IpPrefix& prefix) {
  return prefix.length <= prefix.address.size() * 8 && prefix.network() == prefix;
}

}  // namespace

Result<void> Routing::add_interface(const InterfaceState& state) {
  auto added = interfaces_.add(state);
  if (!added) return added;
  interfaces_changed();
  renew_own_routes(&state, state.id);
  return {};
}

Result<void> Routing::update_interface(const InterfaceState& state) {
  const InterfaceState* known = interfaces_.find(state.id);
  if (known != nullptr && *known == state) return {};
  auto updated = interfaces_.update(state);
  if (!updated) return updated;
  interfaces_changed();
  renew_own_routes(&state, state.id);
  return {};
}

Result<void> Routing::remove_interface(InterfaceId id) {
  auto removed = interfaces_.remove(id);
  if (!removed) return removed;
  renew_own_routes(nullptr, id);
  interfaces_changed();
  return {};
}

void Routing::interfaces_changed() {
  sets_.interfaces_changed();
  reconsider_all_ = true;
}

// Without a twin in Linux nobody else makes the connected and local routes.
void Routing::renew_own_routes(const InterfaceState* state, InterfaceId id) {
  std::vector<Route> wanted;
  if (state != nullptr && state->ifindex == 0) {
    for (const IpPrefix& address : state->addresses) own_routes_of(address, *state, wanted);
  }
  std::vector<Route> old = std::exchange(own_routes_[id], wanted);
  if (wanted.empty()) own_routes_.erase(id);
  auto missing_in = [](const std::vector<Route>& routes, const Route& route) {
    return std::find(routes.begin(), routes.end(), route) == routes.end();
  };
  for (const Route& route : wanted) {
    if (missing_in(old, route)) change_own_route(route, true);
  }
  for (const Route& route : old) {
    if (missing_in(wanted, route)) change_own_route(route, false);
  }
}

// Two interfaces may well have the same route, so these are told apart by their next hops too.
void Routing::change_own_route(const Route& route, bool add) {
  Candidate candidate = make_candidate(route, route.origin, route.next_hops);
  with_prefix(route.prefix, [&]<typename Address>(const Prefix<Address>& prefix) {
    if (add) {
      put(prefix, kNoRouteId, candidate);
      return;
    }
    const Rib<Address>& rib = table<Address>().rib;
    RouteId id = rib.find_route(rib.find(prefix), [&](const Candidate& other) {
      return other.same_slot(candidate) && other.protocol == kProtocolKernel &&
             other.next_hop_set == candidate.next_hop_set;
    });
    if (id != kNoRouteId) drop(prefix, id);
    sets_.release(candidate.next_hop_set);
  });
}

// With a reference to the set. `next_hops` must be canonical.
Candidate Routing::make_candidate(const Route& route, RouteOrigin origin,
                                  const std::vector<NextHop>& next_hops) {
  Candidate candidate = slot_of(origin, route.table, route.metric);
  candidate.next_hop_set =
      sets_.acquire({route.prefix.address.family, route.type, route.nexthop_object, next_hops});
  candidate.protocol = route.protocol;
  if (origin == RouteOrigin::kLinux) candidate.generation = generation_;
  return candidate;
}

Result<void> Routing::add_neighbor(InterfaceId interface, const IpAddress& address,
                                   const MacAddress& mac) {
  if (interfaces_.find(interface) == nullptr) {
    return fail(
        fmt::format("neighbor {}: there is no interface {}", address.to_string(), interface));
  }
  if ((mac[0] & 1) != 0 || mac == MacAddress{}) {
    return fail(
        fmt::format("neighbor {}: {:02x} is no station's MAC address; use one that is "
                    "neither zero nor multicast",
                    address.to_string(), fmt::join(mac, ":")));
  }
  Neighbor neighbor{address, 0, interface, mac, kNudPermanent, true};
  if (neighbors_.set(neighbor, generation_)) neighbor_changed(neighbor);
  return {};
}

Result<void> Routing::remove_neighbor(InterfaceId interface, const IpAddress& address) {
  Neighbor neighbor;
  neighbor.address = address;
  neighbor.interface = interface;
  if (!neighbors_.remove(neighbor)) {
    return fail(fmt::format("neighbor {}: not configured on this interface", address.to_string()),
                ENOENT);
  }
  neighbor_changed(neighbor);
  return {};
}

Result<void> Routing::check_next_hops(const IpPrefix& prefix,
                                      const std::vector<NextHop>& next_hops) const {
  for (const NextHop& hop : next_hops) {
    if (hop.weight < 1 || hop.weight > 256) {
      return fail(fmt::format("route {}: weight {} is out of range; use 1 to 256",
                              prefix.to_string(), hop.weight));
    }
    if (!hop.gateway && hop.ifindex == 0 && hop.interface == kNoInterface) {
      return fail(fmt::format("route {}: a next hop has neither gateway nor interface",
                              prefix.to_string()));
    }
    if (hop.interface != kNoInterface && interfaces_.find(hop.interface) == nullptr) {
      return fail(
          fmt::format("route {}: there is no interface {}", prefix.to_string(), hop.interface));
    }
    if (hop.gateway && hop.gateway->family == Family::kIpv4 &&
        prefix.address.family == Family::kIpv6) {
      return fail(fmt::format("route {}: {} is an IPv4 gateway; an IPv6 route needs an IPv6 one",
                              prefix.to_string(), hop.gateway->to_string()));
    }
  }
  return {};
}

Result<void> Routing::check(const Route& route) const {
  std::string prefix = route.prefix.to_string();
  if (route.origin != RouteOrigin::kFile && route.origin != RouteOrigin::kApi) {
    return fail(fmt::format("route {}: only routes of the file and the API are added", prefix));
  }
  if (!host_bits_clear(route.prefix)) {
    return fail(fmt::format("route {}: host bits are set; use {}", prefix,
                            route.prefix.network().to_string()));
  }
  if (route.table < kTableDefault || route.table > kTableLocal) {
    return fail(fmt::format("route {}: table {} is not known; use {} (main)", prefix, route.table,
                            kTableMain));
  }
  if (route.protocol == kProtocolKernel) {
    return fail(fmt::format("route {}: protocol 2 (kernel) is reserved", prefix));
  }
  bool has_next_hops = !route.next_hops.empty() || route.nexthop_object != 0;
  if ((route.type == RouteType::kUnicast) != has_next_hops) {
    return fail(fmt::format("route {}: {}", prefix,
                            has_next_hops ? "this type has no next hops" : "no next hop"));
  }
  return check_next_hops(route.prefix, route.next_hops);
}

Result<bool> Routing::add(const Route& route) {
  if (auto checked = check(route); !checked) return tl::unexpected(checked.error());
  std::vector<NextHop> next_hops = route.next_hops;
  canonicalize(next_hops);
  Candidate candidate = make_candidate(route, route.origin, next_hops);
  if (sets_.group(candidate.next_hop_set) == lookup::kNoRoute) {
    sets_.release(candidate.next_hop_set);
    return fail(fmt::format("route {}: all {} next-hop groups are in use; raise tables.groups",
                            route.prefix.to_string(), options_.max_groups),
                ENOSPC);
  }
  auto outcome =
      with_prefix(route.prefix, [&](const auto& prefix) { return place(prefix, candidate); });
  if (outcome == Placed::kRefused) {
    return fail(
        fmt::format("route {}: the forwarding table is full; {}", route.prefix.to_string(),
                    route.prefix.address.family == Family::kIpv4 ? remedy<lookup::Ipv4Address>()
                                                                 : remedy<lookup::Ipv6Address>()),
        ENOSPC);
  }
  return outcome != Placed::kAdded;
}

// A route of the file or the API into its slot, with the reference that the candidate brings.
template <typename Address>
Routing::Placed Routing::place(const Prefix<Address>& prefix, const Candidate& candidate) {
  Rib<Address>& rib = table<Address>().rib;
  RouteId id = rib.find_route(rib.find(prefix), [&](const Candidate& other) {
    return other.same_slot(candidate) && other.protocol != kProtocolKernel;
  });
  if (id != kNoRouteId) {
    bool same = rib.route(id).next_hop_set == candidate.next_hop_set;
    put(prefix, id, candidate);
    return same ? Placed::kUnchanged : Placed::kReplaced;
  }
  Put done = put(prefix, id, candidate);
  if (done.id != kNoRouteId && !done.fell_behind) return Placed::kAdded;
  if (done.id != kNoRouteId) drop(prefix, done.id);
  return Placed::kRefused;
}

Result<void> Routing::remove(const Route& route) {
  Candidate slot = slot_of(route.origin, route.table, route.metric);
  bool found =
      host_bits_clear(route.prefix) && route.origin != RouteOrigin::kLinux &&
      with_prefix(route.prefix, [&](const auto& prefix) { return remove_slot(prefix, slot); });
  if (found) return {};
  return fail(fmt::format("route {}: there is no such route", route.prefix.to_string()), ENOENT);
}

template <typename Address>
bool Routing::remove_slot(const Prefix<Address>& prefix, const Candidate& slot) {
  const Rib<Address>& rib = table<Address>().rib;
  RouteId id = rib.find_route(rib.find(prefix), [&](const Candidate& other) {
    return other.same_slot(slot) && other.protocol != kProtocolKernel;
  });
  if (id == kNoRouteId) return false;
  drop(prefix, id);
  return true;
}

size_t Routing::remove_origin(RouteOrigin origin) {
  auto wanted = [origin](const Candidate& candidate) {
    return origin_of(candidate) == origin &&
           (origin != RouteOrigin::kFile || candidate.protocol != kProtocolKernel);
  };
  return drop_all<lookup::Ipv4Address>(wanted) + drop_all<lookup::Ipv6Address>(wanted);
}

template Routing::Placed Routing::place(const lookup::Prefix4&, const Candidate&);
template Routing::Placed Routing::place(const lookup::Prefix6&, const Candidate&);
template bool Routing::remove_slot(const lookup::Prefix4&, const Candidate&);
template bool Routing::remove_slot(const lookup::Prefix6&, const Candidate&);

}  // namespace hecto::router
