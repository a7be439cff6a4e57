// Routes, the tables of the workers, neighbors, and the mirror of Linux.
#include "router/api/metrics/metrics.hpp"
#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/turn_times.hpp"
#include "router/linux/mirror_base.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

void write_rib(MetricsWriter& out, const RouteCounts& counts) {
  out.family("hecto_routes").add({"ipv4"}, counts.ipv4).add({"ipv6"}, counts.ipv6);
  out.family("hecto_routes_by_origin");
  for (size_t i = 0; i < counts.by_origin.size(); ++i)
    out.add({to_string(static_cast<RouteOrigin>(i))}, counts.by_origin[i]);
  out.family("hecto_routes_by_protocol");
  for (const auto& [protocol, count] : counts.by_protocol)
    out.add({protocol_text(protocol)}, count);
}

void write_fib(MetricsWriter& out, const MetricsSources& s, const RoutingStatistics& statistics) {
  const auto both = [&](const char* family, uint64_t lookup::FibStatistics::*number) {
    out.family(family).add({"ipv4"}, s.tables.ipv4.*number).add({"ipv6"}, s.tables.ipv6.*number);
  };
  both("hecto_fib_prefixes", &lookup::FibStatistics::prefixes);
  both("hecto_fib_bytes", &lookup::FibStatistics::bytes);
  both("hecto_fib_used_bytes", &lookup::FibStatistics::used_bytes);
  out.family("hecto_fib_replicas").add({}, uint64_t{s.replicas});
  out.family("hecto_fib_writes").add({}, statistics.fib_writes);
  out.family("hecto_fib_refused_prefixes").add({}, statistics.prefixes_refused);
  out.family("hecto_fib_incomplete_prefixes").add({}, statistics.prefixes_incomplete);
  out.family("hecto_next_hop_groups").add({}, uint64_t{s.tables.groups});
  out.family("hecto_next_hop_groups_limit").add({}, uint64_t{s.tables.max_groups});
  out.family("hecto_next_hop_groups_refused").add({}, statistics.groups_refused);
  const TimeHistogram& updates = s.times.updates();
  out.family("hecto_route_update_seconds")
      .histogram(TimeHistogram::kBounds_s, updates.counts(), updates.sum_s());
}

// There is none in static mode: its families stay empty.
void write_mirror(MetricsWriter& out, const LinuxSide* side) {
  const auto one = [&](const char* family, auto number) {
    out.family(family);
    if (side != nullptr) out.add({}, number(side->mirror_stats()));
  };
  one("hecto_mirror_synchronized", [&](const MirrorStats&) { return side->mirror_synchronized(); });
  one("hecto_mirror_messages", [](const MirrorStats& stats) { return stats.messages; });
  one("hecto_mirror_overruns", [](const MirrorStats& stats) { return stats.overruns; });
  one("hecto_mirror_resyncs", [](const MirrorStats& stats) { return stats.resyncs; });
}

}  // namespace

void write_routes(MetricsWriter& out, const MetricsSources& s) {
  const RoutingStatistics statistics = s.routing.statistics();
  write_rib(out, s.routing.counts());
  out.family("hecto_rib_bytes").add({}, statistics.rib_bytes);
  write_fib(out, s, statistics);
  out.family("hecto_neighbors");
  std::map<std::string_view, uint64_t> by_state;  // several states may have one word
  for (const auto& [state, count] : s.routing.neighbor_states())
    by_state[neighbor_state_text(state, false)] += count;
  for (const auto& [state, count] : by_state) out.add({state}, count);
  write_mirror(out, s.linux_side);
}

}  // namespace hecto::router
