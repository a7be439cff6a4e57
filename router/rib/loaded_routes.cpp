#include "router/rib/loaded_routes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {

using lookup::Prefix;

Result<CheckedTable> check_table(std::shared_ptr<const RouteTable> table) {
  CheckedTable checked;
  checked.users.resize(table->next_hop_sets.size());
  for (size_t at = 0; at < table->entries.size(); ++at) {
    const RouteTable::Entry& entry = table->entries[at];
    if (entry.next_hop_set >= table->next_hop_sets.size() ||
        table->next_hop_sets[entry.next_hop_set].empty()) {
      return fail(
          fmt::format("load: {} has no next hop; give one with --via", entry.prefix.to_string()));
    }
    if (entry.prefix.network() != entry.prefix) {
      return fail(fmt::format("load: {} has host bits set", entry.prefix.to_string()));
    }
    CheckedTable::Users& users = checked.users[entry.next_hop_set];
    size_t& first = entry.prefix.address.family == Family::kIpv4 ? users.ipv4 : users.ipv6;
    first = std::min(first, at);
  }
  checked.table = std::move(table);
  return checked;
}

// Takes a reference to the set of every list of next hops that the table's entries use.
Result<void> LoadedRoutes::acquire_sets(Load& load, const std::vector<CheckedTable::Users>& users) {
  load.sets4.assign(users.size(), kNoSet);
  load.sets6.assign(users.size(), kNoSet);
  for (size_t i = 0; i < users.size(); ++i) {
    for (const auto& [user, set] :
         {std::pair(users[i].ipv4, &load.sets4[i]), std::pair(users[i].ipv6, &load.sets6[i])}) {
      if (user == CheckedTable::kNoEntry) continue;
      auto acquired = acquire_set(*load.table, user);
      if (!acquired) return tl::unexpected(acquired.error());
      *set = *acquired;
    }
  }
  return {};
}

Result<SetId> LoadedRoutes::acquire_set(const RouteTable& table, size_t user) {
  const RouteTable::Entry& entry = table.entries[user];
  std::vector<NextHop> next_hops = table.next_hop_sets[entry.next_hop_set];
  if (auto checked = routes_.check_next_hops(entry.prefix, next_hops); !checked)
    return tl::unexpected(checked.error());
  canonicalize(next_hops);
  const SetId set =
      store_.sets().acquire({entry.prefix.address.family, RouteType::kUnicast, 0, next_hops});
  if (store_.sets().group(set) != lookup::kNoRoute) return set;
  store_.sets().release(set);
  return fail(fmt::format("load: its {} sets of next hops do not fit into {} next-hop groups; "
                          "raise tables.groups",
                          table.next_hop_sets.size(), store_.max_groups()),
              ENOSPC);
}

void LoadedRoutes::release_sets(Load& load) {
  for (auto* sets : {&load.sets4, &load.sets6}) {
    for (SetId set : *sets) {
      if (set != kNoSet) store_.sets().release(set);
    }
    sets->clear();
  }
}

Result<LoadId> LoadedRoutes::begin(CheckedTable table, const LoadOptions& options) {
  if (options.origin != RouteOrigin::kFile && options.origin != RouteOrigin::kApi) {
    return fail("load: only routes of the file and the API are loaded");
  }
  if (options.protocol == kProtocolKernel) return fail("load: protocol 2 (kernel) is reserved");
  Load load;
  load.table = std::move(table.table);
  load.options = options;
  if (auto acquired = acquire_sets(load, table.users); !acquired) {
    release_sets(load);
    return tl::unexpected(acquired.error());
  }
  LoadId id = ++last_load_;
  loads_.emplace(id, std::move(load));
  return id;
}

size_t LoadedRoutes::step(LoadId id, size_t max_entries) {
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
  const size_t left = entries.size() - load.position;
  // What did not fit does not take away what did.
  if (left > 0 || !load.options.replace || load.counts.refused > 0) return left;
  if (!load.old) {
    load.old.emplace(store_, [origin = load.options.origin, id](const Candidate& candidate) {
      return origin_of(candidate) == origin && candidate.owner != id &&
             candidate.protocol != kProtocolKernel;
    });
  }
  return load.old->step(max_entries) ? 1 : 0;
}

template <typename Address>
void LoadedRoutes::load_entry(const Prefix<Address>& prefix, SetId set, Load& load, LoadId id) {
  Candidate candidate = slot_of(load.options.origin, kTableMain, load.options.metric);
  candidate.next_hop_set = set;
  candidate.owner = id;
  candidate.protocol = load.options.protocol;
  store_.sets().reference(set);
  switch (routes_.add(store_.main(), prefix, candidate)) {
    case StaticRoutes::Outcome::kAdded:
      ++load.counts.added;
      break;
    case StaticRoutes::Outcome::kReplaced:
      ++load.counts.replaced;
      break;
    case StaticRoutes::Outcome::kUnchanged:
      ++load.counts.unchanged;
      break;
    case StaticRoutes::Outcome::kRefused:
      if (load.counts.refused++ == 0) {
        load.counts.first_error =
            fmt::format("{} does not fit into the forwarding table; {}", prefix.to_string(),
                        store_.main().families.get<Address>().remedy());
      }
      break;
  }
}

LoadCounts LoadedRoutes::end(LoadId id) {
  auto found = loads_.find(id);
  if (found == loads_.end()) return {};
  while (step(id, ~size_t{0}) > 0) {
  }
  Load load = std::move(found->second);
  loads_.erase(found);
  if (load.old) load.counts.removed = load.old->erased();
  release_sets(load);
  return load.counts;
}

Sweep LoadedRoutes::sweep(LoadId id) {
  if (auto found = loads_.find(id); found != loads_.end()) {
    release_sets(found->second);
    loads_.erase(found);
  }
  return Sweep(store_,
               [id](const Candidate& candidate) { return id != 0 && candidate.owner == id; });
}

size_t LoadedRoutes::remove(LoadId id) {
  Sweep routes = sweep(id);
  routes.finish();
  return routes.erased();
}

size_t LoadedRoutes::remove_listed(const RouteTable& table, RouteOrigin origin, uint32_t metric,
                                   size_t first, size_t count) {
  Candidate slot = slot_of(origin, kTableMain, metric);
  size_t removed = 0;
  const size_t end = std::min(table.entries.size(), first + std::min(count, table.entries.size()));
  for (size_t at = first; at < end; ++at) {
    const RouteTable::Entry& entry = table.entries[at];
    removed += with_prefix(entry.prefix, [&](const auto& prefix) {
      return routes_.remove(store_.main(), prefix, slot);
    });
  }
  return removed;
}

}  // namespace hecto::router
