// The routing of the router: everything that Linux, the file and the API say of routes, and the
// tables made of it. One object for those who tell and those who ask; the state lies with its
// parts.
//
//   LinuxEvents ─► LinuxRoutes ─────────┐   (and LabelRoutes: MPLS)
//   interfaces ──► LocalRoutes ─────────┤
//   file, API ───► StaticRoutes ────────┼─► RouteStore ─► FIBs, next-hop table, reverse-path table
//   route files ─► LoadedRoutes ────────┘        └─────► RoutingQueries, explain() ─► views
//
// Owned by the control thread; not thread-safe. A change is visible to the workers when the call
// returns. commit() belongs behind each batch of changes, and about once a second without any: it
// publishes a FIB generation, takes back what readers let go of, and tries again what did not fit.
//
// Linux's usual rules (local, then main, then default) become an order among the routes of one
// prefix: a more specific route of a later table wins here, not in Linux. Each other table is a
// table of its own in the FIBs, where workers look when a rule says so (RuleTable).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "router/rib/label_routes.hpp"
#include "router/rib/linux_routes.hpp"
#include "router/rib/loaded_routes.hpp"
#include "router/rib/local_routes.hpp"
#include "router/rib/policy_rules.hpp"
#include "router/rib/route_store.hpp"
#include "router/rib/routing_views.hpp"
#include "router/rib/static_routes.hpp"

namespace hecto::router {

class Routing final : public LinuxEvents {
 public:
  Routing(lookup::Fib4& fib4, lookup::Fib6& fib6, lookup::NextHopTable& next_hops,
          RoutingOptions options);
  Routing(const Routing&) = delete;
  Routing& operator=(const Routing&) = delete;

  Result<void> add_interface(const InterfaceState& state) { return local_.add_interface(state); }
  Result<void> update_interface(const InterfaceState& state) {  // found by its id
    return local_.update_interface(state);
  }
  Result<void> remove_interface(InterfaceId id) { return local_.remove_interface(id); }
  const Interfaces& interfaces() const { return std::as_const(store_).interfaces(); }

  // Neighbors of the configuration; they come before Linux's.
  Result<void> add_neighbor(InterfaceId interface, const IpAddress& address,
                            const MacAddress& mac) {
    return local_.add_neighbor(interface, address, mac);
  }
  Result<void> remove_neighbor(InterfaceId interface, const IpAddress& address) {
    return local_.remove_neighbor(interface, address);
  }

  // Routes of the file and the API. A route of the same prefix, origin, table and metric is
  // replaced (true); remove() looks at just those and does not read the next hops.
  Result<bool> add(const Route& route) { return static_.add(route); }
  Result<void> remove(const Route& route) { return static_.remove(route); }
  // kFile spares the interfaces' own routes.
  size_t remove_origin(RouteOrigin origin) { return static_.remove_origin(origin); }
  Sweep sweep_origin(RouteOrigin origin) { return static_.sweep_origin(origin); }  // in steps

  // A whole table at once; refused before anything is changed where a next hop is wrong or too
  // many groups are needed. In steps: begin_load, continue_load until it returns 0 (what is left
  // to do), end_load.
  Result<LoadCounts> load(std::shared_ptr<const RouteTable> table, const LoadOptions& options);
  Result<LoadId> begin_load(CheckedTable table, const LoadOptions& options) {
    return loaded_.begin(std::move(table), options);
  }
  size_t continue_load(LoadId id, size_t max_entries) { return loaded_.step(id, max_entries); }
  LoadCounts end_load(LoadId id) { return loaded_.end(id); }
  size_t remove_load(LoadId id) { return loaded_.remove(id); }
  Sweep sweep_load(LoadId id) { return loaded_.sweep(id); }  // in steps; the load may be under way
  // Deletes the origin's routes of the prefixes that the table lists, whatever their next hops.
  // Of its entries those from `first`, at most `count`.
  size_t remove_listed(const RouteTable& table, RouteOrigin origin, uint32_t metric,
                       size_t first = 0, size_t count = ~size_t{0}) {
    return loaded_.remove_listed(table, origin, metric, first, count);
  }

  void link(const LinuxLink& link, bool removed) override { linux_.link(link, removed); }
  void address(const LinuxAddress& address, bool removed) override {
    linux_.address(address, removed);
  }
  void neighbor(const LinuxNeighbor& neighbor, bool removed) override {
    linux_.neighbor(neighbor, removed);
  }
  void bridge_port(int ifindex, const LinuxBridgePort& port) override {
    linux_.bridge_port(ifindex, port);
  }
  void bridge_vlans(const LinuxBridgeVlans& vlans, bool removed) override {
    linux_.bridge_vlans(vlans, removed);
  }
  void fdb_entry(const LinuxFdbEntry& entry, bool removed) override {
    linux_.fdb_entry(entry, removed);
  }
  std::vector<Bridges::Key> take_fdb_changes() {
    return store_.interfaces().bridges().take_changes();
  }
  bool sends_to(const LinuxNeighbor& neighbor) const override { return linux_.sends_to(neighbor); }
  void nexthop_object(const NextHopObject& object, bool removed) override {
    linux_.nexthop_object(object, removed);
  }
  bool names_nexthop_object(uint32_t id) const override { return store_.sets().names_object(id); }
  void route(const Route& route, bool removed, bool replace) override {
    linux_.route(route, removed, replace);
  }
  void label_route(const LabelRoute& route, bool removed) override { labels_.set(route, removed); }
  void rule(const PolicyRule& rule, bool removed) override { rules_.rule(rule, removed); }
  void resync_begin(const std::string& why) override {
    linux_.resync_begin(why);
    labels_.resync_begin();
    rules_.resync_begin();
  }
  void device_resync_begin(int ifindex, const std::string& why) override {
    linux_.device_resync_begin(ifindex, why);
    labels_.resync_begin();
  }
  void resync_end() override {
    linux_.resync_end();
    labels_.resync_end();
    rules_.resync_end();
  }
  std::vector<int> devices_beside(int ifindex) const override {
    return linux_.devices_beside(ifindex);
  }

  // What the end of a resync left to do; false: nothing. Belongs into each turn.
  bool continue_sweep(size_t work) { return linux_.continue_sweep(work); }
  bool sweeping() const { return linux_.sweeping(); }

  void commit() {
    store_.commit();
    labels_.commit();
  }

  // Those of the file, in their order, in place of all others.
  void set_rules(const std::vector<PolicyRule>& rules) {
    rules_.resync_begin();
    for (const PolicyRule& rule : rules) rules_.rule(rule, false);
    rules_.resync_end();
  }

  const PolicyRules& rules() const { return rules_; }
  const LabelRoutes& labels() const { return labels_; }
  void set_label_switches(const LabelSwitches& switches) { labels_.set_switches(switches); }
  // Which of the FIBs' further tables a table of Linux is; 0: the main one. It is made if need be,
  // so that rules may name it before it has routes. None: there are too many, or it lacks room.
  std::optional<lookup::TableId> fib_table(uint32_t linux_number);
  std::vector<TableView> tables() const;            // the first one first, then by number
  bool has_room_for(const PolicyRule& rule) const;  // for its table
  // Linux's numbers of tables of which not every prefix found room: nothing is looked up in them.
  std::vector<uint32_t> tables_without_room() const;
  const LargeViews* large_views(int socket) const { return store_.large_views(socket); }
  UrpfView urpf(int socket) const { return store_.urpf().view(socket); }
  UrpfInterfaces urpf_interfaces(GroupId group) const { return store_.urpf().get(group); }

  // Without words; none: no prefix, or no such table.
  std::optional<RouteMatch> match(const IpAddress& address, uint32_t table = kTableMain) const;
  Explanation explain(const IpAddress& address, uint32_t table = kTableMain) const;
  // Ascending, IPv4 before IPv6, beginning behind `after`; `limit` prefixes.
  RoutePage routes(const std::optional<IpPrefix>& after, size_t limit,
                   const RouteFilter& filter = {}) const;
  RouteCounts counts() const { return store_.counts(); }
  std::vector<GroupView> next_hops() const;  // by group
  std::optional<GroupView> next_hop(GroupId group) const;
  std::vector<NeighborView> neighbors() const;  // by address
  std::map<uint16_t, size_t> neighbor_states() const { return store_.neighbors().states(); }
  RoutingStatistics statistics() const;

 private:
  static bool lacks_room(const RoutingTable& table);

  RouteStore store_;
  LinuxRoutes linux_{store_};
  LocalRoutes local_{store_};
  StaticRoutes static_{store_};
  LoadedRoutes loaded_{store_, static_};
  PolicyRules rules_;
  LabelRoutes labels_;
};

}  // namespace hecto::router
