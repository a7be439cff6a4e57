#include "router/rib/routing.hpp"

#include <fmt/format.h>

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;

Routing::Routing(lookup::Fib4& fib4, lookup::Fib6& fib6, lookup::NextHopTable& next_hops,
                 RoutingOptions options)
    : options_(std::move(options)),
      next_hops_(next_hops),
      urpf_(options_.sockets, options_.max_groups, *options_.memory),
      sets_(next_hops_, interfaces_, neighbors_, urpf_),
      table4_(fib4),
      table6_(fib6),
      routes_of_group_(options_.max_groups) {
  auto group = next_hops_.allocate();
  if (!group) return;
  lookup::NextHopRecord record{};
  record.kind = lookup::RecordKind::kPunt;
  record.reason = static_cast<uint8_t>(Reason::kLocal);
  if (next_hops_.set(*group, record)) {
    overflow_group_ = *group;
    urpf_.set(*group, UrpfInterfaces().set());  // nothing is known: no packet is dropped for it
  }
}

Routing::~Routing() = default;

void Routing::commit() {
  next_hops_.reclaim();
  bool found_group = sets_.retry();
  bool room = next_hops_.groups_used() < options_.max_groups;
  if (reconsider_all_ || (host_route_refused_ && room)) reconsider_all();
  retry_incomplete<Ipv4Address>(found_group);
  retry_incomplete<Ipv6Address>(found_group);
  if (table4_.incomplete + table6_.incomplete == 0 && (told_fib_full_ || told_groups_full_)) {
    told_fib_full_ = told_groups_full_ = false;
    log(LogLevel::kInfo, "routes: all fit again");
  }
  publish<Ipv4Address>();
  publish<Ipv6Address>();
}

void Routing::resync_begin(const std::string& why) {
  if (++generation_ == 0) generation_ = 1;
  ++statistics_.resyncs;
  resyncing_ = true;
  log(LogLevel::kInfo, fmt::format("routes: reading Linux's state again: {}", why));
}

void Routing::resync_end() {
  if (!resyncing_) return;
  resyncing_ = false;
  bool changed = false;
  std::vector<LinuxLink> gone = interfaces_.sweep(generation_, changed);
  if (changed || !gone.empty()) interfaces_changed();
  sets_.sweep_objects(generation_);
  for (const Neighbor& neighbor : neighbors_.sweep(generation_)) neighbor_changed(neighbor);
  auto stale = [this](const Candidate& candidate) {
    return origin_of(candidate) == RouteOrigin::kLinux && candidate.generation != generation_;
  };
  size_t swept = drop_all<Ipv4Address>(stale) + drop_all<Ipv6Address>(stale);
  statistics_.swept += swept;
  reconsider_all_ = true;
  log(LogLevel::kInfo,
      fmt::format("routes: Linux's state is read: {} IPv4 and {} IPv6 prefixes, {} old routes gone",
                  table4_.rib.size(), table6_.rib.size(), swept));
  if (options_.on_link) {
    for (const LinuxLink& link : gone) options_.on_link(link, true);
  }
}

RouteCounts Routing::counts() const {
  RouteCounts counts;
  counts.ipv4 = table4_.rib.routes();
  counts.ipv6 = table6_.rib.routes();
  counts.total = counts.ipv4 + counts.ipv6;
  counts.by_origin = by_origin_;
  for (unsigned protocol = 0; protocol < by_protocol_.size(); ++protocol) {
    if (by_protocol_[protocol] != 0) {
      counts.by_protocol[static_cast<uint8_t>(protocol)] = by_protocol_[protocol];
    }
  }
  return counts;
}

RoutingStatistics Routing::statistics() const {
  RoutingStatistics statistics = statistics_;
  NextHopSets::Statistics sets = sets_.statistics();
  statistics.prefixes4 = table4_.rib.size();
  statistics.prefixes6 = table6_.rib.size();
  statistics.rib_bytes = table4_.rib.bytes() + table6_.rib.bytes();
  statistics.records_written = sets.records_written;
  statistics.groups_refused = sets.groups_refused;
  statistics.prefixes_incomplete = table4_.incomplete + table6_.incomplete;
  statistics.sets = sets.sets;
  statistics.neighbors = static_cast<uint32_t>(neighbors_.size());
  return statistics;
}

}  // namespace hecto::router
