// Loads of a whole route table, in steps, so that the control thread can do other things meanwhile.
// Next hops are checked and given their groups once, before the first route is touched: a load is
// refused there where a next hop is wrong or too many groups are needed. Control thread, but for
// check_table().
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "router/rib/route_table.hpp"
#include "router/rib/static_routes.hpp"

namespace hecto::router {

// With `replace` the origin's routes that the load does not hold go when it ends.
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

// A table, and what a load has to know of all of it before its first route.
struct CheckedTable {
  static constexpr size_t kNoEntry = ~size_t{0};
  // The first entries of each family that use a list of next hops.
  struct Users {
    size_t ipv4 = kNoEntry, ipv6 = kNoEntry;
  };
  std::shared_ptr<const RouteTable> table;
  std::vector<Users> users;  // by index of next_hop_sets
};
// Looks at each entry: tens of milliseconds of a million. Pure, thread-safe.
Result<CheckedTable> check_table(std::shared_ptr<const RouteTable> table);

class LoadedRoutes {
 public:
  LoadedRoutes(RouteStore& store, StaticRoutes& routes) : store_(store), routes_(routes) {}
  LoadedRoutes(const LoadedRoutes&) = delete;
  LoadedRoutes& operator=(const LoadedRoutes&) = delete;

  // begin, step until it returns 0 (what is left to do), end.
  Result<LoadId> begin(CheckedTable table, const LoadOptions& options);
  size_t step(LoadId id, size_t max_entries);
  LoadCounts end(LoadId id);
  // What the load brought and no later one replaced, wherever it stands.
  Sweep sweep(LoadId id);
  size_t remove(LoadId id);  // the same at once
  // Deletes the origin's routes of the prefixes that the table lists, whatever their next hops; of
  // its entries those from `first`, at most `count`.
  size_t remove_listed(const RouteTable& table, RouteOrigin origin, uint32_t metric,
                       size_t first = 0, size_t count = ~size_t{0});

 private:
  struct Load {
    std::shared_ptr<const RouteTable> table;
    LoadOptions options;
    size_t position = 0;
    std::vector<SetId> sets4, sets6;  // by index of next_hop_sets; kNoSet where not used
    LoadCounts counts;
    std::optional<Sweep> old;  // with `replace`: what the load does not hold, once all is in
  };

  Result<void> acquire_sets(Load& load, const std::vector<CheckedTable::Users>& users);
  Result<SetId> acquire_set(const RouteTable& table, size_t user);
  void release_sets(Load& load);
  template <typename Address>
  void load_entry(const lookup::Prefix<Address>& prefix, SetId set, Load& load, LoadId id);

  RouteStore& store_;
  StaticRoutes& routes_;
  std::map<LoadId, Load> loads_;
  LoadId last_load_ = 0;
};

}  // namespace hecto::router
