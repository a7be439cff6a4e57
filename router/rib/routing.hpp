// The routing of the router: everything that Linux, the file and the API say, and the only writer
// of the FIBs, the next-hop table and the table for reverse-path checks.
//
// Owned by the control thread; not thread-safe. A change is visible to the workers when the call
// returns. commit() belongs behind each batch of changes, and about once a second without any: it
// publishes a FIB generation, takes back what readers let go of, and tries again what did not fit.
//
// Linux's rules (local, then main, then default) become an order among the routes of one prefix:
// a more specific route of a later table wins here, not in Linux.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log_level.hpp"
#include "base/result.hpp"
#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/candidate.hpp"
#include "router/rib/interfaces.hpp"
#include "router/rib/neighbors.hpp"
#include "router/rib/next_hop_sets.hpp"
#include "router/rib/route.hpp"
#include "router/rib/route_table.hpp"
#include "router/rib/routing_views.hpp"
#include "router/rib/urpf.hpp"

namespace hecto::router {

struct RoutingOptions {
  std::vector<int> sockets = {0};  // one replica each of the reverse-path table
  uint32_t max_groups = 16384;     // as the next-hop table has
  lookup::Memory* memory = &lookup::Memory::system();
  lookup::Reclaimer* readers = &lookup::Reclaimer::none();  // as the FIBs have
  std::function<void(LogLevel, const std::string&)> log;    // one line an event
  // Called for every change of a link of Linux, also of those that are no interface of ours, after
  // Routing has looked at it. May add, update and remove interfaces.
  std::function<void(const LinuxLink& link, bool removed)> on_link;
};

// A load of a route table. With `replace` the origin's routes that the load does not hold go when
// it ends.
struct LoadOptions {
  RouteOrigin origin = RouteOrigin::kApi;
  uint8_t protocol = 4;  // static
  uint32_t metric = 0;
  bool replace = false;
};
using LoadId = uint32_t;
struct LoadCounts {
  size_t added = 0;
  size_t replaced = 0;
  size_t unchanged = 0;
  size_t removed = 0;
  size_t refused = 0;       // the FIB was full
  std::string first_error;  // of the refused
};

class Routing final : public LinuxEvents {
 public:
  Routing(lookup::Fib4& fib4, lookup::Fib6& fib6, lookup::NextHopTable& next_hops,
          RoutingOptions options);
  ~Routing() override;
  Routing(const Routing&) = delete;
  Routing& operator=(const Routing&) = delete;

  Result<void> add_interface(const InterfaceState& state);
  Result<void> update_interface(const InterfaceState& state);  // found by its id
  Result<void> remove_interface(InterfaceId id);
  const Interfaces& interfaces() const { return interfaces_; }

  // Neighbors of the configuration; they come before Linux's.
  Result<void> add_neighbor(InterfaceId interface, const IpAddress& address, const MacAddress& mac);
  Result<void> remove_neighbor(InterfaceId interface, const IpAddress& address);

  // Routes of the file and the API. A route of the same prefix, origin, table and metric is
  // replaced (true); remove() looks at just those and does not read the next hops.
  Result<bool> add(const Route& route);
  Result<void> remove(const Route& route);
  size_t remove_origin(RouteOrigin origin);  // kFile spares the interfaces' own routes

  // A whole table at once; refused before anything is changed where a next hop is wrong or too
  // many groups are needed. In steps, so that the control thread can do other things meanwhile:
  // begin_load, continue_load until it returns 0 (entries left), end_load.
  Result<LoadCounts> load(std::shared_ptr<const RouteTable> table, const LoadOptions& options);
  Result<LoadId> begin_load(std::shared_ptr<const RouteTable> table, const LoadOptions& options);
  size_t continue_load(LoadId id, size_t max_entries);
  LoadCounts end_load(LoadId id);
  size_t remove_load(LoadId id);
  // Deletes the origin's routes of the prefixes that the table lists, whatever their next hops.
  size_t remove_listed(const RouteTable& table, RouteOrigin origin, uint32_t metric);

  void link(const LinuxLink& link, bool removed) override;
  void address(const LinuxAddress& address, bool removed) override;
  void neighbor(const LinuxNeighbor& neighbor, bool removed) override;
  void nexthop_object(const NextHopObject& object, bool removed) override;
  void route(const Route& route, bool removed, bool replace) override;
  void resync_begin(const std::string& why) override;
  void resync_end() override;

  void commit();

  UrpfView urpf(int socket) const { return urpf_.view(socket); }
  UrpfInterfaces urpf_interfaces(GroupId group) const { return urpf_.get(group); }

  Explanation explain(const IpAddress& address) const;
  // Ascending, IPv4 before IPv6, beginning behind `after`; `limit` prefixes.
  RoutePage routes(const std::optional<IpPrefix>& after, size_t limit,
                   const RouteFilter& filter = {}) const;
  RouteCounts counts() const;
  std::vector<GroupView> next_hops() const;  // by group
  std::optional<GroupView> next_hop(GroupId group) const;
  std::vector<NeighborView> neighbors() const;  // by address
  RoutingStatistics statistics() const;

 private:
  template <typename Address>
  struct Table {
    using Fib = std::conditional_t<std::is_same_v<Address, lookup::Ipv4Address>, lookup::Fib4,
                                   lookup::Fib6>;
    explicit Table(Fib& its_fib) : fib(its_fib) {}
    Fib& fib;
    Rib<Address> rib;
    uint64_t incomplete = 0;
    bool removed_since_retry = false;
    std::chrono::steady_clock::time_point retry_at{};
    bool unpublished = false;
    std::optional<uint64_t> grace;                      // of what the last changes retired
    lookup::Error refusal = lookup::Error::kArenaFull;  // of the last prefix that did not fit
  };
  struct Load {
    std::shared_ptr<const RouteTable> table;
    LoadOptions options;
    size_t position = 0;
    std::vector<SetId> sets4, sets6;  // by index of next_hop_sets; kNoSet where not used
    LoadCounts counts;
  };
  using CandidateTest = std::function<bool(const Candidate&)>;

  template <typename Address>
  Table<Address>& table();
  template <typename Address>
  const Table<Address>& table() const;
  template <typename Address>
  static constexpr Family prefix_family() {
    return sizeof(Address) == 4 ? Family::kIpv4 : Family::kIpv6;
  }
  // Calls act(Prefix4) or act(Prefix6).
  template <typename Act>
  static auto with_prefix(const IpPrefix& prefix, Act act) {
    return prefix.address.family == Family::kIpv4 ? act(prefix.v4()) : act(prefix.v6());
  }

  // routing_rib.cpp: changes of candidates, and the FIB kept up with them.
  struct Put {
    RouteId id = kNoRouteId;   // none: the RIB did not take it
    bool fell_behind = false;  // the FIB or the groups were full for it
  };
  template <typename Address>
  Put put(const lookup::Prefix<Address>& prefix, RouteId id, const Candidate& candidate);
  template <typename Address>
  void drop(const lookup::Prefix<Address>& prefix, RouteId id);
  template <typename Address>
  bool install(const lookup::Prefix<Address>& prefix, Installed& installed, const Candidate* best);
  template <typename Address>
  void install_best(const lookup::Prefix<Address>& prefix, Installed& installed,
                    const Candidate* best);
  template <typename Address>
  size_t drop_all(const CandidateTest& wanted);  // every candidate that passes
  template <typename Address>
  void retry_incomplete(bool found_group);
  void count(const Candidate& candidate, int change);
  template <typename Address>
  void refused(const lookup::Prefix<Address>& prefix, bool fib_full);
  template <typename Address>
  std::string remedy() const;  // of the last refusal by the FIB
  template <typename Address>
  void publish();

  // routing_local.cpp
  enum class Placed : uint8_t { kAdded, kReplaced, kUnchanged, kRefused };
  Result<void> check(const Route& route) const;
  Result<void> check_next_hops(const IpPrefix& prefix, const std::vector<NextHop>& next_hops) const;
  Candidate make_candidate(const Route& route, RouteOrigin origin,
                           const std::vector<NextHop>& next_hops);
  template <typename Address>
  Placed place(const lookup::Prefix<Address>& prefix, const Candidate& candidate);
  template <typename Address>
  bool remove_slot(const lookup::Prefix<Address>& prefix, const Candidate& slot);
  void renew_own_routes(const InterfaceState* state, InterfaceId id);
  void change_own_route(const Route& route, bool add);
  void interfaces_changed();

  // routing_load.cpp
  Result<void> check_load(const RouteTable& table, const LoadOptions& options) const;
  Result<void> acquire_sets(Load& load);
  template <typename Address>
  void load_entry(const lookup::Prefix<Address>& prefix, SetId set, Load& load, LoadId id);
  void release_sets(Load& load);

  // routing_linux.cpp
  template <typename Address>
  void linux_add(const lookup::Prefix<Address>& prefix, const Route& route, bool replace);
  template <typename Address>
  void linux_remove(const lookup::Prefix<Address>& prefix, const Route& route);
  template <typename Address>
  RouteId linux_victim(const RibEntry<Address>* entry, const Candidate& fresh, bool replace) const;

  // host_routes.cpp
  template <typename Address>
  void reconsider_inside(const lookup::Prefix<Address>& prefix);
  void neighbor_changed(const Neighbor& neighbor);
  void reconsider(const IpAddress& address);
  void reconsider_all();
  template <typename Address>
  SetId cover_of_host(const Address& address) const;
  void set_host_route(const IpAddress& address, const std::optional<NextHop>& wanted);

  // routing_show.cpp, explain.cpp
  NextHopView next_hop_view(SetId single) const;
  std::vector<NextHopView> next_hop_views(SetId id) const;
  template <typename Address>
  RouteView view(const lookup::Prefix<Address>& prefix, const RibEntry<Address>& entry,
                 RouteId id) const;
  NeighborView view(const Neighbor& neighbor) const;
  GroupMemberView member_view(SetId single) const;
  GroupView view(SetId id) const;
  template <typename Address>
  bool collect(const lookup::Prefix<Address>& from, bool skip_from, size_t limit,
               const RouteFilter& filter, RoutePage& page, size_t& shown) const;
  template <typename Address>
  void explain_in(const Address& address, Explanation& explanation) const;

  void log(LogLevel level, const std::string& line) const {
    if (options_.log) options_.log(level, line);
  }

  RoutingOptions options_;
  lookup::NextHopTable& next_hops_;
  Interfaces interfaces_;
  Neighbors neighbors_;
  UrpfTable urpf_;
  NextHopSets sets_;
  Table<lookup::Ipv4Address> table4_;
  Table<lookup::Ipv6Address> table6_;
  GroupId overflow_group_ = lookup::kNoRoute;  // to Linux: for routes without a group
  std::vector<uint32_t> routes_of_group_;
  std::unordered_map<InterfaceId, std::vector<Route>> own_routes_;
  std::map<IpAddress, NextHop> host_routes_;
  std::map<LoadId, Load> loads_;
  LoadId last_load_ = 0;
  uint16_t generation_ = 1;  // of Linux's state, never 0
  bool resyncing_ = false;
  bool reconsider_all_ = false;
  bool host_route_refused_ = false;
  bool told_fib_full_ = false;
  bool told_groups_full_ = false;
  std::array<uint64_t, 4> by_origin_{};
  std::array<uint64_t, 256> by_protocol_{};
  RoutingStatistics statistics_;
};

}  // namespace hecto::router
