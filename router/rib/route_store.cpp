#include "router/rib/route_store.hpp"

#include <utility>

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

namespace {

RoutingOptions with_log(RoutingOptions options) {
  if (!options.log) options.log = [](LogLevel, const std::string&) {};
  return options;
}

}  // namespace

RouteStore::RouteStore(lookup::Fib4& fib4, lookup::Fib6& fib6, lookup::NextHopTable& next_hops,
                       RoutingOptions options)
    : options_(with_log(std::move(options))),
      next_hops_(next_hops),
      urpf_(options_.sockets, options_.max_groups, *options_.memory),
      sets_(next_hops_, interfaces_, neighbors_, objects_, urpf_),
      context_{sets_,        *options_.readers, options_.max_groups,
               options_.log, lookup::kNoRoute,  std::vector<uint32_t>(options_.max_groups)},
      tables_{{fib4, context_}, {fib6, context_}},
      hosts_(interfaces_, neighbors_, sets_, tables_) {
  make_overflow_group();
}

void RouteStore::make_overflow_group() {
  auto group = next_hops_.allocate();
  if (!group) return;
  lookup::NextHopRecord record{};
  record.kind = lookup::RecordKind::kPunt;
  record.reason = static_cast<uint8_t>(Reason::kLocal);
  if (next_hops_.set(*group, record)) {
    context_.overflow_group = *group;
    urpf_.set(*group, UrpfInterfaces().set());  // nothing is known: no packet is dropped for it
  }
}

Candidate RouteStore::make_candidate(const Route& route, RouteOrigin origin,
                                     std::span<const NextHop> next_hops) {
  Candidate candidate = slot_of(origin, route.table, route.metric);
  candidate.next_hop_set = sets_.acquire(
      {route.prefix.address.family, route.type, route.nexthop_object, next_hops, route.mtu});
  candidate.protocol = route.protocol;
  return candidate;
}

void RouteStore::interfaces_changed() {
  sets_.interfaces_changed();
  hosts_.update_all_later();
}

void RouteStore::object_changed(uint32_t object) {
  sets_.object_changed(object);
  hosts_.update_all_later();
}

void RouteStore::neighbor_changed(const Neighbor& neighbor) {
  InterfaceId id =
      neighbor.configured() ? neighbor.interface : interfaces_.by_ifindex(neighbor.ifindex);
  const InterfaceState* interface = interfaces_.find(id);
  if (interface == nullptr) return;
  sets_.neighbor_changed(*interface, neighbor.address);
  hosts_.update(neighbor.address);
}

void RouteStore::commit() {
  next_hops_.reclaim();
  bool found_group = sets_.retry();
  hosts_.commit(next_hops_.groups_used() < options_.max_groups);
  tables_.ipv4.retry(found_group);
  tables_.ipv6.retry(found_group);
  uint64_t incomplete = tables_.ipv4.statistics().incomplete + tables_.ipv6.statistics().incomplete;
  if (incomplete == 0 && (context_.warned_fib_full || context_.warned_groups_full)) {
    context_.warned_fib_full = context_.warned_groups_full = false;
    log(LogLevel::kInfo, "routes: all fit again");
  }
  tables_.ipv4.publish();
  tables_.ipv6.publish();
}

RouteCounts RouteStore::counts() const {
  RouteCounts counts;
  counts.ipv4 = rib<Ipv4Address>().routes();
  counts.ipv6 = rib<Ipv6Address>().routes();
  counts.total = counts.ipv4 + counts.ipv6;
  const auto& ipv4 = tables_.ipv4.statistics();
  const auto& ipv6 = tables_.ipv6.statistics();
  for (size_t origin = 0; origin < counts.by_origin.size(); ++origin) {
    counts.by_origin[origin] = ipv4.by_origin[origin] + ipv6.by_origin[origin];
  }
  for (unsigned protocol = 0; protocol < ipv4.by_protocol.size(); ++protocol) {
    uint64_t routes = ipv4.by_protocol[protocol] + ipv6.by_protocol[protocol];
    if (routes != 0) counts.by_protocol[static_cast<uint8_t>(protocol)] = routes;
  }
  return counts;
}

RoutingStatistics RouteStore::statistics() const {
  RoutingStatistics statistics;
  NextHopSets::Statistics sets = sets_.statistics();
  const auto& ipv4 = tables_.ipv4.statistics();
  const auto& ipv6 = tables_.ipv6.statistics();
  statistics.prefixes4 = rib<Ipv4Address>().size();
  statistics.prefixes6 = rib<Ipv6Address>().size();
  statistics.rib_bytes = rib<Ipv4Address>().bytes() + rib<Ipv6Address>().bytes();
  statistics.fib_writes = ipv4.fib_writes + ipv6.fib_writes;
  statistics.records_written = sets.records_written;
  statistics.groups_refused = sets.groups_refused;
  statistics.prefixes_refused = ipv4.prefixes_refused + ipv6.prefixes_refused;
  statistics.prefixes_incomplete = ipv4.incomplete + ipv6.incomplete;
  statistics.sets = sets.sets;
  statistics.neighbors = static_cast<uint32_t>(neighbors_.size());
  return statistics;
}

}  // namespace hecto::router
