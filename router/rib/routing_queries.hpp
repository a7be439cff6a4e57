// Answers to those who ask what the routes are (`hecto show`, the API): plain copies of a
// RouteStore's state. Control thread.
#pragma once

#include <optional>
#include <vector>

#include "router/rib/route_store.hpp"
#include "router/rib/routing_views.hpp"

namespace hecto::router {

class RoutingQueries {
 public:
  explicit RoutingQueries(const RouteStore& store) : store_(store) {}

  // Ascending, IPv4 before IPv6, beginning behind `after`; `limit` prefixes.
  RoutePage routes(const std::optional<IpPrefix>& after, size_t limit,
                   const RouteFilter& filter) const;
  std::vector<GroupView> next_hops() const;  // by group
  std::optional<GroupView> next_hop(GroupId group) const;
  std::vector<NeighborView> neighbors() const;  // by address
  template <typename Address>
  RouteView view(const RoutingTable& table, const lookup::Prefix<Address>& prefix,
                 const RibEntry<Address>& entry, RouteId id) const;
  std::vector<TableView> tables() const;  // the first one first
  std::vector<NextHopView> next_hop_views(SetId id) const;
  std::optional<RouteMatch> match(const RoutingTable& table, const IpAddress& address) const;

 private:
  NextHopView next_hop_view(SetId single) const;
  NeighborView view(const Neighbor& neighbor) const;
  GroupMemberView member_view(SetId single) const;
  GroupView view(SetId id) const;
  bool leads_by(SetId id, InterfaceId interface) const;
  template <typename Address>
  std::optional<RouteMatch> match_in(const RoutingTable& table, const Address& address) const;
  struct Walk {
    size_t shown = 0, looked_at = 0;  // prefixes
    std::optional<IpPrefix> last;     // that was looked at
  };
  template <typename Address>
  bool collect(const RoutingTable& table, const lookup::Prefix<Address>& from, bool skip_from,
               size_t limit, const RouteFilter& filter, RoutePage& page, Walk& walk) const;

  const RouteStore& store_;
};

}  // namespace hecto::router
