#include "router/rib/static_routes.hpp"

#include <fmt/format.h>

namespace hecto::router {

using lookup::Prefix;

namespace {

// Linux's metric of an IPv6 route that names none (IP6_RT_PRIO_USER); IPv4 has 0.
constexpr uint32_t kDefaultMetric6 = 1024;

template <typename Address>
Candidate with_metric(Candidate candidate) {
  if (std::is_same_v<Address, lookup::Ipv6Address> && candidate.metric == 0)
    candidate.metric = kDefaultMetric6;
  return candidate;
}

bool host_bits_clear(const IpPrefix& prefix) {
  return prefix.length <= prefix.address.size() * 8 && prefix.network() == prefix;
}

}  // namespace

Result<void> StaticRoutes::check_next_hops(const IpPrefix& prefix,
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
    if (hop.interface != kNoInterface && store_.interfaces().find(hop.interface) == nullptr) {
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

Result<void> StaticRoutes::check(const Route& route) {
  std::string prefix = route.prefix.to_string();
  if (route.origin != RouteOrigin::kFile && route.origin != RouteOrigin::kApi) {
    return fail(fmt::format("route {}: only routes of the file and the API are added", prefix));
  }
  if (!host_bits_clear(route.prefix)) {
    return fail(fmt::format("route {}: host bits are set; use {}", prefix,
                            route.prefix.network().to_string()));
  }
  if (!is_usual_table(route.table) && store_.make_table(route.table) == nullptr) {
    return fail(fmt::format("route {}: there is no room for table {}; use {} (main)", prefix,
                            route.table, kTableMain));
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

Result<bool> StaticRoutes::add(const Route& route) {
  if (auto checked = check(route); !checked) return tl::unexpected(checked.error());
  std::vector<NextHop> next_hops = route.next_hops;
  canonicalize(next_hops);
  Candidate candidate = store_.make_candidate(route, route.origin, next_hops);
  if (store_.sets().group(candidate.next_hop_set) == lookup::kNoRoute) {
    store_.sets().release(candidate.next_hop_set);
    return fail(fmt::format("route {}: all {} next-hop groups are in use; raise tables.groups",
                            route.prefix.to_string(), store_.max_groups()),
                ENOSPC);
  }
  return with_prefix(
      route.prefix, [&]<typename Address>(const Prefix<Address>& prefix) -> Result<bool> {
        RoutingTable& table = *store_.table(route.table);  // check() has seen it
        Outcome outcome = add(table, prefix, candidate);
        if (outcome != Outcome::kRefused) return outcome != Outcome::kAdded;
        return fail(fmt::format("route {}: the forwarding table is full; {}", prefix.to_string(),
                                table.families.get<Address>().remedy()),
                    ENOSPC);
      });
}

template <typename Address>
RouteId StaticRoutes::find(const RoutingTable& table, const Prefix<Address>& prefix,
                           const Candidate& slot) const {
  const Rib<Address>& rib = table.rib<Address>();
  return rib.find_route(rib.find(prefix), [&](const Candidate& other) {
    return other.same_slot(slot) && other.protocol != kProtocolKernel;
  });
}

template <typename Address>
StaticRoutes::Outcome StaticRoutes::add(RoutingTable& table, const Prefix<Address>& prefix,
                                        const Candidate& asked) {
  const Candidate candidate = with_metric<Address>(asked);
  RouteId id = find(table, prefix, candidate);
  if (id != kNoRouteId) {
    bool same = table.rib<Address>().route(id).next_hop_set == candidate.next_hop_set;
    store_.insert_or_replace(table, prefix, id, candidate);
    return same ? Outcome::kUnchanged : Outcome::kReplaced;
  }
  auto change = store_.insert_or_replace(table, prefix, kNoRouteId, candidate);
  if (change.id != kNoRouteId && !change.fell_behind) return Outcome::kAdded;
  if (change.id != kNoRouteId) store_.erase(table, prefix, change.id);
  return Outcome::kRefused;
}

Result<void> StaticRoutes::remove(const Route& route) {
  Candidate slot = slot_of(route.origin, route.table, route.metric);
  RoutingTable* const table = store_.table(route.table);
  bool found =
      table != nullptr && host_bits_clear(route.prefix) && route.origin != RouteOrigin::kLinux &&
      with_prefix(route.prefix, [&](const auto& prefix) { return remove(*table, prefix, slot); });
  if (found) return {};
  return fail(fmt::format("route {}: there is no such route", route.prefix.to_string()), ENOENT);
}

template <typename Address>
bool StaticRoutes::remove(RoutingTable& table, const Prefix<Address>& prefix,
                          const Candidate& slot) {
  RouteId id = find(table, prefix, with_metric<Address>(slot));
  if (id == kNoRouteId) return false;
  store_.erase(table, prefix, id);
  return true;
}

Sweep StaticRoutes::sweep_origin(RouteOrigin origin) {
  return Sweep(store_, [origin](const Candidate& candidate) {
    return origin_of(candidate) == origin &&
           (origin != RouteOrigin::kFile || candidate.protocol != kProtocolKernel);
  });
}

size_t StaticRoutes::remove_origin(RouteOrigin origin) {
  Sweep sweep = sweep_origin(origin);
  sweep.finish();
  return sweep.erased();
}

template StaticRoutes::Outcome StaticRoutes::add(RoutingTable&, const lookup::Prefix4&,
                                                 const Candidate&);
template StaticRoutes::Outcome StaticRoutes::add(RoutingTable&, const lookup::Prefix6&,
                                                 const Candidate&);
template bool StaticRoutes::remove(RoutingTable&, const lookup::Prefix4&, const Candidate&);
template bool StaticRoutes::remove(RoutingTable&, const lookup::Prefix6&, const Candidate&);

}  // namespace hecto::router
