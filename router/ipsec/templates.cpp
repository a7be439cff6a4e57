#include "router/ipsec/templates.hpp"

#include <algorithm>
#include <utility>

#include "router/ipsec/key_hash.hpp"

namespace hecto::router {
namespace {

bool unspecified(const IpAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](uint8_t b) { return b == 0; });
}

bool is_host(const IpPrefix& prefix) {
  return prefix.length == prefix.address.size() * 8;
}

bool needs_sa(const IpsecPolicy& policy) {
  return policy.direction == PolicyDirection::kOut && policy.action == PolicyAction::kProtect;
}

}  // namespace

size_t Templates::Hash::operator()(const Key& key) const {
  const size_t ends = mix(mix(static_cast<size_t>(key.mode), key.source), key.destination);
  return mix(mix(ends, uint64_t{key.reqid} << 32 | key.spi), key.if_id);
}

// Nothing where no SA can be meant: transport mode whose ends neither the template nor the selector
// names.
std::optional<Templates::Key> Templates::key_of(const IpsecPolicy& policy) {
  if (!needs_sa(policy) || !policy.protection) return std::nullopt;
  const PolicyTemplate& wanted = *policy.protection;
  Key key{wanted.source, wanted.destination, wanted.mode, wanted.reqid, wanted.spi, policy.if_id};
  if (wanted.mode == IpsecMode::kTransport && unspecified(wanted.destination)) {
    if (!is_host(policy.selector.source) || !is_host(policy.selector.destination))
      return std::nullopt;
    key.source = policy.selector.source.address;
    key.destination = policy.selector.destination.address;
  }
  return key;
}

// Calls act(key) for all templates that the SA fits: with its reqid and SPI, or any.
template <typename Act>
void Templates::for_each_key(const SaEntry& entry, Act act) {
  const SaState& state = entry.state;
  Key key{state.source, state.id.destination, state.mode, 0, 0, state.if_id};
  for (const bool by_reqid : {false, true}) {
    if (by_reqid && state.reqid == 0) continue;
    for (const bool by_spi : {false, true}) {
      key.reqid = by_reqid ? state.reqid : 0;
      key.spi = by_spi ? state.id.spi : Spi{0};
      act(key);
    }
  }
}

void Templates::mark_stale(Map::value_type& item) {
  if (std::exchange(item.second.stale, true)) return;
  stale_.push_back(&item);
}

void Templates::add(const SaEntry& entry) {
  for_each_key(entry, [&](const Key& key) {
    auto& item = *templates_.try_emplace(key).first;
    item.second.sas.push_back(&entry);
    mark_stale(item);
  });
}

void Templates::remove(const SaEntry& entry) {
  for_each_key(entry, [&](const Key& key) {
    const auto at = templates_.find(key);
    auto& sas = at->second.sas;
    sas.erase(std::ranges::lower_bound(sas, entry.serial, {}, &SaEntry::serial));
    mark_stale(*at);
  });
}

void Templates::changed(const SaEntry& entry) {
  for_each_key(entry, [&](const Key& key) { mark_stale(*templates_.find(key)); });
}

void Templates::bind(const IpsecPolicy& policy, esp::Policy& live) {
  if (needs_sa(policy)) ++without_sa_;
  const auto key = key_of(policy);
  if (!key) return;
  auto& item = *templates_.try_emplace(*key).first;
  item.second.policies.push_back(&live);
  assign(live, item.second.current);
  mark_stale(item);
}

void Templates::unbind(const IpsecPolicy& policy, esp::Policy& live) {
  if (const auto key = key_of(policy)) {
    auto& item = *templates_.find(*key);
    auto& policies = item.second.policies;
    policies.erase(std::find(policies.begin(), policies.end(), &live));
    mark_stale(item);
  }
  if (needs_sa(policy) && live.sa.load(std::memory_order_relaxed) == nullptr) --without_sa_;
}

void Templates::resolve() {
  for (Map::value_type* item : std::exchange(stale_, {})) resolve(*item);
}

void Templates::resolve(Map::value_type& item) {
  Template& wanted = item.second;
  wanted.stale = false;
  const SaEntry* best = nullptr;
  for (auto at = wanted.sas.rbegin(); at != wanted.sas.rend(); ++at) {
    const SaEntry& entry = **at;
    if (entry.expired || (entry.soft_expired && best != nullptr)) continue;
    best = &entry;
    if (!entry.soft_expired) break;
  }
  wanted.current = best == nullptr ? nullptr : best->sa.get();
  for (esp::Policy* policy : wanted.policies) assign(*policy, wanted.current);
  if (wanted.sas.empty() && wanted.policies.empty()) templates_.erase(item.first);
}

void Templates::assign(esp::Policy& policy, esp::Sa* sa) {
  const esp::Sa* before = policy.sa.load(std::memory_order_relaxed);
  if (before == sa) return;
  if (before == nullptr) --without_sa_;
  if (sa == nullptr) ++without_sa_;
  policy.sa.store(sa, std::memory_order_release);
}

}  // namespace hecto::router
