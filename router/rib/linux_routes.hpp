// What Linux says: links, addresses, neighbors, next-hop objects, and routes with Linux's own rules
// for adding, replacing and removing. Everything carries the generation of the resync in which it
// was last said, routes also the round, which the resyncs of one device count; resync_end() takes
// away what is left of older ones.
//
// IPv4: several routes of a prefix may share a metric, the first wins; a replacement takes the
// place of the first. IPv6: routes with gateways that share a metric are one multipath route; an
// addition tells all of its next hops again, and a removal names those that go.
//
// Its functions are those of LinuxEvents (route.hpp). Control thread.
#pragma once

#include <optional>

#include "router/rib/route_store.hpp"
#include "router/rib/sweep.hpp"

namespace hecto::router {

class LinuxRoutes {
 public:
  struct Statistics {
    uint64_t ignored_tos = 0;
    uint64_t ignored_table = 0;
    uint64_t unmatched_removals = 0;
    uint64_t resyncs = 0;
    uint64_t swept = 0;  // routes
  };

  explicit LinuxRoutes(RouteStore& store) : store_(store) {}
  LinuxRoutes(const LinuxRoutes&) = delete;
  LinuxRoutes& operator=(const LinuxRoutes&) = delete;

  void link(const LinuxLink& link, bool removed);
  void address(const LinuxAddress& address, bool removed);
  void neighbor(const LinuxNeighbor& neighbor, bool removed);
  void bridge_port(int ifindex, const LinuxBridgePort& port);
  void bridge_vlans(const LinuxBridgeVlans& vlans, bool removed);
  void fdb_entry(const LinuxFdbEntry& entry, bool removed);
  bool sends_to(const LinuxNeighbor& neighbor) const;
  void nexthop_object(const NextHopObject& object, bool removed);
  void route(const Route& route, bool removed, bool replace);
  void resync_begin(const std::string& why);
  void device_resync_begin(int ifindex, const std::string& why);
  void resync_end();
  std::vector<int> devices_beside(int ifindex) const;
  // What a resync found to be old goes in steps (Sweep). False: nothing is left of it.
  bool continue_sweep(size_t work);
  bool sweeping() const { return sweep_.has_value(); }

  const Statistics& statistics() const { return statistics_; }

 private:
  void begin(int device);
  std::vector<bool> sets_on(int device) const;
  RouteStore::CandidateTest unseen() const;  // by the resync that ends now
  RouteStore::CandidateTest unseen_on(int device) const;
  template <typename Address>
  void add(RoutingTable& table, const lookup::Prefix<Address>& prefix, const Route& route,
           bool replace);
  template <typename Address>
  RouteId replaced_by(const Rib<Address>& rib, const RibEntry<Address>* entry,
                      const Candidate& fresh, bool replace) const;
  template <typename Address>
  void remove(RoutingTable& table, const lookup::Prefix<Address>& prefix, const Route& route);
  template <typename Address>
  RouteId meant_by_removal(const Rib<Address>& rib, const lookup::Prefix<Address>& prefix,
                           const Route& route, const std::vector<NextHop>& next_hops) const;

  RouteStore& store_;
  uint16_t generation_ = 1;  // never 0
  uint16_t objects_generation_ = 1;
  uint8_t round_ = 0;  // of the resyncs of one device: routes keep their order, so their generation
  bool resyncing_ = false;
  int device_ = 0;  // of which the resync is; 0: of everything
  // Since everything was read:
  bool unknown_device_seen_ = false;  // of a route outside of the local table
  unsigned device_resyncs_ = 0;
  bool told_tables_full_ = false;
  Statistics statistics_;
  std::optional<Sweep> sweep_;
};

}  // namespace hecto::router
