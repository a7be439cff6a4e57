#include "router/rib/host_routes.hpp"

#include <utility>

namespace hecto::router {

using lookup::Prefix;

namespace {

// Never forwarded by the fast path (classify punts them), and not unique to one interface.
bool is_link_local(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (address.family == Family::kIpv4) return bytes[0] == 169 && bytes[1] == 254;  // RFC 3927
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;                            // RFC 4291
}

bool is_host_route(const Candidate& candidate) {
  return origin_of(candidate) == RouteOrigin::kNeighbor;
}

}  // namespace

void HostRoutes::commit(bool groups_left) {
  if (update_all_ || (refused_ && groups_left)) update_all();
}

void HostRoutes::update_all() {
  update_all_ = refused_ = false;
  std::vector<IpAddress> hosts;
  for (const auto& [address, route] : routes_) hosts.push_back(address);
  for (const Neighbor& neighbor : neighbors_.all()) hosts.push_back(neighbor.address);
  for (const IpAddress& host : hosts) update(host);
}

void HostRoutes::update_neighbors_of(const IpPrefix& prefix) {
  std::vector<IpAddress> hosts;
  neighbors_.visit_addresses(prefix, [&hosts](const IpAddress& host) { hosts.push_back(host); });
  for (const IpAddress& host : hosts) update(host);
}

void HostRoutes::update(const IpAddress& address) {
  if (is_link_local(address)) return;
  auto found = routes_.find(address);
  const Host* now = found == routes_.end() ? nullptr : &found->second;
  std::optional<Host> next = wanted(address, now);
  bool same = now == nullptr ? !next : next && *next == *now;
  if (!same) set(address, next);
}

// The next hop that the host's route should have; none: it should have no route. `now`: the one
// that it has.
std::optional<HostRoutes::Host> HostRoutes::wanted(const IpAddress& address,
                                                   const Host* now) const {
  std::vector<Neighbor> neighbors = neighbors_.of_address(address);
  if (neighbors.empty()) return std::nullopt;
  SetId cover =
      address.family == Family::kIpv4 ? covering_set(address.v4()) : covering_set(address.v6());
  if (cover == kNoSet) return std::nullopt;
  for (const Neighbor& neighbor : neighbors) {
    InterfaceId id =
        neighbor.configured() ? neighbor.interface : interfaces_.by_ifindex(neighbor.ifindex);
    NextHop hop;
    hop.gateway = address;
    hop.ifindex = neighbor.configured() ? 0 : neighbor.ifindex;
    hop.interface = neighbor.configured() ? neighbor.interface : kNoInterface;
    bool kept = now != nullptr && now->next_hop == hop &&
                sets_.set(cover).members.empty();  // of ECMP another member may serve
    if ((neighbor.usable || kept) && interfaces_.find(id) != nullptr && sets_.on_link(cover, id)) {
      return Host{hop, sets_.set(cover).mtu};
    }
  }
  return std::nullopt;
}

// The set of the best route to the host, neighbors' own routes left aside.
template <typename Address>
SetId HostRoutes::covering_set(const Address& address) const {
  const Rib<Address>& rib = tables_.get<Address>().rib();
  for (auto match = rib.longest_match(address); match; match = rib.parent(match->prefix)) {
    RouteId id = rib.find_route(
        match->value, [](const Candidate& candidate) { return !is_host_route(candidate); });
    if (id != kNoRouteId) return rib.route(id).next_hop_set;
  }
  return kNoSet;
}

void HostRoutes::set(const IpAddress& address, const std::optional<Host>& wanted) {
  Candidate candidate = slot_of(RouteOrigin::kNeighbor, kTableMain, 0);
  candidate.next_hop_set = kNoSet;
  candidate.protocol = kProtocolKernel;
  if (wanted) {
    candidate.next_hop_set = sets_.acquire({address.family, RouteType::kUnicast, 0,
                                            std::span(&wanted->next_hop, size_t{1}), wanted->mtu});
    // Without a group the connected route still serves, by way of Linux.
    if (sets_.group(candidate.next_hop_set) == lookup::kNoRoute) {
      sets_.release(std::exchange(candidate.next_hop_set, kNoSet));
      refused_ = true;
    }
  }
  if (candidate.next_hop_set == kNoSet) {
    if (routes_.erase(address) == 0) return;
  } else {
    routes_[address] = *wanted;
  }
  IpPrefix host{address, static_cast<uint8_t>(address.size() * 8)};
  with_prefix(host, [&]<typename Address>(const Prefix<Address>& prefix) {
    FamilyTable<Address>& table = tables_.get<Address>();
    RouteId id = table.rib().find_route(table.rib().find(prefix), is_host_route);
    if (candidate.next_hop_set != kNoSet) {
      table.insert_or_replace(prefix, id, candidate);
    } else if (id != kNoRouteId) {
      table.erase(prefix, id);
    }
  });
}

}  // namespace hecto::router
