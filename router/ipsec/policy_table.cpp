#include "router/ipsec/policy_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "router/ipsec/key_hash.hpp"

namespace hecto::router {
namespace {

constexpr std::array<Family, 2> kFamilies = {Family::kIpv4, Family::kIpv6};

size_t index_of(Family family) {
  return family == Family::kIpv4 ? 0 : 1;
}

}  // namespace

size_t PolicyTable::Hash::operator()(const Key& key) const {
  const IpsecSelector& selector = key.selector;
  size_t hash = mix(mix(0, selector.source.address), selector.destination.address);
  hash = mix(hash, uint64_t{selector.source.length} << 40 |
                       uint64_t{selector.destination.length} << 32 | key.if_id);
  hash =
      mix(hash, uint64_t{selector.source_port} << 48 | uint64_t{selector.source_port_mask} << 32 |
                    uint64_t{selector.destination_port} << 16 | selector.destination_port_mask);
  return mix(hash, uint64_t{selector.protocol} << 16 | static_cast<uint64_t>(key.origin) << 8 |
                       static_cast<uint64_t>(key.direction));
}

PolicyTable::PolicyTable(const IpsecOptions& options, Templates& templates)
    : options_(options),
      templates_(templates),
      directions_{Direction(*options.readers), Direction(*options.readers),
                  Direction(*options.readers)} {}

PolicyTable::Key PolicyTable::key_of(const IpsecPolicy& policy) {
  return {policy.direction, policy.selector, policy.origin, policy.if_id};
}

std::unique_ptr<esp::Policy> PolicyTable::make(const IpsecPolicy& policy) {
  auto live = std::make_unique<esp::Policy>();
  live->action = policy.action;
  live->priority = policy.priority;
  live->serial = ++serial_;
  live->selector = policy.selector;
  live->if_id = policy.if_id;
  if (policy.protection) {
    live->optional = policy.protection->optional;
    live->reqid = policy.protection->reqid;
    live->mode = policy.protection->mode;
  }
  return live;
}

Result<bool> PolicyTable::put(const IpsecPolicy& policy) {
  const Key key = key_of(policy);
  const auto at = entries_.find(key);
  const bool there = at != entries_.end();
  if (there && at->second.policy == policy) {
    at->second.generation = generation_;
    return true;
  }
  if (!there && entries_.size() == options_.max_policies) {
    return fail(fmt::format("there are {} policies already, as many as ipsec.max_policies allows",
                            entries_.size()),
                ENOSPC);
  }
  auto live = make(policy);
  Entry& entry = there ? at->second : entries_[key];
  if (entry.live != nullptr) {
    live->packets.store(entry.live->packets.load(std::memory_order_relaxed),
                        std::memory_order_relaxed);
    unlink(entry);
  }
  entry.policy = policy;
  entry.live = std::move(live);
  entry.generation = generation_;
  link(entry);
  warn_of_contradictions(policy);
  return there;
}

void PolicyTable::warn_of_contradictions(const IpsecPolicy& policy) {
  for (RouteOrigin origin : {RouteOrigin::kLinux, RouteOrigin::kFile, RouteOrigin::kApi}) {
    if (origin == policy.origin) continue;
    const auto other = entries_.find({policy.direction, policy.selector, origin, policy.if_id});
    if (other == entries_.end() || other->second.policy.priority != policy.priority ||
        other->second.policy.action == policy.action)
      continue;
    ++contradictions_;
    options_.log(LogLevel::kWarning,
                 fmt::format("ipsec: policy {} priority {} says {}, an older one of the same "
                             "priority says {} and wins; give one of them another priority",
                             to_string(policy), policy.priority, to_string(policy.action),
                             to_string(other->second.policy.action)));
  }
}

void PolicyTable::link(Entry& entry) {
  Direction& direction = direction_of(entry);
  direction.order[{entry.policy.priority, entry.live->serial}] = &entry;
  direction.inserted.push_back(entry.live.get());
  templates_.bind(entry.policy, *entry.live);
}

void PolicyTable::unlink(Entry& entry) {
  Direction& direction = direction_of(entry);
  direction.order.erase({entry.policy.priority, entry.live->serial});
  templates_.unbind(entry.policy, *entry.live);
  direction.removed.push_back(std::move(entry.live));
}

bool PolicyTable::remove(const IpsecPolicy& policy) {
  const auto at = entries_.find(key_of(policy));
  if (at == entries_.end()) return false;
  remove(at);
  return true;
}

void PolicyTable::remove(Map::iterator at) {
  unlink(at->second);
  entries_.erase(at);
}

size_t PolicyTable::remove_if(const std::function<bool(const Entry&)>& which) {
  const size_t before = entries_.size();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (which(at->second)) remove(at);
    at = next;
  }
  return before - entries_.size();
}

// In the place of the one before; nothing: none is left out any more.
void PolicyTable::stand_in(Direction& direction, Family family, std::optional<uint32_t> priority) {
  LeftOut& left_out = direction.left_out[index_of(family)];
  if (left_out.live) direction.removed.push_back(std::move(left_out.live));
  if (!priority) return;
  IpsecPolicy any;
  any.selector.family = family;
  any.selector.source.address.family = any.selector.destination.address.family = family;
  any.action = PolicyAction::kDiscard;
  any.priority = *priority;
  left_out.live = make(any);
  left_out.live->left_out = true;
  direction.inserted.push_back(left_out.live.get());
}

void PolicyTable::leave_out(const IpsecPolicy& policy) {
  Direction& direction = directions_[static_cast<size_t>(policy.direction)];
  LeftOut& left_out = direction.left_out[index_of(policy.selector.family)];
  left_out.seen = std::min(left_out.seen.value_or(policy.priority), policy.priority);
  if (!left_out.live || policy.priority < left_out.live->priority)
    stand_in(direction, policy.selector.family, policy.priority);
}

bool PolicyTable::incomplete() const {
  return std::ranges::any_of(directions_, [](const Direction& direction) {
    return std::ranges::any_of(direction.left_out,
                               [](const LeftOut& one) { return one.live != nullptr; });
  });
}

void PolicyTable::flush_left_out() {
  for (Direction& direction : directions_) {
    for (const Family family : kFamilies) {
      direction.left_out[index_of(family)].seen.reset();
      stand_in(direction, family, std::nullopt);
    }
  }
}

void PolicyTable::flush(RouteOrigin origin) {
  if (origin == RouteOrigin::kLinux) flush_left_out();
  remove_if([origin](const Entry& entry) { return entry.policy.origin == origin; });
}

void PolicyTable::begin_resync() {
  ++generation_;
  for (Direction& direction : directions_)
    for (LeftOut& left_out : direction.left_out) left_out.seen.reset();
}

size_t PolicyTable::end_resync() {
  for (Direction& direction : directions_) {
    for (const Family family : kFamilies) {
      const LeftOut& left_out = direction.left_out[index_of(family)];
      if (left_out.live && (!left_out.seen || *left_out.seen != left_out.live->priority))
        stand_in(direction, family, left_out.seen);
    }
  }
  return remove_if([this](const Entry& entry) {
    return entry.policy.origin == RouteOrigin::kLinux && entry.generation != generation_;
  });
}

void PolicyTable::publish() {
  for (Direction& direction : directions_) publish(direction);
}

// All at once: where a policy takes another's place, no packet meets neither of them.
void PolicyTable::publish(Direction& direction) {
  std::vector<esp::Policy*> removed;
  removed.reserve(direction.removed.size());
  for (auto& policy : direction.removed) {
    removed.push_back(policy.get());
    removed_.push_back(std::move(policy));
  }
  direction.unseen.insert(direction.inserted);
  direction.spd.change(direction.inserted, removed);
  direction.unseen.remove(removed);
  direction.inserted.clear();
  direction.removed.clear();
}

std::unordered_map<const esp::Sa*, uint32_t> PolicyTable::policies_by_sa() const {
  std::unordered_map<const esp::Sa*, uint32_t> counts;
  for (const auto& [key, entry] : entries_)
    if (const esp::Sa* sa = entry.live->sa.load(std::memory_order_relaxed)) ++counts[sa];
  return counts;
}

std::vector<PolicyView> PolicyTable::views() const {
  std::vector<PolicyView> views;
  views.reserve(entries_.size());
  for (const Direction& direction : directions_) {
    for (const auto& [rank, entry] : direction.order) {
      PolicyView view{entry->policy, entry->live->packets.load(std::memory_order_relaxed),
                      std::nullopt};
      // Of this thread's own making: nothing that it points at is destroyed meanwhile.
      if (const esp::Sa* sa = entry->live->sa.load(std::memory_order_relaxed)) view.sa = sa->id;
      views.push_back(std::move(view));
    }
  }
  return views;
}

}  // namespace hecto::router
