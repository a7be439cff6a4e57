// The half of Routing that keeps the FIB what the RIB's best candidates say.
#include <fmt/format.h>

#include <string_view>

#include "router/rib/routing.hpp"

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

namespace {
constexpr std::chrono::seconds kRetryInterval(1);
}

template <>
Routing::Table<Ipv4Address>& Routing::table() {
  return table4_;
}
template <>
Routing::Table<Ipv6Address>& Routing::table() {
  return table6_;
}
template <>
const Routing::Table<Ipv4Address>& Routing::table() const {
  return table4_;
}
template <>
const Routing::Table<Ipv6Address>& Routing::table() const {
  return table6_;
}

void Routing::count(const Candidate& candidate, int change) {
  by_origin_[candidate.source] += static_cast<uint64_t>(change);
  by_protocol_[candidate.protocol] += static_cast<uint64_t>(change);
}

// Adds the candidate (without id), or lets it take the place of the route of this id. The candidate
// brings its reference to the set along. Where the RIB does not take it, because its twin is there
// or for want of memory, the reference goes.
template <typename Address>
Routing::Put Routing::put(const Prefix<Address>& prefix, RouteId id, const Candidate& candidate) {
  Rib<Address>& rib = table<Address>().rib;
  Candidate old;
  old.next_hop_set = kNoSet;
  if (id != kNoRouteId) old = rib.route(id);
  auto change =
      id == kNoRouteId ? rib.insert(prefix, candidate) : rib.replace(prefix, id, candidate);
  if (!change) {
    sets_.release(candidate.next_hop_set);
    if (change.error() != lookup::Error::kDuplicate) {
      log(LogLevel::kWarning, fmt::format("routes: {} is left out: {}", prefix.to_string(),
                                          lookup::to_string(change.error())));
    }
    return {};
  }
  if (id != kNoRouteId) count(old, -1);
  count(candidate, 1);
  bool was_incomplete = change->tag->incomplete;
  install_best(prefix, *change->tag, &rib.route(change->first));
  Put done{change->route, change->tag->incomplete && !was_incomplete};
  if (old.next_hop_set != kNoSet) sets_.release(old.next_hop_set);
  if (old.next_hop_set != candidate.next_hop_set &&
      origin_of(candidate) != RouteOrigin::kNeighbor) {
    reconsider_inside(prefix);
  }
  return done;
}

template <typename Address>
void Routing::drop(const Prefix<Address>& prefix, RouteId id) {
  Rib<Address>& rib = table<Address>().rib;
  Candidate gone = rib.route(id);
  Installed last = *rib.tag(prefix);
  auto change = rib.erase(prefix, id).value();
  count(gone, -1);
  if (change.best == lookup::BestPath::kGone) {
    install_best(prefix, last, nullptr);
  } else {
    install_best(prefix, *change.tag, &rib.route(change.first));
  }
  sets_.release(gone.next_hop_set);
  if (origin_of(gone) != RouteOrigin::kNeighbor) reconsider_inside(prefix);
}

template <typename Address>
void Routing::reconsider_inside(const Prefix<Address>& prefix) {
  if (neighbors_.empty()) return;
  std::vector<IpAddress> hosts;
  neighbors_.visit_addresses({IpAddress::from(prefix.address), prefix.length},
                             [&hosts](const IpAddress& host) { hosts.push_back(host); });
  for (const IpAddress& host : hosts) reconsider(host);
}

// Whether the FIB now says what the best candidate wants; none: that nothing is there.
template <typename Address>
bool Routing::install(const Prefix<Address>& prefix, Installed& installed, const Candidate* best) {
  Table<Address>& table = this->table<Address>();
  GroupId group = best == nullptr ? lookup::kNoRoute : sets_.group(best->next_hop_set);
  bool no_group = best != nullptr && group == lookup::kNoRoute;
  if (no_group) group = overflow_group_;
  if (best != nullptr && installed.in_fib && installed.group == group) return !no_group;
  if (best == nullptr && !installed.in_fib) return true;

  ++statistics_.fib_writes;
  table.unpublished = true;
  if (installed.in_fib) --routes_of_group_[installed.group];
  bool added = false;
  if (best != nullptr) {
    auto done = table.fib.add(prefix, group);
    added = done.has_value();
    if (!added) table.refusal = done.error();
  }
  if (!added && installed.in_fib) {
    if (auto done = table.fib.remove(prefix); !done) {
      log(LogLevel::kWarning, fmt::format("routes: {} stays in the forwarding table: {}",
                                          prefix.to_string(), lookup::to_string(done.error())));
    }
    table.removed_since_retry = true;
  }
  installed.in_fib = added;
  installed.group = added ? group : lookup::kNoRoute;
  if (added) ++routes_of_group_[group];
  if (best != nullptr && (!added || no_group)) refused(prefix, !added);
  return best == nullptr || (added && !no_group);
}

template <typename Address>
void Routing::install_best(const Prefix<Address>& prefix, Installed& installed,
                           const Candidate* best) {
  bool incomplete = !install(prefix, installed, best);
  Table<Address>& table = this->table<Address>();
  if (incomplete && !installed.incomplete) ++table.incomplete;
  if (!incomplete && installed.incomplete) --table.incomplete;
  installed.incomplete = incomplete;
}

template <typename Address>
std::string Routing::remedy() const {
  const Table<Address>& table = this->table<Address>();
  const lookup::FibStatistics fib = table.fib.statistics();
  if (table.refusal == lookup::Error::kTableFull)
    return fmt::format("it holds {} prefixes, the most that it can", fib.prefixes);
  // The direct table is at its own bound (config::kDirectFib_bytes), not at tables.memory.
  return fib.engine == std::string_view("trie") ? "raise tables.memory"
                                                : "set tables.ipv4_engine: compact";
}

template <typename Address>
void Routing::refused(const Prefix<Address>& prefix, bool fib_full) {
  if (fib_full) ++statistics_.prefixes_refused;
  bool& told = fib_full ? told_fib_full_ : told_groups_full_;
  if (std::exchange(told, true)) return;
  if (fib_full) {
    log(LogLevel::kWarning,
        fmt::format("routes: {} and maybe others do not fit into the forwarding table: their "
                    "packets take a shorter prefix; {}",
                    prefix.to_string(), remedy<Address>()));
  } else {
    log(LogLevel::kWarning,
        fmt::format("routes: {} and maybe others found no next-hop group: Linux forwards their "
                    "packets; raise tables.groups above {}",
                    prefix.to_string(), options_.max_groups));
  }
}

// Changes, and once more when no reader can see what they retired: only publish() gives it back.
template <typename Address>
void Routing::publish() {
  Table<Address>& table = this->table<Address>();
  if (std::exchange(table.unpublished, false)) {
    table.fib.publish();
    table.grace = options_.readers->start();
  } else if (table.grace && options_.readers->passed(*table.grace)) {
    table.fib.publish();
    table.grace.reset();
  }
}

template <typename Address>
size_t Routing::drop_all(const CandidateTest& wanted) {
  Rib<Address>& rib = table<Address>().rib;
  std::vector<Prefix<Address>> found;
  rib.walk_routes(wanted, [&](const Prefix<Address>& prefix, RouteId) { found.push_back(prefix); });
  size_t dropped = 0;
  for (const Prefix<Address>& prefix : found) {
    // Dropping one may take a neighbor's candidate with it.
    RouteId id = rib.find_route(rib.find(prefix), wanted);
    if (id == kNoRouteId) continue;
    drop(prefix, id);
    ++dropped;
  }
  return dropped;
}

// What did not fit is tried again when something went or a group was found. Memory of what went
// comes back only after a grace period, so a try that fails is repeated, but not too often: each
// walks the whole RIB.
template <typename Address>
void Routing::retry_incomplete(bool found_group) {
  Table<Address>& table = this->table<Address>();
  auto now = std::chrono::steady_clock::now();
  bool due = found_group || (table.removed_since_retry && now >= table.retry_at);
  if (!due || table.incomplete == 0) return;
  std::vector<Prefix<Address>> found;
  table.rib.walk(Prefix<Address>{},
                 [&](const Prefix<Address>& prefix, const RibEntry<Address>& entry) {
                   if (entry.tag.incomplete) found.push_back(prefix);
                   return true;
                 });
  bool full = false;
  for (const Prefix<Address>& prefix : found) {
    Installed& installed = *table.rib.tag(prefix);
    install_best(prefix, installed, &table.rib.best(*table.rib.find(prefix)));
    full = !installed.in_fib;
    if (full) break;
  }
  table.removed_since_retry = full;
  table.retry_at = now + kRetryInterval;
}

template Routing::Put Routing::put(const lookup::Prefix4&, RouteId, const Candidate&);
template Routing::Put Routing::put(const lookup::Prefix6&, RouteId, const Candidate&);
template void Routing::drop(const lookup::Prefix4&, RouteId);
template void Routing::drop(const lookup::Prefix6&, RouteId);
template size_t Routing::drop_all<Ipv4Address>(const CandidateTest&);
template size_t Routing::drop_all<Ipv6Address>(const CandidateTest&);
template void Routing::retry_incomplete<Ipv4Address>(bool);
template void Routing::retry_incomplete<Ipv6Address>(bool);
template std::string Routing::remedy<Ipv4Address>() const;
template std::string Routing::remedy<Ipv6Address>() const;
template void Routing::publish<Ipv4Address>();
template void Routing::publish<Ipv6Address>();

}  // namespace hecto::router
