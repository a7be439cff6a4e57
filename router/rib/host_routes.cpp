// Host routes of neighbors: a host on a connected network gets a route of its own, so that its
// packets find a rewrite and not the connected route's punt to Linux.
//
// A neighbor has one as long as the longest prefix that covers it, its own host route left aside,
// is on-link on the neighbor's interface; it is made when the neighbor becomes usable and goes
// with the neighbor. While the neighbor is not usable its record punts, and the FIB keeps still.
#include "router/rib/routing.hpp"

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

namespace {

constexpr uint8_t kProtocolKernel = 2;

// Never forwarded by the fast path (classify punts them), and not unique to one interface.
bool is_link_local(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (address.family == Family::kIpv4) return bytes[0] == 169 && bytes[1] == 254;  // RFC 3927
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;                            // RFC 4291
}

}  // namespace

void Routing::neighbor(const LinuxNeighbor& neighbor, bool removed) {
  Neighbor value{neighbor.address, neighbor.ifindex, kNoInterface,
                 neighbor.mac,     neighbor.state,   neighbor.usable};
  bool changed = removed ? neighbors_.remove(value) : neighbors_.set(value, generation_);
  if (changed) neighbor_changed(value);
}

void Routing::neighbor_changed(const Neighbor& neighbor) {
  InterfaceId id =
      neighbor.configured() ? neighbor.interface : interfaces_.by_ifindex(neighbor.ifindex);
  const InterfaceState* interface = interfaces_.find(id);
  if (interface == nullptr) return;
  sets_.neighbor_changed(*interface, neighbor.address);
  reconsider(neighbor.address);
}

void Routing::reconsider_all() {
  reconsider_all_ = host_route_refused_ = false;
  std::vector<IpAddress> hosts;
  for (const auto& [address, route] : host_routes_) hosts.push_back(address);
  for (const Neighbor& neighbor : neighbors_.all()) hosts.push_back(neighbor.address);
  for (const IpAddress& host : hosts) reconsider(host);
}

void Routing::reconsider(const IpAddress& address) {
  if (is_link_local(address)) return;
  std::vector<Neighbor> neighbors = neighbors_.of_address(address);
  auto found = host_routes_.find(address);
  if (neighbors.empty() && found == host_routes_.end()) return;
  SetId cover = kNoSet;
  if (!neighbors.empty()) {
    cover =
        address.family == Family::kIpv4 ? cover_of_host(address.v4()) : cover_of_host(address.v6());
  }
  std::optional<NextHop> wanted;
  for (const Neighbor& neighbor : neighbors) {
    if (cover == kNoSet || wanted) break;
    InterfaceId id =
        neighbor.configured() ? neighbor.interface : interfaces_.by_ifindex(neighbor.ifindex);
    NextHop hop;
    hop.gateway = address;
    hop.ifindex = neighbor.configured() ? 0 : neighbor.ifindex;
    hop.interface = neighbor.configured() ? neighbor.interface : kNoInterface;
    bool kept = found != host_routes_.end() && found->second == hop &&
                sets_.set(cover).members.empty();  // of ECMP another member may serve
    if ((neighbor.usable || kept) && interfaces_.find(id) != nullptr && sets_.on_link(cover, id)) {
      wanted = hop;
    }
  }
  bool same = found == host_routes_.end() ? !wanted : wanted && *wanted == found->second;
  if (!same) set_host_route(address, wanted);
}

// The set of the best route to the host, neighbors' own routes left aside.
template <typename Address>
SetId Routing::cover_of_host(const Address& address) const {
  const Rib<Address>& rib = table<Address>().rib;
  for (auto match = rib.longest_match(address); match; match = rib.parent(match->prefix)) {
    RouteId id = rib.find_route(match->value, [](const Candidate& candidate) {
      return origin_of(candidate) != RouteOrigin::kNeighbor;
    });
    if (id != kNoRouteId) return rib.route(id).next_hop_set;
  }
  return kNoSet;
}

void Routing::set_host_route(const IpAddress& address, const std::optional<NextHop>& wanted) {
  Candidate candidate = slot_of(RouteOrigin::kNeighbor, kTableMain, 0);
  candidate.next_hop_set = kNoSet;
  candidate.protocol = kProtocolKernel;
  if (wanted) {
    candidate.next_hop_set =
        sets_.acquire({address.family, RouteType::kUnicast, 0, std::span(&*wanted, size_t{1})});
    // Without a group the connected route still serves, by way of Linux.
    if (sets_.group(candidate.next_hop_set) == lookup::kNoRoute) {
      sets_.release(std::exchange(candidate.next_hop_set, kNoSet));
      host_route_refused_ = true;
    }
  }
  if (candidate.next_hop_set == kNoSet) {
    if (host_routes_.erase(address) == 0) return;
  } else {
    host_routes_[address] = *wanted;
  }
  IpPrefix host{address, static_cast<uint8_t>(address.size() * 8)};
  with_prefix(host, [&]<typename Address>(const Prefix<Address>& prefix) {
    Rib<Address>& rib = table<Address>().rib;
    auto is_neighbor = [](const Candidate& other) {
      return origin_of(other) == RouteOrigin::kNeighbor;
    };
    RouteId id = rib.find_route(rib.find(prefix), is_neighbor);
    if (candidate.next_hop_set != kNoSet) {
      put(prefix, id, candidate);
    } else if (id != kNoRouteId) {
      drop(prefix, id);
    }
  });
}

}  // namespace hecto::router
