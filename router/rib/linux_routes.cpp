#include "router/rib/linux_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

namespace {

constexpr unsigned kDeviceResyncsInARow = 200;  // rounds have 8 bits, and must not come round
constexpr size_t kFirstStep = 8192;             // small tables are swept at once

bool same_hop(const NextHop& a, const NextHop& b) {
  return a.gateway == b.gateway && a.ifindex == b.ifindex && a.labels == b.labels;
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

// Linux takes it away with a device, though it is no unicast route, and does not say with which.
bool has_unknown_device(const Route& route) {
  return route.next_hops.empty() && route.table != kTableLocal &&
         (route.type == RouteType::kLocal || route.type == RouteType::kBroadcast ||
          route.type == RouteType::kMulticast);
}

// In canonical form. Every resync reads the local table whole: it needs no devices.
std::vector<NextHop> next_hops_of(const Route& route) {
  if (route.table == kTableLocal && route.type != RouteType::kUnicast) return {};
  std::vector<NextHop> next_hops = route.next_hops;
  canonicalize(next_hops);
  return next_hops;
}

template <typename Address>
constexpr Family kFamily = std::is_same_v<Address, Ipv4Address> ? Family::kIpv4 : Family::kIpv6;

}  // namespace

void LinuxRoutes::link(const LinuxLink& link, bool removed) {
  Interfaces& interfaces = store_.interfaces();
  bool changed =
      removed ? interfaces.remove_link(link.ifindex) : interfaces.set_link(link, generation_);
  Bridges& bridges = interfaces.bridges();
  changed |= removed ? bridges.remove_link(link.ifindex) : bridges.set_link(link, generation_);
  if (changed) store_.interfaces_changed();
}

void LinuxRoutes::bridge_port(int ifindex, const LinuxBridgePort& port) {
  if (store_.interfaces().bridges().set_port(ifindex, port)) store_.interfaces_changed();
}

void LinuxRoutes::bridge_vlans(const LinuxBridgeVlans& vlans, bool removed) {
  if (store_.interfaces().bridges().set_vlans(vlans, removed)) store_.interfaces_changed();
}

// Next hops by a bridge go where their neighbor's station is.
void LinuxRoutes::fdb_entry(const LinuxFdbEntry& entry, bool removed) {
  Bridges& bridges = store_.interfaces().bridges();
  if (removed ? bridges.remove_entry(entry) : bridges.set_entry(entry, generation_))
    store_.station_changed(entry.mac);
}

void LinuxRoutes::address(const LinuxAddress& address, bool removed) {
  Interfaces& interfaces = store_.interfaces();
  bool changed =
      removed ? interfaces.remove_address(address) : interfaces.set_address(address, generation_);
  if (changed) store_.interfaces_changed();
}

void LinuxRoutes::neighbor(const LinuxNeighbor& neighbor, bool removed) {
  Neighbors& neighbors = store_.neighbors();
  Neighbor value{neighbor.address, neighbor.ifindex, kNoInterface,
                 neighbor.mac,     neighbor.state,   neighbor.usable};
  bool changed = removed ? neighbors.remove(value) : neighbors.set(value, generation_);
  if (changed) store_.neighbor_changed(value);
}

bool LinuxRoutes::sends_to(const LinuxNeighbor& neighbor) const {
  for (const Neighbor& known : std::as_const(store_).neighbors().of_address(neighbor.address))
    if (known.ifindex == neighbor.ifindex && known.usable && known.mac == neighbor.mac) return true;
  return false;
}

void LinuxRoutes::nexthop_object(const NextHopObject& object, bool removed) {
  NextHopObjects& objects = store_.objects();
  bool changed = removed ? objects.remove(object.id) : objects.set(object, objects_generation_);
  if (changed) store_.object_changed(object.id);
}

void LinuxRoutes::route(const Route& route, bool removed, bool replace) {
  if (route.tos != 0) {
    ++statistics_.ignored_tos;
    return;
  }
  if (route.prefix.length > route.prefix.address.size() * 8) return;
  RoutingTable* table = removed ? store_.table(route.table) : store_.make_table(route.table);
  if (table == nullptr) {
    ++statistics_.ignored_table;
    if (!removed && !std::exchange(told_tables_full_, true))
      store_.log(
          LogLevel::kWarning,
          fmt::format("routes: table {} and maybe others have no room beside {}: what policy "
                      "rules send there Linux forwards",
                      route.table, store_.tables().size() - 1));
    return;
  }
  unknown_device_seen_ |= !removed && has_unknown_device(route);
  with_prefix(route.prefix, [&](const auto& prefix) {
    if (removed) {
      remove(*table, prefix, route);
    } else {
      add(*table, prefix, route, replace);
    }
  });
}

template <typename Address>
void LinuxRoutes::add(RoutingTable& table, const Prefix<Address>& prefix, const Route& route,
                      bool replace) {
  const Rib<Address>& rib = table.rib<Address>();
  const std::vector<NextHop> next_hops = next_hops_of(route);
  Candidate fresh = store_.make_candidate(route, RouteOrigin::kLinux, next_hops);
  fresh.generation = generation_;
  fresh.round = round_;
  fresh.first = route.first;
  const RibEntry<Address>* entry = rib.find(prefix);
  RouteId same = rib.find_route(entry, [&](const Candidate& other) {
    return other.same_slot(fresh) && other.next_hop_set == fresh.next_hop_set;
  });
  if (same != kNoRouteId && rib.route(same).generation != generation_) {
    table.families.get<Address>().confirm(prefix, same, generation_);
  }
  RouteId id = same != kNoRouteId ? same : replaced_by<Address>(rib, entry, fresh, replace);
  store_.insert_or_replace(table, prefix, id, fresh);
}

// Which candidate a new route takes the place of, kNoRouteId for none.
template <typename Address>
RouteId LinuxRoutes::replaced_by(const Rib<Address>& rib, const RibEntry<Address>* entry,
                                 const Candidate& fresh, bool replace) const {
  constexpr bool kIpv6 = std::is_same_v<Address, Ipv6Address>;
  const NextHopSets& sets = store_.sets();
  const std::vector<NextHop>& hops = sets.set(fresh.next_hop_set).next_hops;
  auto in_slot = [&fresh](const Candidate& other) { return other.same_slot(fresh); };
  auto alike = [&](const Candidate& other) {
    return in_slot(other) &&
           has_gateway(sets.set(other.next_hop_set).next_hops) == has_gateway(hops);
  };
  auto grown = [&](const Candidate& other) {
    const std::vector<NextHop>& old = sets.set(other.next_hop_set).next_hops;
    return in_slot(other) && has_gateway(old) && contains_all(hops, old);
  };
  // Told again where Linux has marked next hops dead or alive: it keeps its place.
  auto revived = [&](const Candidate& other) {
    const std::vector<NextHop>& old = sets.set(other.next_hop_set).next_hops;
    return in_slot(other) && other.round != round_ && old.size() == hops.size() &&
           contains_all(hops, old);
  };
  if (resyncing_ && device_ != 0) {
    const RouteId found = rib.find_route(entry, revived);
    if (found != kNoRouteId) return found;
  }
  if (!replace) return kIpv6 ? rib.find_route(entry, grown) : kNoRouteId;
  RouteId found = kIpv6 ? rib.find_route(entry, alike) : kNoRouteId;
  return found != kNoRouteId ? found : rib.find_route(entry, in_slot);
}

// The route that a removal means, kNoRouteId: none that we know. `next_hops` are canonical.
template <typename Address>
RouteId LinuxRoutes::meant_by_removal(const Rib<Address>& rib, const Prefix<Address>& prefix,
                                      const Route& route,
                                      const std::vector<NextHop>& next_hops) const {
  const NextHopSets& sets = store_.sets();
  const RibEntry<Address>* entry = rib.find(prefix);
  Candidate slot = slot_of(RouteOrigin::kLinux, route.table, route.metric);
  SetId set = sets.find({kFamily<Address>, route.type, route.nexthop_object, next_hops, route.mtu});
  auto exact = [&](const Candidate& other) {
    return other.same_slot(slot) && other.next_hop_set == set;
  };
  // Linux may have marked next hops dead, or changed weights, without telling.
  auto holds = [&](const Candidate& other) {
    const NextHopSets::Set& known = sets.set(other.next_hop_set);
    return other.same_slot(slot) && known.type == route.type && !next_hops.empty() &&
           contains_all(known.next_hops, next_hops);
  };
  auto in_slot = [&](const Candidate& other) { return other.same_slot(slot); };
  RouteId id = set == kNoSet ? kNoRouteId : rib.find_route(entry, exact);
  if (id == kNoRouteId) id = rib.find_route(entry, holds);
  if (id != kNoRouteId) return id;
  // The only one it can mean.
  RouteId only = rib.find_route(entry, in_slot);
  RouteId second = only == kNoRouteId ? kNoRouteId : rib.next(only);
  bool more = second != kNoRouteId && rib.route(second).same_slot(slot);
  return more ? kNoRouteId : only;
}

template <typename Address>
void LinuxRoutes::remove(RoutingTable& table, const Prefix<Address>& prefix, const Route& route) {
  const std::vector<NextHop> next_hops = next_hops_of(route);
  const Rib<Address>& rib = table.rib<Address>();
  RouteId id = meant_by_removal(rib, prefix, route, next_hops);
  if (id == kNoRouteId) {
    ++statistics_.unmatched_removals;
    return;
  }
  NextHopSets& sets = store_.sets();
  Candidate rest = rib.route(id);
  const std::vector<NextHop>& known = sets.set(rest.next_hop_set).next_hops;
  std::vector<NextHop> left = known;
  std::erase_if(left, [&](const NextHop& hop) { return contains(next_hops, hop); });
  if (left.empty() || left.size() == known.size()) {
    store_.erase(table, prefix, id);
    return;
  }
  canonicalize(left);
  const uint16_t mtu = sets.set(rest.next_hop_set).mtu;
  rest.next_hop_set = sets.acquire({kFamily<Address>, route.type, 0, left, mtu});
  bool taken = store_.insert_or_replace(table, prefix, id, rest).id != kNoRouteId;
  if (!taken) store_.erase(table, prefix, id);  // another has just these
}

void LinuxRoutes::resync_begin(const std::string& why) {
  if (++generation_ == 0) generation_ = 1;
  begin(0);
  store_.interfaces().bridges().resync_begin();
  unknown_device_seen_ = false;
  device_resyncs_ = 0;
  store_.log(LogLevel::kInfo, fmt::format("routes: reading Linux's state again: {}", why));
}

void LinuxRoutes::device_resync_begin(int ifindex, const std::string& why) {
  begin(ifindex);
  ++round_;
  ++device_resyncs_;
  store_.log(LogLevel::kInfo, fmt::format("routes: reading again what leaves by it: {}", why));
}

void LinuxRoutes::begin(int device) {
  ++objects_generation_;
  ++statistics_.resyncs;
  resyncing_ = true;
  device_ = device;
  sweep_.reset();  // what it had left is as old at the end of this one
}

std::vector<int> LinuxRoutes::devices_beside(int ifindex) const {
  if (unknown_device_seen_ || sweep_ || device_resyncs_ >= kDeviceResyncsInARow) return {};
  std::set<int> devices{ifindex};
  store_.sets().visit([&](SetId id, const NextHopSets::Set& set) {
    if (set.labelled) return;  // labels are read all
    std::set<int> own = store_.sets().devices(id);
    if (own.contains(ifindex)) devices.merge(own);
  });
  return {devices.begin(), devices.end()};
}

void LinuxRoutes::resync_end() {
  if (!std::exchange(resyncing_, false)) return;
  if (device_ == 0) {
    const bool bridges = store_.interfaces().bridges().sweep(generation_);
    if (store_.interfaces().sweep(generation_) || bridges) store_.interfaces_changed();
  }
  for (uint32_t id : store_.objects().stale(objects_generation_)) {
    store_.objects().remove(id);
    store_.object_changed(id);
  }
  if (device_ == 0) {
    for (const Neighbor& neighbor : store_.neighbors().sweep(generation_)) {
      store_.neighbor_changed(neighbor);
    }
  }
  sweep_.emplace(store_, device_ != 0 ? unseen_on(device_) : unseen());
  continue_sweep(kFirstStep);
}

RouteStore::CandidateTest LinuxRoutes::unseen() const {
  return [generation = generation_](const Candidate& candidate) {
    return origin_of(candidate) == RouteOrigin::kLinux && candidate.generation != generation;
  };
}

RouteStore::CandidateTest LinuxRoutes::unseen_on(int device) const {
  return [round = round_, sets = sets_on(device)](const Candidate& candidate) {
    const SetId set = candidate.next_hop_set;
    return origin_of(candidate) == RouteOrigin::kLinux && candidate.round != round &&
           (table_of(candidate) == kTableLocal || (set < sets.size() && sets[set]));
  };
}

// By SetId: what has a next hop on the device, or an object that is no more. Sets made later are
// those of routes told later.
std::vector<bool> LinuxRoutes::sets_on(int device) const {
  const NextHopSets& sets = store_.sets();
  std::vector<bool> result;
  sets.visit([&](SetId id, const NextHopSets::Set& set) {
    result.resize(id + 1);
    result[id] = sets.devices(id).contains(device) ||
                 (set.object != 0 && store_.objects().find(set.object) == nullptr);
  });
  return result;
}

bool LinuxRoutes::continue_sweep(size_t work) {
  if (!sweep_) return false;
  if (sweep_->step(work)) return true;
  const size_t swept = sweep_->erased();
  sweep_.reset();
  statistics_.swept += swept;
  store_.update_host_routes_later();
  const RoutingStatistics now = store_.statistics();
  store_.log(
      LogLevel::kInfo,
      fmt::format("routes: Linux's state is read: {} IPv4 and {} IPv6 prefixes, {} old routes gone",
                  now.prefixes4, now.prefixes6, swept));
  return false;
}

}  // namespace hecto::router
