// All routes of the router and what they lead to: the tables of both families, the sets of next
// hops that routes point at, interfaces, neighbors and the neighbors' host routes. The only writer
// of the FIBs, the next-hop table and the table for reverse-path checks.
//
//   LinuxRoutes  LocalRoutes  StaticRoutes  LoadedRoutes     own what they were told
//        └────────────┴────┬───────┴─────────────┘
//                      RouteStore ─► FamilyTables: RIBs, FIBs
//                          ├──────► NextHopSets: groups, records, reverse-path bits
//                          └──────► HostRoutes: after each change of a route or a neighbor
//
// Control thread; not thread-safe. A change is visible to the workers when the call returns.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/family_table.hpp"
#include "router/rib/host_routes.hpp"
#include "router/rib/interfaces.hpp"
#include "router/rib/neighbors.hpp"
#include "router/rib/next_hop_objects.hpp"
#include "router/rib/next_hop_sets.hpp"
#include "router/rib/routing_views.hpp"
#include "router/rib/urpf.hpp"

namespace hecto::router {

struct RoutingOptions {
  std::vector<int> sockets = {0};  // one replica each of the reverse-path table
  uint32_t max_groups = 16384;     // as the next-hop table has
  lookup::Memory* memory = &lookup::Memory::system();
  lookup::Reclaimer* readers = &lookup::Reclaimer::none();  // as the FIBs have
  RoutingLog log;
};

class RouteStore {
 public:
  using CandidateTest = std::function<bool(const Candidate&)>;
  template <typename Address>
  using Change = typename FamilyTable<Address>::Change;

  RouteStore(lookup::Fib4& fib4, lookup::Fib6& fib6, lookup::NextHopTable& next_hops,
             RoutingOptions options);
  RouteStore(const RouteStore&) = delete;
  RouteStore& operator=(const RouteStore&) = delete;

  // A candidate for the route, with a reference to the set of `next_hops` (canonical).
  Candidate make_candidate(const Route& route, RouteOrigin origin,
                           std::span<const NextHop> next_hops);
  // As FamilyTable's, and then the host routes of neighbors that the prefix holds.
  template <typename Address>
  Change<Address> insert_or_replace(const lookup::Prefix<Address>& prefix, RouteId id,
                                    const Candidate& candidate) {
    auto change = tables_.get<Address>().insert_or_replace(prefix, id, candidate);
    if (change.next_hops_changed) hosts_.update_inside(prefix);
    return change;
  }
  template <typename Address>
  void erase(const lookup::Prefix<Address>& prefix, RouteId id) {
    tables_.get<Address>().erase(prefix, id);
    hosts_.update_inside(prefix);
  }
  template <typename Address>
  void confirm(const lookup::Prefix<Address>& prefix, RouteId id, uint16_t generation) {
    tables_.get<Address>().confirm(prefix, id, generation);
  }

  // For those who write interfaces, neighbors and next-hop objects: what follows from it.
  Interfaces& interfaces() { return interfaces_; }
  Neighbors& neighbors() { return neighbors_; }
  NextHopObjects& objects() { return objects_; }
  void interfaces_changed();
  void neighbor_changed(const Neighbor& neighbor);
  void object_changed(uint32_t object);
  void update_host_routes_later() { hosts_.update_all_later(); }

  // Belongs behind each batch of changes, and about once a second without any: publishes a FIB
  // generation, takes back what readers let go of, and tries again what did not fit.
  void commit();

  NextHopSets& sets() { return sets_; }
  const NextHopSets& sets() const { return sets_; }
  const Interfaces& interfaces() const { return interfaces_; }
  const Neighbors& neighbors() const { return neighbors_; }
  const NextHopObjects& objects() const { return objects_; }
  const UrpfTable& urpf() const { return urpf_; }
  const lookup::NextHopTable& next_hops() const { return next_hops_; }
  template <typename Address>
  const Rib<Address>& rib() const {
    return tables_.get<Address>().rib();
  }
  // Of the last route of the family that did not fit into the FIB.
  template <typename Address>
  std::string remedy() const {
    return tables_.get<Address>().remedy();
  }
  GroupId overflow_group() const { return context_.overflow_group; }
  uint32_t max_groups() const { return options_.max_groups; }
  uint32_t prefixes_of(GroupId group) const {
    return group < context_.prefixes_of_group.size() ? context_.prefixes_of_group[group] : 0;
  }
  RouteCounts counts() const;
  // Without what LinuxRoutes counts.
  RoutingStatistics statistics() const;
  void log(LogLevel level, const std::string& line) const { options_.log(level, line); }

 private:
  void make_overflow_group();

  const RoutingOptions options_;
  lookup::NextHopTable& next_hops_;
  Interfaces interfaces_;
  Neighbors neighbors_;
  NextHopObjects objects_;
  UrpfTable urpf_;
  NextHopSets sets_;
  InstallContext context_;
  FamilyTables tables_;
  HostRoutes hosts_;
};

}  // namespace hecto::router
