// Host routes of neighbors: a host on a connected network gets a route of its own, so that its
// packets find a rewrite and not the connected route's punt to Linux.
//
// A neighbor has one as long as the longest prefix that covers it, its own host route left aside,
// is on-link on the neighbor's interface; it is made when the neighbor becomes usable and goes
// with the neighbor. While the neighbor is not usable its record punts, and the FIB keeps still.
//
// Whoever changes a neighbor calls update(), whoever changes a route update_inside(), whoever
// changes interfaces or next-hop objects update_all_later(). Control thread.
#pragma once

#include <map>
#include <optional>

#include "router/rib/family_table.hpp"
#include "router/rib/neighbors.hpp"

namespace hecto::router {

class HostRoutes {
 public:
  HostRoutes(const Interfaces& interfaces, const Neighbors& neighbors, NextHopSets& sets,
             FamilyTables& tables)
      : interfaces_(interfaces), neighbors_(neighbors), sets_(sets), tables_(tables) {}
  HostRoutes(const HostRoutes&) = delete;
  HostRoutes& operator=(const HostRoutes&) = delete;

  void update(const IpAddress& address);
  // Every neighbor whose address the prefix holds.
  template <typename Address>
  void update_inside(const lookup::Prefix<Address>& prefix) {
    if (neighbors_.empty()) return;
    update_neighbors_of({IpAddress::from(prefix.address), prefix.length});
  }
  void update_all_later() { update_all_ = true; }
  // What update_all_later() asked for, and what found no group where there are some now.
  void commit(bool groups_left);

 private:
  struct Host {
    NextHop next_hop;
    uint16_t mtu = 0;  // of the route that covers it
    bool operator==(const Host&) const = default;
  };
  void update_neighbors_of(const IpPrefix& prefix);
  void update_all();
  std::optional<Host> wanted(const IpAddress& address, const Host* now) const;
  template <typename Address>
  SetId covering_set(const Address& address) const;
  void set(const IpAddress& address, const std::optional<Host>& wanted);

  const Interfaces& interfaces_;
  const Neighbors& neighbors_;
  NextHopSets& sets_;
  FamilyTables& tables_;
  std::map<IpAddress, Host> routes_;
  bool update_all_ = false;
  bool refused_ = false;  // no group was left for one
};

}  // namespace hecto::router
