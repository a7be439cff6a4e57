// Loads of a whole route table: next hops are checked and given their groups once, before the
// first route is touched.
#include <fmt/format.h>

#include "router/rib/routing.hpp"

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

namespace {
constexpr uint8_t kProtocolKernel = 2;
}

Result<void> Routing::check_load(const RouteTable& table, const LoadOptions& options) const {
  if (options.origin != RouteOrigin::kFile && options.origin != RouteOrigin::kApi) {
    return fail("load: only routes of the file and the API are loaded");
  }
  if (options.protocol == kProtocolKernel) return fail("load: protocol 2 (kernel) is reserved");
  for (const RouteTable::Entry& entry : table.entries) {
    if (entry.next_hop_set >= table.next_hop_sets.size() ||
        table.next_hop_sets[entry.next_hop_set].empty()) {
      return fail(
          fmt::format("load: {} has no next hop; give one with --via", entry.prefix.to_string()));
    }
    if (entry.prefix.network() != entry.prefix) {
      return fail(fmt::format("load: {} has host bits set", entry.prefix.to_string()));
    }
  }
  return {};
}

// Takes a reference to the set of every list of next hops that the table's entries use.
Result<void> Routing::acquire_sets(Load& load) {
  const RouteTable& table = *load.table;
  load.sets4.assign(table.next_hop_sets.size(), kNoSet);
  load.sets6.assign(table.next_hop_sets.size(), kNoSet);
  for (const RouteTable::Entry& entry : table.entries) {
    Family family = entry.prefix.address.family;
    SetId& set = (family == Family::kIpv4 ? load.sets4 : load.sets6)[entry.next_hop_set];
    if (set != kNoSet) continue;
    std::vector<NextHop> next_hops = table.next_hop_sets[entry.next_hop_set];
    if (auto checked = check_next_hops(entry.prefix, next_hops); !checked) return checked;
    canonicalize(next_hops);
    set = sets_.acquire({family, RouteType::kUnicast, 0, next_hops});
    if (sets_.group(set) == lookup::kNoRoute) {
      return fail(fmt::format("load: its {} sets of next hops do not fit into {} next-hop groups; "
                              "raise tables.groups",
                              table.next_hop_sets.size(), options_.max_groups),
                  ENOSPC);
    }
  }
  return {};
}

void Routing::release_sets(Load& load) {
  for (auto* sets : {&load.sets4, &load.sets6}) {
    for (SetId set : *sets) {
      if (set != kNoSet) sets_.release(set);
    }
    sets->clear();
  }
}

Result<LoadId> Routing::begin_load(std::shared_ptr<const RouteTable> table,
                                   const LoadOptions& options) {
  if (auto checked = check_load(*table, options); !checked) {
    return tl::unexpected(checked.error());
  }
  Load load;
  load.table = std::move(table);
  load.options = options;
  if (auto acquired = acquire_sets(load); !acquired) {
    release_sets(load);
    return tl::unexpected(acquired.error());
  }
  LoadId id = ++last_load_;
  loads_.emplace(id, std::move(load));
  return id;
}

size_t Routing::continue_load(LoadId id, size_t max_entries) {
  auto found = loads_.find(id);
  if (found == loads_.end()) return 0;
  Load& load = found->second;
  const auto& entries = load.table->entries;
  size_t end = load.position + std::min(max_entries, entries.size() - load.position);
  for (; load.position < end; ++load.position) {
    const RouteTable::Entry& entry = entries[load.position];
    if (entry.prefix.address.family == Family::kIpv4) {
      load_entry(entry.prefix.v4(), load.sets4[entry.next_hop_set], load, id);
    } else {
      load_entry(entry.prefix.v6(), load.sets6[entry.next_hop_set], load, id);
    }
  }
  return entries.size() - load.position;
}

template <typename Address>
void Routing::load_entry(const Prefix<Address>& prefix, SetId set, Load& load, LoadId id) {
  Candidate candidate = slot_of(load.options.origin, kTableMain, load.options.metric);
  candidate.next_hop_set = set;
  candidate.owner = id;
  candidate.protocol = load.options.protocol;
  sets_.reference(set);
  switch (place(prefix, candidate)) {
    case Placed::kAdded:
      ++load.counts.added;
      break;
    case Placed::kReplaced:
      ++load.counts.replaced;
      break;
    case Placed::kUnchanged:
      ++load.counts.unchanged;
      break;
    case Placed::kRefused:
      if (load.counts.refused++ == 0) {
        load.counts.first_error = fmt::format("{} does not fit into the forwarding table; {}",
                                              prefix.to_string(), remedy<Address>());
      }
      break;
  }
}

LoadCounts Routing::end_load(LoadId id) {
  auto found = loads_.find(id);
  if (found == loads_.end()) return {};
  Load load = std::move(found->second);
  loads_.erase(found);
  if (load.options.replace) {
    auto old = [&load, id](const Candidate& candidate) {
      return origin_of(candidate) == load.options.origin && candidate.owner != id &&
             candidate.protocol != kProtocolKernel;
    };
    load.counts.removed = drop_all<Ipv4Address>(old) + drop_all<Ipv6Address>(old);
  }
  release_sets(load);
  return load.counts;
}

Result<LoadCounts> Routing::load(std::shared_ptr<const RouteTable> table,
                                 const LoadOptions& options) {
  auto id = begin_load(std::move(table), options);
  if (!id) return tl::unexpected(id.error());
  while (continue_load(*id, ~size_t{0}) != 0) {
  }
  return end_load(*id);
}

size_t Routing::remove_load(LoadId id) {
  if (auto found = loads_.find(id); found != loads_.end()) {
    release_sets(found->second);
    loads_.erase(found);
  }
  auto of_load = [id](const Candidate& candidate) { return candidate.owner == id; };
  return id == 0 ? 0 : drop_all<Ipv4Address>(of_load) + drop_all<Ipv6Address>(of_load);
}

size_t Routing::remove_listed(const RouteTable& table, RouteOrigin origin, uint32_t metric) {
  Candidate slot = slot_of(origin, kTableMain, metric);
  size_t removed = 0;
  for (const RouteTable::Entry& entry : table.entries) {
    removed +=
        with_prefix(entry.prefix, [&](const auto& prefix) { return remove_slot(prefix, slot); });
  }
  return removed;
}

}  // namespace hecto::router
