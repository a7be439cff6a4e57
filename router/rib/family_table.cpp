#include "router/rib/family_table.hpp"

#include <fmt/format.h>

#include <string_view>

namespace hecto::router {

namespace {
constexpr std::chrono::seconds kRetryInterval(1);
}

template <typename Address>
void FamilyTable<Address>::count(const Candidate& candidate, int change) {
  statistics_.by_origin[candidate.source] += static_cast<uint64_t>(change);
  statistics_.by_protocol[candidate.protocol] += static_cast<uint64_t>(change);
}

template <typename Address>
auto FamilyTable<Address>::insert_or_replace(const PrefixType& prefix, RouteId id,
                                             const Candidate& candidate) -> Change {
  Candidate old;
  old.next_hop_set = kNoSet;
  if (id != kNoRouteId) old = rib_.route(id);
  auto change =
      id == kNoRouteId ? rib_.insert(prefix, candidate) : rib_.replace(prefix, id, candidate);
  if (!change) {
    context_.sets.release(candidate.next_hop_set);
    if (change.error() != lookup::Error::kDuplicate) {
      context_.log(LogLevel::kWarning, fmt::format("routes: {} is left out: {}", prefix.to_string(),
                                                   lookup::to_string(change.error())));
    }
    return {};
  }
  if (id != kNoRouteId) count(old, -1);
  count(candidate, 1);
  bool was_incomplete = change->tag->incomplete;
  install_best(prefix, *change->tag, &rib_.route(change->first));
  Change done{change->route, change->tag->incomplete && !was_incomplete,
              old.next_hop_set != candidate.next_hop_set};
  if (old.next_hop_set != kNoSet) context_.sets.release(old.next_hop_set);
  return done;
}

template <typename Address>
void FamilyTable<Address>::erase(const PrefixType& prefix, RouteId id) {
  Candidate gone = rib_.route(id);
  Installed last = *rib_.tag(prefix);
  auto change = rib_.erase(prefix, id).value();
  count(gone, -1);
  if (change.best == lookup::BestPath::kGone) {
    install_best(prefix, last, nullptr);
  } else {
    install_best(prefix, *change.tag, &rib_.route(change.first));
  }
  context_.sets.release(gone.next_hop_set);
}

// Whether the FIB now says what the best candidate wants; none: that nothing is there.
template <typename Address>
bool FamilyTable<Address>::install(const PrefixType& prefix, Installed& installed,
                                   const Candidate* best) {
  GroupId group = best == nullptr ? lookup::kNoRoute : context_.sets.group(best->next_hop_set);
  bool no_group = best != nullptr && group == lookup::kNoRoute;
  if (no_group) group = context_.overflow_group;
  if (best != nullptr && installed.in_fib && installed.group == group) return !no_group;
  if (best == nullptr && !installed.in_fib) return true;

  ++statistics_.fib_writes;
  unpublished_ = true;
  if (installed.in_fib) --context_.prefixes_of_group[installed.group];
  bool added = false;
  if (best != nullptr) {
    auto done = fib_.add(prefix, group, table_);
    added = done.has_value();
    if (!added) refusal_ = done.error();
  }
  if (!added && installed.in_fib) {
    if (auto done = fib_.remove(prefix, table_); !done) {
      context_.log(LogLevel::kWarning,
                   fmt::format("routes: {} stays in the forwarding table: {}", prefix.to_string(),
                               lookup::to_string(done.error())));
    }
    removed_since_retry_ = true;
  }
  copy(prefix, added ? std::optional(group) : std::nullopt);
  installed.in_fib = added;
  installed.group = added ? group : lookup::kNoRoute;
  if (added) ++context_.prefixes_of_group[group];
  if (best != nullptr && (!added || no_group)) warn_once(prefix, !added);
  return best == nullptr || (added && !no_group);
}

template <typename Address>
void FamilyTable<Address>::install_best(const PrefixType& prefix, Installed& installed,
                                        const Candidate* best) {
  bool incomplete = !install(prefix, installed, best);
  if (incomplete && !installed.incomplete) ++statistics_.incomplete;
  if (!incomplete && installed.incomplete) --statistics_.incomplete;
  installed.incomplete = incomplete;
}

template <typename Address>
void FamilyTable<Address>::begin_copy(Fib& copy) {
  copy_ = &copy;
  copy_next_.emplace();
}

template <typename Address>
bool FamilyTable<Address>::continue_copy(size_t prefixes) {
  if (!copying()) return false;
  std::optional<PrefixType> next;
  rib_.walk(*copy_next_, [&](const PrefixType& prefix, const RibEntry<Address>& entry) {
    if (prefixes-- == 0) next = prefix;
    if (next || copy_ == nullptr) return false;
    if (entry.tag.in_fib) copy(prefix, entry.tag.group);
    return true;
  });
  copy_next_ = next;
  if (copy_ != nullptr) copy_->publish();
  return copying();
}

// None: nothing is there.
template <typename Address>
void FamilyTable<Address>::copy(const PrefixType& prefix, std::optional<GroupId> group) {
  if (copy_ == nullptr) return;
  if (!group) {
    (void)copy_->remove(prefix);  // not there yet: the filling has not come that far
  } else if (!copy_->add(prefix, *group)) {
    copy_failed_ = true;
    copy_ = nullptr;
  }
}

template <typename Address>
std::string FamilyTable<Address>::remedy() const {
  const lookup::FibStatistics fib = fib_.statistics();
  if (refusal_ == lookup::Error::kTableFull)
    return fmt::format("it holds {} prefixes, the most that it can", fib.prefixes);
  // The direct table is at its own bound (config::kDirectFib_bytes), not at tables.memory.
  return fib.engine == std::string_view("trie") ? "raise tables.memory"
                                                : "set tables.ipv4_engine: compact";
}

template <typename Address>
void FamilyTable<Address>::warn_once(const PrefixType& prefix, bool fib_full) {
  if (fib_full) ++statistics_.prefixes_refused;
  bool& warned = fib_full ? context_.warned_fib_full : context_.warned_groups_full;
  if (std::exchange(warned, true)) return;
  if (fib_full) {
    context_.log(LogLevel::kWarning,
                 fmt::format("routes: {} and maybe others do not fit into the forwarding table: "
                             "their packets take a shorter prefix; {}",
                             prefix.to_string(), remedy()));
  } else {
    context_.log(LogLevel::kWarning,
                 fmt::format("routes: {} and maybe others found no next-hop group: Linux forwards "
                             "their packets; raise tables.groups above {}",
                             prefix.to_string(), context_.max_groups));
  }
}

// Changes, and once more when no reader can see what they retired: only publish() of the FIB gives
// it back.
template <typename Address>
void FamilyTable<Address>::publish() {
  if (std::exchange(unpublished_, false)) {
    fib_.publish();
    if (copy_ != nullptr) copy_->publish();
    grace_ = context_.readers.start();
  } else if (grace_ && context_.readers.passed(*grace_)) {
    fib_.publish();
    if (copy_ != nullptr) copy_->publish();
    grace_.reset();
  }
}

// What did not fit is tried again when something went or a group was found. Memory of what went
// comes back only after a grace period, so a try that fails is repeated, but not too often.
template <typename Address>
void FamilyTable<Address>::retry(bool found_group) {
  auto now = std::chrono::steady_clock::now();
  bool due = found_group || (removed_since_retry_ && now >= retry_at_);
  if (!due || statistics_.incomplete == 0) return;
  std::vector<PrefixType> found;
  rib_.walk(PrefixType{}, [&](const PrefixType& prefix, const RibEntry<Address>& entry) {
    if (entry.tag.incomplete) found.push_back(prefix);
    return true;
  });
  bool full = false;
  for (const PrefixType& prefix : found) {
    Installed& installed = *rib_.tag(prefix);
    install_best(prefix, installed, &rib_.best(*rib_.find(prefix)));
    full = !installed.in_fib;
    if (full) break;
  }
  removed_since_retry_ = full;
  retry_at_ = now + kRetryInterval;
}

template class FamilyTable<lookup::Ipv4Address>;
template class FamilyTable<lookup::Ipv6Address>;

}  // namespace hecto::router
