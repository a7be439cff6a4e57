// Policies on their way in and out, and the SAs that protect what they match.
#include <fmt/format.h>

#include <algorithm>

#include "router/ipsec/ipsec.hpp"

namespace hecto::router {
namespace {

bool unspecified(const IpAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](uint8_t b) { return b == 0; });
}

bool is_host(const IpPrefix& prefix) {
  return prefix.length == prefix.address.size() * 8;
}

size_t mix(size_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

size_t mix(size_t hash, const IpAddress& address) {
  uint64_t words[2];
  static_assert(sizeof(words) == sizeof(address.bytes));
  std::copy(address.bytes.begin(), address.bytes.end(), reinterpret_cast<uint8_t*>(words));
  return mix(mix(mix(hash, static_cast<uint64_t>(address.family)), words[0]), words[1]);
}

bool asks_for_sa(const IpsecPolicy& policy) {
  return policy.direction == PolicyDirection::kOut && policy.action == PolicyAction::kProtect;
}

std::string port_word(uint16_t port, uint16_t mask) {
  if (mask == 0) return "any";
  return mask == 0xffff ? fmt::format("{}", port) : fmt::format("{}/0x{:x}", port, mask);
}

}  // namespace

std::string to_string(const IpsecSelector& selector) {
  std::string text =
      fmt::format("{} -> {}", selector.source.to_string(), selector.destination.to_string());
  if (selector.protocol != 0) text += fmt::format(" protocol {}", selector.protocol);
  if ((selector.source_port_mask | selector.destination_port_mask) != 0)
    text += fmt::format(" port {}:{}", port_word(selector.source_port, selector.source_port_mask),
                        port_word(selector.destination_port, selector.destination_port_mask));
  return text;
}

std::string to_string(const IpsecPolicy& policy) {
  return fmt::format("{} {}", to_string(policy.direction), to_string(policy.selector));
}

size_t Ipsec::Hash::operator()(const SaId& id) const {
  return mix(mix(0, id.destination), id.spi);
}

size_t Ipsec::Hash::operator()(const TemplateKey& key) const {
  const size_t ends = mix(mix(static_cast<size_t>(key.mode), key.source), key.destination);
  return mix(mix(ends, uint64_t{key.reqid} << 32 | key.spi), key.if_id);
}

size_t Ipsec::Hash::operator()(const PolicyKey& key) const {
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

Result<bool> Ipsec::add_policy(const IpsecPolicy& policy) {
  return put(policy);
}

Result<void> Ipsec::remove_policy(const IpsecPolicy& policy) {
  const auto at = policies_.find({policy.direction, policy.selector, policy.origin, policy.if_id});
  if (at == policies_.end())
    return fail(fmt::format("there is no policy {}", to_string(policy)), ENOENT);
  erase(at);
  return {};
}

void Ipsec::policy(const IpsecPolicy& policy) {
  IpsecPolicy linux_policy = policy;
  linux_policy.origin = RouteOrigin::kLinux;
  auto put = this->put(linux_policy);
  if (put) return;
  ++statistics_.policies_refused;
  tell_once(told_policies_full_, fmt::format("ipsec: policy {} of Linux is left out: {}; others "
                                             "that do not fit are counted",
                                             to_string(policy), put.error().message));
}

void Ipsec::policy_removed(const IpsecPolicy& policy) {
  const auto at =
      policies_.find({policy.direction, policy.selector, RouteOrigin::kLinux, policy.if_id});
  if (at != policies_.end()) erase(at);
}

void Ipsec::policies_flushed() {
  erase_policies(
      [](const PolicyEntry& entry) { return entry.policy.origin == RouteOrigin::kLinux; });
}

Result<bool> Ipsec::put(const IpsecPolicy& policy) {
  const PolicyKey key{policy.direction, policy.selector, policy.origin, policy.if_id};
  const auto at = policies_.find(key);
  if (at != policies_.end() && at->second.policy == policy) {
    at->second.generation = generation_;
    return true;
  }
  if (at == policies_.end() && policies_.size() == options_.max_policies) {
    return fail(fmt::format("there are {} policies already, as many as ipsec.max_policies allows",
                            policies_.size()),
                ENOSPC);
  }
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
  PolicyEntry& entry = at != policies_.end() ? at->second : policies_[key];
  if (entry.live != nullptr) {
    live->packets.store(entry.live->packets.load(std::memory_order_relaxed),
                        std::memory_order_relaxed);
    leave(entry);
  }
  entry.policy = policy;
  entry.live = std::move(live);
  entry.generation = generation_;
  enter(entry);
  tell_contradictions(policy);
  return at != policies_.end();
}

void Ipsec::tell_contradictions(const IpsecPolicy& policy) {
  for (RouteOrigin origin : {RouteOrigin::kLinux, RouteOrigin::kFile, RouteOrigin::kApi}) {
    if (origin == policy.origin) continue;
    const auto other = policies_.find({policy.direction, policy.selector, origin, policy.if_id});
    if (other == policies_.end() || other->second.policy.priority != policy.priority ||
        other->second.policy.action == policy.action)
      continue;
    ++statistics_.contradictions;
    log(LogLevel::kWarning,
        fmt::format("ipsec: policy {} priority {} says {}, an older one of the same priority says "
                    "{} and wins; give one of them another priority",
                    to_string(policy), policy.priority, to_string(policy.action),
                    to_string(other->second.policy.action)));
  }
}

// What to look for; nothing where no SA can be meant: transport mode whose ends neither the
// template nor the selector names.
std::optional<Ipsec::TemplateKey> Ipsec::template_of(const IpsecPolicy& policy) const {
  if (!asks_for_sa(policy) || !policy.protection) return std::nullopt;
  const PolicyTemplate& wanted = *policy.protection;
  TemplateKey key{wanted.source, wanted.destination, wanted.mode,
                  wanted.reqid,  wanted.spi,         policy.if_id};
  if (wanted.mode == IpsecMode::kTransport && unspecified(wanted.destination)) {
    if (!is_host(policy.selector.source) || !is_host(policy.selector.destination))
      return std::nullopt;
    key.source = policy.selector.source.address;
    key.destination = policy.selector.destination.address;
  }
  return key;
}

void Ipsec::enter(PolicyEntry& entry) {
  Direction& direction = directions_[static_cast<size_t>(entry.policy.direction)];
  direction.order[{entry.policy.priority, entry.live->serial}] = &entry;
  direction.inserted.push_back(entry.live.get());
  if (asks_for_sa(entry.policy)) ++without_sa_;
  const auto key = template_of(entry.policy);
  if (!key) return;
  auto& of = *templates_.try_emplace(*key).first;
  entry.protection = &of;
  of.second.policies.push_back(entry.live.get());
  protect_by(*entry.live, of.second.current);
  touch(of);
}

void Ipsec::leave(PolicyEntry& entry) {
  Direction& direction = directions_[static_cast<size_t>(entry.policy.direction)];
  direction.order.erase({entry.policy.priority, entry.live->serial});
  if (entry.protection != nullptr) {
    auto& policies = entry.protection->second.policies;
    policies.erase(std::find(policies.begin(), policies.end(), entry.live.get()));
    touch(*entry.protection);
    entry.protection = nullptr;
  }
  if (asks_for_sa(entry.policy) && entry.live->sa.load(std::memory_order_relaxed) == nullptr)
    --without_sa_;
  direction.removed.push_back(std::move(entry.live));
}

void Ipsec::erase(Policies::iterator at) {
  leave(at->second);
  policies_.erase(at);
}

size_t Ipsec::erase_policies(const std::function<bool(const PolicyEntry&)>& which) {
  size_t erased = 0;
  for (auto at = policies_.begin(); at != policies_.end();) {
    const auto next = std::next(at);
    if (which(at->second)) {
      erase(at);
      ++erased;
    }
    at = next;
  }
  return erased;
}

void Ipsec::touch(Templates::value_type& of) {
  if (std::exchange(of.second.dirty, true)) return;
  dirty_.push_back(&of);
}

// Rekeying is this store.
void Ipsec::protect_by(esp::Policy& policy, esp::Sa* sa) {
  const esp::Sa* before = policy.sa.load(std::memory_order_relaxed);
  if (before == sa) return;
  if (before == nullptr) --without_sa_;
  if (sa == nullptr) ++without_sa_;
  policy.sa.store(sa, std::memory_order_release);
}

// The newest SA that still carries packets; one past its soft lifetime only when it is alone.
void Ipsec::resolve(Templates::value_type& of) {
  Template& wanted = of.second;
  wanted.dirty = false;
  const Entry* best = nullptr;
  for (auto at = wanted.sas.rbegin(); at != wanted.sas.rend(); ++at) {
    const Entry& entry = **at;
    if (entry.expired || (entry.soft_expired && best != nullptr)) continue;
    best = &entry;
    if (!entry.soft_expired) break;
  }
  esp::Sa* chosen = best == nullptr ? nullptr : best->sa.get();
  wanted.current = chosen;
  for (esp::Policy* policy : wanted.policies) protect_by(*policy, chosen);
  if (wanted.sas.empty() && wanted.policies.empty()) templates_.erase(of.first);
}

// All at once: where a policy takes another's place, no packet meets neither of them.
void Ipsec::change(Direction& direction) {
  std::vector<esp::Policy*> removed;
  removed.reserve(direction.removed.size());
  for (auto& policy : direction.removed) {
    removed.push_back(policy.get());
    leaving_.policies.push_back(std::move(policy));
  }
  direction.spd.change(direction.inserted, removed);
  direction.inserted.clear();
  direction.removed.clear();
}

}  // namespace hecto::router
