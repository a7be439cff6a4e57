// What the router says of itself: its interfaces, the connected and local routes of their
// addresses, and the neighbors of its configuration. Control thread.
//
// An interface with a twin in Linux has no routes here: Linux makes and announces them. Those of one
// in a VRF are in that one's table.
#pragma once

#include <unordered_map>
#include <vector>

#include "router/rib/route_store.hpp"

namespace hecto::router {

class LocalRoutes {
 public:
  explicit LocalRoutes(RouteStore& store) : store_(store) {}
  LocalRoutes(const LocalRoutes&) = delete;
  LocalRoutes& operator=(const LocalRoutes&) = delete;

  Result<void> add_interface(const InterfaceState& state);
  Result<void> update_interface(const InterfaceState& state);  // found by its id
  Result<void> remove_interface(InterfaceId id);

  // Neighbors of the configuration; they come before Linux's.
  Result<void> add_neighbor(InterfaceId interface, const IpAddress& address, const MacAddress& mac);
  Result<void> remove_neighbor(InterfaceId interface, const IpAddress& address);

 private:
  Result<void> check_vrf(const InterfaceState& state);
  void set_routes_of(InterfaceId id, std::vector<Route> wanted);
  void add(const Route& route);
  void remove(const Route& route);

  RouteStore& store_;
  std::unordered_map<InterfaceId, std::vector<Route>> routes_;
};

}  // namespace hecto::router
