// All routes of the router and what they lead to: Linux's tables, the sets of next hops that routes
// point at, interfaces and neighbors. The only writer of the FIBs, the next-hop table and the table
// for reverse-path checks.
//
//   LinuxRoutes  LocalRoutes  StaticRoutes  LoadedRoutes     own what they were told
//        └────────────┴────┬───────┴─────────────┘
//                      RouteStore ─► RoutingTables: RIBs, FIBs, and after each change of a route
//                          │         or a neighbor the neighbors' host routes
//                          └──────► NextHopSets: groups, records, reverse-path bits
//
// Control thread; not thread-safe. A change is visible to the workers when the call returns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/interfaces.hpp"
#include "router/rib/large_views.hpp"
#include "router/rib/neighbors.hpp"
#include "router/rib/next_hop_objects.hpp"
#include "router/rib/next_hop_sets.hpp"
#include "router/rib/routing_table.hpp"
#include "router/rib/routing_views.hpp"
#include "router/rib/urpf.hpp"

namespace hecto::router {

struct RoutingOptions {
  std::vector<int> sockets = {0};  // one replica each of the reverse-path table
  uint32_t max_groups = 16384;     // as the next-hop table has
  lookup::Memory* memory = &lookup::Memory::system();
  lookup::Reclaimer* readers = &lookup::Reclaimer::none();  // as the FIBs have
  // For tables other than local, main and default: numbers 1 to further_tables - 1 in these. Null:
  // such tables are not kept.
  lookup::Fib4* further4 = nullptr;
  lookup::Fib6* further6 = nullptr;
  lookup::TableId further_tables = 0;
  bool consistent_ecmp = false;  // buckets of ECMP by the members alone
  // Of these, the first LargeTableViews::kMost of a family with so many prefixes and more get a FIB of
  // their own. make4, make6: a new one, or null where there is no memory; none: none gets one.
  size_t large_from = 16384;
  std::function<std::unique_ptr<lookup::Fib4>()> make4 = nullptr;
  std::function<std::unique_ptr<lookup::Fib6>()> make6 = nullptr;
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

  RoutingTable& main() { return main_; }  // local, main and default
  const RoutingTable& main() const { return main_; }
  // The one that holds Linux's table of this number; null: there is none (yet).
  RoutingTable* table(uint32_t linux_number);
  const RoutingTable* table(uint32_t linux_number) const;
  // Makes it if need be; null: there are as many as there may be.
  RoutingTable* make_table(uint32_t linux_number);
  std::vector<RoutingTable*> tables();  // the first one first, then by Linux's number
  std::vector<const RoutingTable*> tables() const;

  // As FamilyTable's, and then the host routes of neighbors that the prefix holds.
  template <typename Address>
  Change<Address> insert_or_replace(RoutingTable& table, const lookup::Prefix<Address>& prefix,
                                    RouteId id, const Candidate& candidate) {
    auto change = table.families.get<Address>().insert_or_replace(prefix, id, candidate);
    if (change.next_hops_changed) table.hosts.update_inside(prefix);
    return change;
  }
  template <typename Address>
  void erase(RoutingTable& table, const lookup::Prefix<Address>& prefix, RouteId id) {
    table.families.get<Address>().erase(prefix, id);
    table.hosts.update_inside(prefix);
  }

  // For those who write interfaces, neighbors and next-hop objects: what follows from it.
  Interfaces& interfaces() { return interfaces_; }
  Neighbors& neighbors() { return neighbors_; }
  NextHopObjects& objects() { return objects_; }
  void interfaces_changed();
  void neighbor_changed(const Neighbor& neighbor);
  void station_changed(const MacAddress& mac);  // of a bridge: it is elsewhere, or not known
  void object_changed(uint32_t object);
  void update_host_routes_later();

  // Belongs behind each batch of changes, and about once a second without any: publishes a FIB
  // generation, takes back what readers let go of, and tries again what did not fit.
  void commit();

  const LargeViews* large_views(int socket) const { return &large_views_.at(socket); }
  const LargeViews& any_large_views() const { return large_views_.begin()->second; }

  NextHopSets& sets() { return sets_; }
  const NextHopSets& sets() const { return sets_; }
  const Interfaces& interfaces() const { return interfaces_; }
  const Neighbors& neighbors() const { return neighbors_; }
  const NextHopObjects& objects() const { return objects_; }
  const UrpfTable& urpf() const { return urpf_; }
  const lookup::NextHopTable& next_hops() const { return next_hops_; }
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
  template <typename Address>
  void fill_large_tables();
  template <typename Address>
  void use_large(size_t slot, lookup::TableId table);

  const RoutingOptions options_;
  lookup::NextHopTable& next_hops_;
  Interfaces interfaces_;
  Neighbors neighbors_;
  NextHopObjects objects_;
  UrpfTable urpf_;
  NextHopSets sets_;
  InstallContext context_;
  RoutingTable main_;
  std::map<uint32_t, std::unique_ptr<RoutingTable>> further_;  // by Linux's number
  template <typename Address>
  struct Large {
    struct Table {
      std::unique_ptr<lookup::Fib<Address>> fib;
      RoutingTable* table;
    };
    std::vector<Table> tables;  // by their place in the views
    bool no_memory = false;     // for one more, and it is said
  };
  std::tuple<Large<lookup::Ipv4Address>, Large<lookup::Ipv6Address>> large_;
  std::map<int, LargeViews> large_views_;  // by socket
};

}  // namespace hecto::router
