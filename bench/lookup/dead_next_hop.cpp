#include "bench/lookup/dead_next_hop.hpp"

#include <algorithm>

#include "bench/lib/statistics.hpp"
#include "bench/lib/stopwatch.hpp"
#include "bench/lookup/hecto_engine.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

using lookup::GroupId;
using lookup::NextHopRecord;
using lookup::NextHopTable;

constexpr uint16_t kDeadPort = 1, kLivePort = 2;

NextHopRecord record_to(uint16_t port) {
  NextHopRecord record{};
  record.kind = lookup::RecordKind::kForward;
  record.header_length = 14;
  record.port = port;
  return record;
}

template <typename Family>
bool add_all(HectoEngine<Family>& engine, const std::vector<Route<Family>>& routes, GroupId group) {
  for (const Route<Family>& route : routes)
    if (!engine.add(route.prefix, group)) return false;
  engine.publish();
  return true;
}

// Looks all destinations up and follows each answer to its record.
template <typename Family>
bool all_go_to(HectoEngine<Family>& engine, const NextHopTable& next_hops,
               const std::vector<typename Family::Destination>& destinations, unsigned batch,
               uint16_t port) {
  const lookup::NextHopView view = next_hops.view(0);
  for (size_t i = 0; i < destinations.size(); i += batch) {
    const auto n = static_cast<unsigned>(std::min<size_t>(batch, destinations.size() - i));
    engine.lookup(&destinations[i], n);
    for (unsigned k = 0; k < n; ++k)
      if (view.record(engine.group(k)).port != port) return false;
  }
  return true;
}

}  // namespace

template <typename Family>
Result<DeadNextHopRow> kill_next_hop(const std::vector<Route<Family>>& routes, unsigned batch,
                                     unsigned rounds) {
  auto engine = HectoEngine<Family>::create(batch);
  if (!engine) return tl::unexpected(engine.error());
  RteMemory memory;
  auto next_hops = NextHopTable::create({}, memory, (*engine)->readers());
  if (!next_hops) return fail("next hops: no memory");
  const auto group = (*next_hops)->allocate();
  const auto other = (*next_hops)->allocate();
  if (!group || !other || !(*next_hops)->set(*other, record_to(kLivePort)) ||
      !add_all(**engine, routes, *group))
    return fail("dead next hop: the table was refused");
  std::vector<typename Family::Destination> destinations;
  for (const Route<Family>& route : routes)
    destinations.push_back(Family::destination(route.prefix.address));

  DeadNextHopRow row{};
  row.family = Family::kNumber;
  row.routes = routes.size();
  row.all_moved = true;
  std::vector<double> nanoseconds;
  for (unsigned round = 0; round < rounds; ++round) {
    if (!(*next_hops)->set(*group, record_to(kDeadPort)) ||
        !all_go_to(**engine, **next_hops, destinations, batch, kDeadPort))
      return fail("dead next hop: not all routes use it");
    const uint64_t start = rte_rdtsc_precise();
    const bool set = (*next_hops)->set(*group, record_to(kLivePort)).has_value();
    const uint64_t cycles = rte_rdtsc_precise() - start;
    nanoseconds.push_back(static_cast<double>(cycles) * 1e9 /
                          static_cast<double>(rte_get_tsc_hz()));
    row.all_moved &= set && all_go_to(**engine, **next_hops, destinations, batch, kLivePort);
    (*next_hops)->reclaim();
  }
  row.change_ns = median(nanoseconds);
  row.change_ns_most = quantile(nanoseconds, 1);
  const Stopwatch stopwatch;
  if (!add_all(**engine, routes, *other)) return fail("dead next hop: a route was refused");
  row.route_by_route_s = stopwatch.seconds();
  return row;
}

template Result<DeadNextHopRow> kill_next_hop(const std::vector<Route<Ipv4>>&, unsigned, unsigned);
template Result<DeadNextHopRow> kill_next_hop(const std::vector<Route<Ipv6>>&, unsigned, unsigned);

}  // namespace hecto::bench
