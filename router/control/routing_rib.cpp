// The half of Routing that keeps the FIB what the RIB's best candidates say.
#include <fmt/format.h>

#include "router/control/routing.hpp"

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
  by_origin_[static_cast<size_t>(candidate.origin)] += static_cast<uint64_t>(change);
  by_protocol_[candidate.protocol] += static_cast<uint64_t>(change);
}

// Adds the candidate (index kEnd), or lets it take the place of one of its rank. The candidate
// brings its reference to the set along.
template <typename Address>
void Routing::put(const Prefix<Address>& prefix, RibEntry& entry, uint32_t index,
                  const Candidate& candidate) {
  Table<Address>& table = this->table<Address>();
  SetId old = kNoSet;
  if (index == Rib<Address>::kEnd) {
    table.rib.add(entry, candidate, generation_);
    ++table.routes;
  } else {
    Candidate& place = table.rib.at(index);
    count(place, -1);
    old = place.set;
    uint32_t next = place.next;
    place = candidate;
    place.next = next;
  }
  count(candidate, 1);
  install_best(prefix, entry);
  if (old != kNoSet) sets_.release(old);
  if (old != candidate.set && candidate.origin != RouteOrigin::kNeighbor) {
    reconsider_inside(prefix);
  }
}

template <typename Address>
void Routing::drop(const Prefix<Address>& prefix, uint32_t index) {
  Table<Address>& table = this->table<Address>();
  RibEntry& entry = *table.rib.find(prefix);
  Candidate gone = table.rib.at(index);
  table.rib.remove(entry, index);
  --table.routes;
  count(gone, -1);
  install_best(prefix, entry);
  sets_.release(gone.set);
  if (entry.first == Rib<Address>::kEnd) table.rib.erase(prefix);
  if (gone.origin != RouteOrigin::kNeighbor) reconsider_inside(prefix);
}

template <typename Address>
void Routing::reconsider_inside(const Prefix<Address>& prefix) {
  if (neighbors_.empty()) return;
  std::vector<IpAddress> hosts;
  neighbors_.visit_addresses({IpAddress::from(prefix.address), prefix.length},
                             [&hosts](const IpAddress& host) { hosts.push_back(host); });
  for (const IpAddress& host : hosts) reconsider(host);
}

// Whether the FIB now says what the best candidate wants.
template <typename Address>
bool Routing::install(const Prefix<Address>& prefix, RibEntry& entry) {
  Table<Address>& table = this->table<Address>();
  const Candidate* best = table.rib.best(entry);
  GroupId group = best == nullptr ? lookup::kNoRoute : sets_.group(best->set);
  bool no_group = best != nullptr && group == lookup::kNoRoute;
  if (no_group) group = overflow_group_;
  if (best != nullptr && entry.in_fib && entry.installed == group) return !no_group;
  if (best == nullptr && !entry.in_fib) return true;

  ++statistics_.fib_writes;
  table.unpublished = true;
  if (entry.in_fib) --routes_of_group_[entry.installed];
  bool added = best != nullptr && table.fib.add(prefix, group).has_value();
  if (!added && entry.in_fib) {
    (void)table.fib.remove(prefix);  // known to be there
    table.removed_since_retry = true;
  }
  entry.in_fib = added;
  entry.installed = added ? group : lookup::kNoRoute;
  if (added) ++routes_of_group_[group];
  if (best != nullptr && (!added || no_group)) refused(prefix.to_string(), !added);
  return best == nullptr || (added && !no_group);
}

template <typename Address>
void Routing::install_best(const Prefix<Address>& prefix, RibEntry& entry) {
  bool incomplete = !install(prefix, entry);
  Table<Address>& table = this->table<Address>();
  if (incomplete && !entry.incomplete) ++table.incomplete;
  if (!incomplete && entry.incomplete) --table.incomplete;
  entry.incomplete = incomplete;
}

void Routing::refused(const std::string& prefix, bool fib_full) {
  if (fib_full) ++statistics_.prefixes_refused;
  bool& told = fib_full ? told_fib_full_ : told_groups_full_;
  if (std::exchange(told, true)) return;
  if (fib_full) {
    log(LogLevel::kWarning,
        fmt::format("routes: {} and maybe others do not fit into the forwarding table: their "
                    "packets take a shorter prefix; raise tables.ipv4_nodes or tables.ipv6_nodes",
                    prefix));
  } else {
    log(LogLevel::kWarning,
        fmt::format("routes: {} and maybe others found no next-hop group: Linux forwards their "
                    "packets; raise tables.groups above {}",
                    prefix, options_.max_groups));
  }
}

template <typename Address>
size_t Routing::drop_all(const CandidateTest& wanted) {
  Rib<Address>& rib = table<Address>().rib;
  std::vector<Prefix<Address>> found;
  rib.tree().walk(Prefix<Address>{}, [&](const Prefix<Address>& prefix, const RibEntry& entry) {
    if (rib.find_if(entry, wanted) != Rib<Address>::kEnd) found.push_back(prefix);
    return true;
  });
  size_t dropped = 0;
  for (const Prefix<Address>& prefix : found) {
    // Dropping one may take the entry away, or a neighbor's candidate with it.
    while (RibEntry* entry = rib.find(prefix)) {
      uint32_t index = rib.find_if(*entry, wanted);
      if (index == Rib<Address>::kEnd) break;
      drop(prefix, index);
      ++dropped;
    }
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
  table.rib.tree().walk(Prefix<Address>{},
                        [&](const Prefix<Address>& prefix, const RibEntry& entry) {
                          if (entry.incomplete) found.push_back(prefix);
                          return true;
                        });
  bool full = false;
  for (const Prefix<Address>& prefix : found) {
    RibEntry& entry = *table.rib.find(prefix);
    install_best(prefix, entry);
    full = !entry.in_fib;
    if (full) break;
  }
  table.removed_since_retry = full;
  table.retry_at = now + kRetryInterval;
}

template void Routing::put(const lookup::Prefix4&, RibEntry&, uint32_t, const Candidate&);
template void Routing::put(const lookup::Prefix6&, RibEntry&, uint32_t, const Candidate&);
template void Routing::drop(const lookup::Prefix4&, uint32_t);
template void Routing::drop(const lookup::Prefix6&, uint32_t);
template void Routing::install_best(const lookup::Prefix4&, RibEntry&);
template void Routing::install_best(const lookup::Prefix6&, RibEntry&);
template size_t Routing::drop_all<Ipv4Address>(const CandidateTest&);
template size_t Routing::drop_all<Ipv6Address>(const CandidateTest&);
template void Routing::retry_incomplete<Ipv4Address>(bool);
template void Routing::retry_incomplete<Ipv6Address>(bool);

}  // namespace hecto::router
