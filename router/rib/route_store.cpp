#include "router/rib/route_store.hpp"

#include <fmt/format.h>

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
      sets_(next_hops_, interfaces_, neighbors_, objects_, urpf_,
            {options_.consistent_ecmp,
             [this] {
               options_.log(LogLevel::kWarning,
                            "ECMP: no room for the buckets of a set of next hops; it chooses as "
                            "without tables.consistent_ecmp, and other routers choose otherwise");
             }}),
      context_{sets_,        *options_.readers, options_.max_groups,
               options_.log, lookup::kNoRoute,  std::vector<uint32_t>(options_.max_groups)},
      main_(kTableMain, 0, fib4, fib6, {interfaces_, neighbors_, context_}) {
  make_overflow_group();
  for (const int socket : options_.sockets) large_views_[socket];
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

const RoutingTable* RouteStore::table(uint32_t linux_number) const {
  if (is_usual_table(linux_number)) return &main_;
  const auto found = further_.find(linux_number);
  return found == further_.end() ? nullptr : found->second.get();
}

RoutingTable* RouteStore::table(uint32_t linux_number) {
  return const_cast<RoutingTable*>(std::as_const(*this).table(linux_number));
}

RoutingTable* RouteStore::make_table(uint32_t linux_number) {
  if (RoutingTable* known = table(linux_number); known != nullptr) return known;
  const size_t number = further_.size() + 1;
  if (linux_number == 0 || number >= options_.further_tables) return nullptr;
  auto made = std::make_unique<RoutingTable>(
      linux_number, static_cast<lookup::TableId>(number), *options_.further4, *options_.further6,
      RoutingTable::Parts{interfaces_, neighbors_, context_});
  return further_.emplace(linux_number, std::move(made)).first->second.get();
}

std::vector<const RoutingTable*> RouteStore::tables() const {
  std::vector<const RoutingTable*> all{&main_};
  for (const auto& [number, table] : further_) all.push_back(table.get());
  return all;
}

std::vector<RoutingTable*> RouteStore::tables() {
  std::vector<RoutingTable*> all{&main_};
  for (const auto& [number, table] : further_) all.push_back(table.get());
  return all;
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
  update_host_routes_later();
}

void RouteStore::object_changed(uint32_t object) {
  sets_.object_changed(object);
  update_host_routes_later();
}

void RouteStore::update_host_routes_later() {
  for (RoutingTable* table : tables())
    if (!table->empty()) table->hosts.update_all_later();
}

void RouteStore::neighbor_changed(const Neighbor& neighbor) {
  InterfaceId id =
      neighbor.configured() ? neighbor.interface : interfaces_.by_ifindex(neighbor.ifindex);
  const InterfaceState* interface = interfaces_.find(id);
  if (interface == nullptr) return;
  sets_.neighbor_changed(*interface, neighbor.address);
  for (RoutingTable* table : tables())
    if (!table->empty()) table->hosts.update(neighbor.address);
}

void RouteStore::station_changed(const MacAddress& mac) {
  for (const Neighbor& neighbor : neighbors_.of_mac(mac)) {
    const InterfaceState* const on = interfaces_.find(interfaces_.by_ifindex(neighbor.ifindex));
    if (on != nullptr && on->bridge != 0) neighbor_changed(neighbor);
  }
}

template <typename Address>
void RouteStore::use_large(size_t slot, lookup::TableId table) {
  for (auto& [socket, all] : large_views_) {
    auto& views = all.of(Address{});
    if (table != 0)
      views.views[slot] = std::get<Large<Address>>(large_).tables[slot].fib->view(socket);
    views.tables[slot].store(table, std::memory_order_release);
  }
}

// A step of each: a full table takes some 50, between which changes go on.
template <typename Address>
void RouteStore::fill_large_tables() {
  constexpr size_t kStep = 20'000;
  constexpr const char* kFamily = sizeof(Address) == 4 ? "IPv4" : "IPv6";
  auto& large = std::get<Large<Address>>(large_);
  const auto used = [&](const RoutingTable& table) {
    return large_views_.begin()->second.of(Address{}).find(table.number) != nullptr;
  };
  for (size_t slot = 0; slot < large.tables.size(); ++slot) {
    RoutingTable& table = *large.tables[slot].table;
    auto& family = table.families.template get<Address>();
    if (family.copying()) (void)family.continue_copy(kStep);
    if (family.copied() && !used(table)) {
      use_large<Address>(slot, table.number);
      log(LogLevel::kInfo,
          fmt::format("routes: {} of table {} is looked up in a forwarding table of its own now",
                      kFamily, table.linux_number));
    }
    if (family.copy_failed() && used(table)) {
      use_large<Address>(slot, 0);
      log(LogLevel::kWarning,
          fmt::format("routes: {} of table {} has no room in a forwarding table of its own: it is "
                      "looked up, slower, in that of all small ones",
                      kFamily, table.linux_number));
    }
  }
  const auto make = [&] {
    if constexpr (sizeof(Address) == 4)
      return options_.make4 ? options_.make4() : nullptr;
    else
      return options_.make6 ? options_.make6() : nullptr;
  };
  for (auto& [number, table] : further_) {
    auto& family = table->families.template get<Address>();
    if (large.no_memory || large.tables.size() >= LargeTableViews<int>::kMost) return;
    if (family.copied() || family.copying() || family.copy_failed() ||
        family.rib().size() < options_.large_from)
      continue;
    auto fib = make();
    large.no_memory = fib == nullptr;
    if (large.no_memory) {
      log(LogLevel::kInfo, fmt::format("routes: no forwarding table of its own for {} of table {}: "
                                       "it stays with the small ones",
                                       kFamily, number));
      return;
    }
    large.tables.push_back({std::move(fib), table.get()});
    family.begin_copy(*large.tables.back().fib);
  }
}

void RouteStore::commit() {
  next_hops_.reclaim();
  bool found_group = sets_.retry();
  uint64_t incomplete = 0;
  for (RoutingTable* table : tables()) {
    auto& [ipv4, ipv6] = table->families;
    table->hosts.commit(next_hops_.groups_used() < options_.max_groups);
    ipv4.retry(found_group);
    ipv6.retry(found_group);
    incomplete += ipv4.statistics().incomplete + ipv6.statistics().incomplete;
  }
  if (incomplete == 0 && (context_.warned_fib_full || context_.warned_groups_full)) {
    context_.warned_fib_full = context_.warned_groups_full = false;
    log(LogLevel::kInfo, "routes: all fit again");
  }
  for (RoutingTable* table : tables()) {
    table->families.ipv4.publish();
    table->families.ipv6.publish();
  }
  fill_large_tables<Ipv4Address>();
  fill_large_tables<Ipv6Address>();
}

RouteCounts RouteStore::counts() const {
  RouteCounts counts;
  for (const RoutingTable* table : tables()) {
    counts.ipv4 += table->rib<Ipv4Address>().routes();
    counts.ipv6 += table->rib<Ipv6Address>().routes();
    const auto& ipv4 = table->families.ipv4.statistics();
    const auto& ipv6 = table->families.ipv6.statistics();
    for (size_t origin = 0; origin < counts.by_origin.size(); ++origin)
      counts.by_origin[origin] += ipv4.by_origin[origin] + ipv6.by_origin[origin];
    for (unsigned protocol = 0; protocol < ipv4.by_protocol.size(); ++protocol) {
      const uint64_t routes = ipv4.by_protocol[protocol] + ipv6.by_protocol[protocol];
      if (routes != 0) counts.by_protocol[static_cast<uint8_t>(protocol)] += routes;
    }
  }
  counts.total = counts.ipv4 + counts.ipv6;
  return counts;
}

RoutingStatistics RouteStore::statistics() const {
  RoutingStatistics statistics;
  NextHopSets::Statistics sets = sets_.statistics();
  for (const RoutingTable* table : tables()) {
    const auto& ipv4 = table->families.ipv4.statistics();
    const auto& ipv6 = table->families.ipv6.statistics();
    statistics.prefixes4 += table->rib<Ipv4Address>().size();
    statistics.prefixes6 += table->rib<Ipv6Address>().size();
    statistics.rib_bytes += table->rib<Ipv4Address>().bytes() + table->rib<Ipv6Address>().bytes();
    statistics.fib_writes += ipv4.fib_writes + ipv6.fib_writes;
    statistics.prefixes_refused += ipv4.prefixes_refused + ipv6.prefixes_refused;
    statistics.prefixes_incomplete += ipv4.incomplete + ipv6.incomplete;
  }
  statistics.records_written = sets.records_written;
  statistics.groups_refused = sets.groups_refused;
  statistics.sets = sets.sets;
  statistics.neighbors = static_cast<uint32_t>(neighbors_.size());
  return statistics;
}

}  // namespace hecto::router
