// What Linux says: links, addresses, next-hop objects, and routes with Linux's own rules for
// adding, replacing and removing.
//
// IPv4: several routes of a prefix may share a metric, the first wins; a replacement takes the
// place of the first. IPv6: routes with gateways that share a metric are one multipath route; an
// addition tells all of its next hops again, and a removal names those that go.
#include <algorithm>

#include "router/rib/routing.hpp"

namespace hecto::router {

using lookup::Ipv6Address;
using lookup::Prefix;

namespace {

bool same_hop(const NextHop& a, const NextHop& b) {
  return a.gateway == b.gateway && a.ifindex == b.ifindex;
}

bool contains(const std::vector<NextHop>& hops, const NextHop& wanted) {
  return std::any_of(hops.begin(), hops.end(),
                     [&wanted](const NextHop& hop) { return same_hop(hop, wanted); });
}

bool contains_all(const std::vector<NextHop>& hops, const std::vector<NextHop>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&hops](const NextHop& hop) { return contains(hops, hop); });
}

bool has_gateway(const std::vector<NextHop>& hops) {
  return !hops.empty() && hops[0].gateway.has_value();
}

}  // namespace

void Routing::link(const LinuxLink& link, bool removed) {
  bool changed =
      removed ? interfaces_.remove_link(link.ifindex) : interfaces_.set_link(link, generation_);
  if (changed) interfaces_changed();
  if (options_.on_link) options_.on_link(link, removed);
}

void Routing::address(const LinuxAddress& address, bool removed) {
  bool changed =
      removed ? interfaces_.remove_address(address) : interfaces_.set_address(address, generation_);
  if (changed) interfaces_changed();
}

void Routing::nexthop_object(const NextHopObject& object, bool removed) {
  bool changed = true;
  if (removed) {
    sets_.remove_object(object.id);
  } else {
    changed = sets_.set_object(object, generation_);
  }
  reconsider_all_ |= changed;
}

void Routing::route(const Route& route, bool removed, bool replace) {
  if (route.tos != 0) {
    ++statistics_.ignored_tos;
    return;
  }
  if (route.table < kTableDefault || route.table > kTableLocal) {
    ++statistics_.ignored_table;
    return;
  }
  if (route.prefix.length > route.prefix.address.size() * 8) return;
  with_prefix(route.prefix, [&](const auto& prefix) {
    if (removed) {
      linux_remove(prefix, route);
    } else {
      linux_add(prefix, route, replace);
    }
  });
}

template <typename Address>
void Routing::linux_add(const Prefix<Address>& prefix, const Route& route, bool replace) {
  Rib<Address>& rib = table<Address>().rib;
  std::vector<NextHop> next_hops = route.next_hops;
  canonicalize(next_hops);
  Candidate fresh = make_candidate(route, RouteOrigin::kLinux, next_hops);
  const RibEntry<Address>* entry = rib.find(prefix);
  RouteId same = rib.find_route(entry, [&](const Candidate& other) {
    return other.same_slot(fresh) && other.next_hop_set == fresh.next_hop_set;
  });
  if (same != kNoRouteId && rib.route(same).generation != generation_) {
    (void)rib.confirm(prefix, same, generation_);  // known to be there
  }
  RouteId id = same != kNoRouteId ? same : linux_victim<Address>(entry, fresh, replace);
  put(prefix, id, fresh);
}

// Which candidate a new route takes the place of, kNoRouteId for none.
template <typename Address>
RouteId Routing::linux_victim(const RibEntry<Address>* entry, const Candidate& fresh,
                              bool replace) const {
  constexpr bool kIpv6 = std::is_same_v<Address, Ipv6Address>;
  const Rib<Address>& rib = table<Address>().rib;
  const std::vector<NextHop>& hops = sets_.set(fresh.next_hop_set).next_hops;
  auto slot = [&fresh](const Candidate& other) { return other.same_slot(fresh); };
  auto alike = [&](const Candidate& other) {
    return slot(other) && has_gateway(sets_.set(other.next_hop_set).next_hops) == has_gateway(hops);
  };
  auto grown = [&](const Candidate& other) {
    const std::vector<NextHop>& old = sets_.set(other.next_hop_set).next_hops;
    return slot(other) && has_gateway(old) && contains_all(hops, old);
  };
  if (!replace) return kIpv6 ? rib.find_route(entry, grown) : kNoRouteId;
  RouteId victim = kIpv6 ? rib.find_route(entry, alike) : kNoRouteId;
  return victim != kNoRouteId ? victim : rib.find_route(entry, slot);
}

template <typename Address>
void Routing::linux_remove(const Prefix<Address>& prefix, const Route& route) {
  Rib<Address>& rib = table<Address>().rib;
  const RibEntry<Address>* entry = rib.find(prefix);
  std::vector<NextHop> next_hops = route.next_hops;
  canonicalize(next_hops);
  Candidate slot = slot_of(RouteOrigin::kLinux, route.table, route.metric);
  SetId set = sets_.find({prefix_family<Address>(), route.type, route.nexthop_object, next_hops});
  auto exact = [&](const Candidate& other) {
    return other.same_slot(slot) && other.next_hop_set == set;
  };
  // Linux may have marked next hops dead, or changed weights, without telling.
  auto holds = [&](const Candidate& other) {
    const NextHopSets::Set& known = sets_.set(other.next_hop_set);
    return other.same_slot(slot) && known.type == route.type && !next_hops.empty() &&
           contains_all(known.next_hops, next_hops);
  };
  auto in_slot = [&](const Candidate& other) { return other.same_slot(slot); };
  RouteId id = set == kNoSet ? kNoRouteId : rib.find_route(entry, exact);
  if (id == kNoRouteId) id = rib.find_route(entry, holds);
  if (id == kNoRouteId) {  // the only one it can mean
    RouteId only = rib.find_route(entry, in_slot);
    RouteId second = only == kNoRouteId ? kNoRouteId : rib.next(only);
    bool more = second != kNoRouteId && rib.route(second).same_slot(slot);
    if (!more) id = only;
  }
  if (id == kNoRouteId) {
    ++statistics_.unmatched_removals;
    return;
  }
  const std::vector<NextHop>& known = sets_.set(rib.route(id).next_hop_set).next_hops;
  std::vector<NextHop> left = known;
  std::erase_if(left, [&](const NextHop& hop) { return contains(next_hops, hop); });
  if (left.empty() || left.size() == known.size()) {
    drop(prefix, id);
    return;
  }
  Candidate rest = rib.route(id);
  canonicalize(left);
  rest.next_hop_set = sets_.acquire({prefix_family<Address>(), route.type, 0, left});
  if (put(prefix, id, rest).id == kNoRouteId) drop(prefix, id);  // another has just these
}

}  // namespace hecto::router
