#include "router/rib/routing.hpp"

#include <fmt/format.h>

#include "router/rib/explain.hpp"
#include "router/rib/routing_queries.hpp"

namespace hecto::router {

Routing::Routing(lookup::Fib4& fib4, lookup::Fib6& fib6, lookup::NextHopTable& next_hops,
                 RoutingOptions options)
    : store_(fib4, fib6, next_hops, options), labels_(store_, options.sockets, *options.memory) {}

Result<LoadCounts> Routing::load(std::shared_ptr<const RouteTable> table,
                                 const LoadOptions& options) {
  auto checked = check_table(std::move(table));
  if (!checked) return tl::unexpected(checked.error());
  auto id = begin_load(std::move(*checked), options);
  if (!id) return tl::unexpected(id.error());
  while (continue_load(*id, ~size_t{0}) != 0) {
  }
  return end_load(*id);
}

Explanation Routing::explain(const IpAddress& address, uint32_t table) const {
  const RoutingTable* const found = store_.table(table);
  if (found != nullptr) return router::explain(store_, *found, address);
  Explanation explanation;
  explanation.address = address;
  explanation.why.push_back(fmt::format("there is no table {}", table));
  return explanation;
}

std::optional<lookup::TableId> Routing::fib_table(uint32_t linux_number) {
  const RoutingTable* const table = store_.make_table(linux_number);
  if (table == nullptr || lacks_room(*table)) return std::nullopt;
  return table->number;
}

// A prefix that is missing in it would be looked for in the tables behind it.
bool Routing::lacks_room(const RoutingTable& table) {
  return table.number != 0 && table.families.ipv4.statistics().incomplete +
                                      table.families.ipv6.statistics().incomplete !=
                                  0;
}

bool Routing::has_room_for(const PolicyRule& rule) const {
  const RoutingTable* const table = store_.table(rule.table);
  return rule.l3mdev || (table != nullptr && !lacks_room(*table));
}

std::vector<uint32_t> Routing::tables_without_room() const {
  std::vector<uint32_t> numbers;
  for (const RoutingTable* table : store_.tables())
    if (lacks_room(*table)) numbers.push_back(table->linux_number);
  return numbers;
}

std::vector<TableView> Routing::tables() const {
  return RoutingQueries(store_).tables();
}

std::optional<RouteMatch> Routing::match(const IpAddress& address, uint32_t table) const {
  const RoutingTable* const found = store_.table(table);
  return found == nullptr ? std::nullopt : RoutingQueries(store_).match(*found, address);
}

RoutePage Routing::routes(const std::optional<IpPrefix>& after, size_t limit,
                          const RouteFilter& filter) const {
  return RoutingQueries(store_).routes(after, limit, filter);
}

std::vector<GroupView> Routing::next_hops() const {
  return RoutingQueries(store_).next_hops();
}

std::optional<GroupView> Routing::next_hop(GroupId group) const {
  return RoutingQueries(store_).next_hop(group);
}

std::vector<NeighborView> Routing::neighbors() const {
  return RoutingQueries(store_).neighbors();
}

RoutingStatistics Routing::statistics() const {
  RoutingStatistics statistics = store_.statistics();
  const LinuxRoutes::Statistics& of_linux = linux_.statistics();
  statistics.ignored_tos = of_linux.ignored_tos;
  statistics.ignored_table = of_linux.ignored_table;
  statistics.unmatched_removals = of_linux.unmatched_removals;
  statistics.resyncs = of_linux.resyncs;
  statistics.swept = of_linux.swept;
  return statistics;
}

}  // namespace hecto::router
