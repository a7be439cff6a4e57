#include "router/ipsec/ipsec_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {
namespace {

SaLifetime lifetime_of(const config::IpsecLifetime& config) {
  SaLifetime lifetime;
  constexpr uint64_t kInfinite = SaLifetime::kInfinite;
  lifetime.soft_bytes = config.soft_bytes.value_or(kInfinite);
  lifetime.hard_bytes = config.hard_bytes.value_or(kInfinite);
  lifetime.soft_packets = config.soft_packets.value_or(kInfinite);
  lifetime.hard_packets = config.hard_packets.value_or(kInfinite);
  lifetime.soft_add_s = config.soft_add_s.value_or(0);
  lifetime.hard_add_s = config.hard_add_s.value_or(0);
  lifetime.soft_use_s = config.soft_use_s.value_or(0);
  lifetime.hard_use_s = config.hard_use_s.value_or(0);
  return lifetime;
}

PolicyTemplate template_of(const config::IpsecTemplateConfig& config, Family family) {
  PolicyTemplate wanted;
  IpAddress unspecified;
  unspecified.family = family;
  wanted.source = config.source.value_or(unspecified);
  wanted.destination = config.destination.value_or(unspecified);
  wanted.reqid = config.reqid;
  wanted.spi = config.spi;
  wanted.mode = config.mode;
  wanted.optional = config.optional;
  return wanted;
}

template <typename Items, typename Item>
bool has_key(const Items& items, const Item& item) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item& other) { return key_of(other) == key_of(item); });
}

void add_all(Ipsec& ipsec, const std::vector<config::IpsecSaConfig>& sas,
             const std::vector<config::IpsecPolicyConfig>& policies,
             std::vector<std::string>& refused) {
  for (const config::IpsecSaConfig& sa : sas) {
    auto state = sa_state(sa, RouteOrigin::kFile);
    auto added = state ? ipsec.add_sa(std::move(*state)) : tl::unexpected(state.error());
    if (!added) refused.push_back("ipsec: " + added.error().message);
  }
  for (const config::IpsecPolicyConfig& policy : policies)
    if (auto added = ipsec.add_policy(ipsec_policy(policy, RouteOrigin::kFile)); !added)
      refused.push_back("ipsec: " + added.error().message);
}

}  // namespace

Result<SaState> sa_state(const config::IpsecSaConfig& config, RouteOrigin origin) {
  SaState state;
  state.id = {config.destination, config.spi};
  state.source = config.source;
  state.origin = origin;
  state.mode = config.mode;
  state.reqid = config.reqid;
  state.if_id = config.if_id;
  auto transform = esp::transform_by_name(config.cipher, config.integrity);
  if (!transform) return tl::unexpected(transform.error());
  state.transform = *transform;
  const auto cipher = config.cipher_key.bytes();
  const auto integrity = config.integrity_key.bytes();
  if (cipher.size() > esp::Keys::kMaxCipher)
    return fail(fmt::format("SA {}: its key is too long", to_string(state.id)));
  std::copy(cipher.begin(), cipher.end(), state.keys.cipher.begin());
  state.keys.cipher_bytes = static_cast<uint8_t>(cipher.size());
  std::copy(integrity.begin(), integrity.end(), state.keys.integrity.begin());
  state.keys.integrity_bytes = static_cast<uint8_t>(integrity.size());
  state.replay_window = config.replay_window;
  state.esn = config.esn;
  state.encapsulation = config.encapsulation;
  state.lifetime = lifetime_of(config.lifetime);
  state.selector.family = config.source.family;
  state.copy_dscp = config.copy_dscp;
  state.copy_dont_fragment = config.copy_dont_fragment;
  state.ecn = config.ecn;
  state.tfc_pad = config.tfc_pad;
  return state;
}

IpsecPolicy ipsec_policy(const config::IpsecPolicyConfig& config, RouteOrigin origin) {
  IpsecPolicy policy;
  policy.direction = config.direction;
  policy.selector.family = config.source.address.family;
  policy.selector.source = config.source;
  policy.selector.destination = config.destination;
  policy.selector.protocol = config.protocol;
  policy.selector.source_port = config.source_port.value_or(0);
  policy.selector.source_port_mask = config.source_port ? 0xffff : 0;
  policy.selector.destination_port = config.destination_port.value_or(0);
  policy.selector.destination_port_mask = config.destination_port ? 0xffff : 0;
  policy.origin = origin;
  policy.action = config.action;
  policy.priority = config.priority;
  policy.if_id = config.if_id;
  if (config.protect) policy.protection = template_of(*config.protect, policy.selector.family);
  return policy;
}

std::vector<std::string> check_ipsec(const Ipsec& ipsec, const config::Difference& difference) {
  std::vector<std::string> problems;
  size_t sas = 0, policies = 0;
  for (const config::IpsecSaConfig& sa : difference.ipsec_sas_added) {
    const auto there = ipsec.find({sa.destination, sa.spi});
    if (there && there->origin != RouteOrigin::kFile)
      problems.push_back(
          fmt::format("ipsec: SA {} is there already, not from the file", to_string(there->id)));
    sas += !there;
  }
  for (const auto& policy : difference.ipsec_policies_added)
    policies += !has_key(difference.ipsec_policies_removed, policy);
  const IpsecStatistics now = ipsec.statistics();
  const auto room = [&](const char* what, size_t more, size_t there, size_t most) {
    if (more != 0 && there + more > most)
      problems.push_back(
          fmt::format("ipsec: {} {} more, but {} of {} are there", more, what, there, most));
  };
  room("SAs", sas, now.sas, now.max_sas);
  room("policies", policies, now.policies, now.max_policies);
  return problems;
}

std::vector<std::string> apply_ipsec(Ipsec& ipsec, const config::Difference& difference) {
  std::vector<std::string> refused;
  for (const config::IpsecPolicyConfig& policy : difference.ipsec_policies_removed)
    if (!has_key(difference.ipsec_policies_added, policy))
      (void)ipsec.remove_policy(ipsec_policy(policy, RouteOrigin::kFile));
  add_all(ipsec, difference.ipsec_sas_added, difference.ipsec_policies_added, refused);
  if (!refused.empty()) return refused;
  for (const config::IpsecSaConfig& sa : difference.ipsec_sas_removed)
    if (!has_key(difference.ipsec_sas_added, sa))  // one that expired is gone already
      (void)ipsec.remove_sa({sa.destination, sa.spi}, RouteOrigin::kFile);
  ipsec.commit();
  return refused;
}

std::vector<std::string> add_new_policies(Ipsec& ipsec, const config::Difference& difference) {
  std::vector<config::IpsecPolicyConfig> fresh;
  for (const config::IpsecPolicyConfig& policy : difference.ipsec_policies_added)
    if (!has_key(difference.ipsec_policies_removed, policy)) fresh.push_back(policy);
  std::vector<std::string> refused;
  add_all(ipsec, {}, fresh, refused);
  ipsec.commit();
  return refused;
}

void undo_ipsec(Ipsec& ipsec, const config::Difference& difference) {
  for (const config::IpsecPolicyConfig& policy : difference.ipsec_policies_added)
    if (!has_key(difference.ipsec_policies_removed, policy))
      (void)ipsec.remove_policy(ipsec_policy(policy, RouteOrigin::kFile));
  for (const config::IpsecPolicyConfig& policy : difference.ipsec_policies_removed)
    (void)ipsec.add_policy(ipsec_policy(policy, RouteOrigin::kFile));
  for (const config::IpsecSaConfig& sa : difference.ipsec_sas_added)
    if (!has_key(difference.ipsec_sas_removed, sa))
      (void)ipsec.remove_sa({sa.destination, sa.spi}, RouteOrigin::kFile);
  ipsec.commit();
}

std::vector<std::string> apply_ipsec(Ipsec& ipsec, const config::IpsecConfig& config) {
  std::vector<std::string> refused;
  add_all(ipsec, config.sas, config.policies, refused);
  ipsec.commit();
  return refused;
}

}  // namespace hecto::router
