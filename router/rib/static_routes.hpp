// Routes of the file and the API: what is right in one, and its place among the routes of its
// prefix. Control thread.
//
// A metric of 0 is 1024 for IPv6, as in Linux, which gets the file's routes, too.
//
// A route of the same prefix, origin, table and metric is replaced. One that finds no next-hop
// group, or no room in the FIB, is refused with a line that says what to do.
#pragma once

#include "router/rib/route_store.hpp"
#include "router/rib/sweep.hpp"

namespace hecto::router {

class StaticRoutes {
 public:
  enum class Outcome : uint8_t { kAdded, kReplaced, kUnchanged, kRefused };

  explicit StaticRoutes(RouteStore& store) : store_(store) {}
  StaticRoutes(const StaticRoutes&) = delete;
  StaticRoutes& operator=(const StaticRoutes&) = delete;

  Result<bool> add(const Route& route);      // true: replaced
  Result<void> remove(const Route& route);   // found without its next hops
  Sweep sweep_origin(RouteOrigin origin);    // kFile spares the interfaces' own routes
  size_t remove_origin(RouteOrigin origin);  // the same at once

  // For loads. With the reference to the set that the candidate brings.
  template <typename Address>
  Outcome add(RoutingTable& table, const lookup::Prefix<Address>& prefix,
              const Candidate& candidate);
  // The prefix's route in the slot of `slot`; false: there is none.
  template <typename Address>
  bool remove(RoutingTable& table, const lookup::Prefix<Address>& prefix, const Candidate& slot);
  Result<void> check_next_hops(const IpPrefix& prefix, const std::vector<NextHop>& next_hops) const;

 private:
  Result<void> check(const Route& route);
  template <typename Address>
  RouteId find(const RoutingTable& table, const lookup::Prefix<Address>& prefix,
               const Candidate& slot) const;

  RouteStore& store_;
};

}  // namespace hecto::router
