// `hecto show ipsec`: SAs and policies, without keys.
#include "config/file/ipsec.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/reason.hpp"
#include "router/api/show/show.hpp"
#include "router/control/persist_control.hpp"
#include "router/dataplane/nic_crypto/sessions.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json limit(uint64_t value, uint64_t none) {
  return value == none ? json() : json(value);
}

json lifetime_json(const SaLifetime& lifetime) {
  constexpr uint64_t kInfinite = SaLifetime::kInfinite;
  return {{"soft_bytes", limit(lifetime.soft_bytes, kInfinite)},
          {"hard_bytes", limit(lifetime.hard_bytes, kInfinite)},
          {"soft_packets", limit(lifetime.soft_packets, kInfinite)},
          {"hard_packets", limit(lifetime.hard_packets, kInfinite)},
          {"soft_add_s", limit(lifetime.soft_add_s, 0)},
          {"hard_add_s", limit(lifetime.hard_add_s, 0)},
          {"soft_use_s", limit(lifetime.soft_use_s, 0)},
          {"hard_use_s", limit(lifetime.hard_use_s, 0)}};
}

json drops_json(const SaView& sa) {
  json drops = json::object();
  for (size_t i = 0; i < sa.drops.size(); ++i) {
    if (sa.drops[i] == 0) continue;
    const auto reason = static_cast<Reason>(static_cast<size_t>(esp::kFirstSaReason) + i);
    drops[std::string(info(reason).name)] = sa.drops[i];
  }
  return drops;
}

json sa_json(const SaView& sa, const PersistControl& persist) {
  const SaUsage& usage = sa.usage;
  return {{"source", sa.source.to_string()},
          {"destination", sa.id.destination.to_string()},
          {"spi", to_string(sa.id.spi)},
          {"mode", to_string(sa.mode)},
          {"reqid", sa.reqid},
          {"if_id", sa.if_id},
          {"origin", to_string(sa.origin)},
          {"persist", sa.origin == RouteOrigin::kApi && persist.keeps(sa.id)},
          {"algorithm", esp::to_string(sa.transform)},
          {"state", sa.expired        ? "expired"
                    : sa.soft_expired ? "soft_expired"
                                      : "active"},
          {"esn", sa.esn},
          {"replay_window", sa.replay_window},
          {"encapsulation", sa.encapsulation
                                ? json({{"source_port", sa.encapsulation->source_port},
                                        {"destination_port", sa.encapsulation->destination_port}})
                                : json()},
          {"path_mtu", sa.path_mtu == 0 ? json() : json(sa.path_mtu)},
          {"age_s", sa.age_s},
          {"used_s", usage.first_used_s == 0 ? json() : json(sa.used_s)},
          {"policies", sa.policies},
          {"bytes", usage.bytes},
          {"packets", usage.packets},
          {"bps", sa.bytes_per_s * 8},
          {"pps", sa.packets_per_s},
          {"sequence", usage.sequence},
          {"replay_top", usage.replay_top},
          {"nic", sa.nic.ports.empty() && sa.nic.packets == 0
                      ? json()
                      : json({{"ports", sa.nic.ports}, {"packets", sa.nic.packets}})},
          {"lifetime", lifetime_json(sa.lifetime)},
          {"drops", drops_json(sa)}};
}

json port_json(uint16_t port, uint16_t mask) {
  if (mask == 0) return {};
  return mask == 0xffff ? json(port) : json(fmt::format("{}/{:#06x}", port, mask));
}

json policy_json(const PolicyView& view, const PersistControl& persist) {
  const IpsecPolicy& policy = view.policy;
  const IpsecSelector& selector = policy.selector;
  json protect;
  if (policy.protection) {
    const PolicyTemplate& wanted = *policy.protection;
    protect = {{"source", wanted.source.to_string()},
               {"destination", wanted.destination.to_string()},
               {"reqid", wanted.reqid},
               {"spi", wanted.spi == 0 ? json() : json(to_string(wanted.spi))},
               {"mode", to_string(wanted.mode)},
               {"optional", wanted.optional}};
  }
  return {
      {"direction", to_string(policy.direction)},
      {"source", selector.source.to_string()},
      {"destination", selector.destination.to_string()},
      {"protocol",
       selector.protocol == 0 ? json() : json(config::protocol_text(selector.protocol))},
      {"source_port", port_json(selector.source_port, selector.source_port_mask)},
      {"destination_port", port_json(selector.destination_port, selector.destination_port_mask)},
      {"priority", policy.priority},
      {"if_id", policy.if_id},
      {"origin", to_string(policy.origin)},
      {"persist", policy.origin == RouteOrigin::kApi && persist.keeps(policy)},
      {"action", to_string(policy.action)},
      {"packets", view.packets},
      {"protect", protect},
      {"sa", view.sa ? json({{"destination", view.sa->destination.to_string()},
                             {"spi", to_string(view.sa->spi)}})
                     : json()}};
}

}  // namespace

json show_ipsec(const Ipsec& ipsec, const std::string& crypto, const NicSessions* nic,
                const PersistControl& persist) {
  json nics = json::array();
  for (const NicPortView& port : nic == nullptr ? std::vector<NicPortView>{} : nic->ports())
    nics.push_back({{"port", port.name}, {"sessions", port.sessions}, {"refused", port.refused}});
  json sas = json::array(), policies = json::array();
  for (const SaView& sa : ipsec.sas()) sas.push_back(sa_json(sa, persist));
  for (const PolicyView& policy : ipsec.policies())
    policies.push_back(policy_json(policy, persist));
  const IpsecStatistics statistics = ipsec.statistics();
  return {{"crypto", crypto},
          {"nics", std::move(nics)},
          {"sas", std::move(sas)},
          {"policies", std::move(policies)},
          {"max_sas", statistics.max_sas},
          {"max_policies", statistics.max_policies},
          {"policies_without_sa", statistics.policies_without_sa},
          {"sas_refused", statistics.sas_refused},
          {"policies_refused", statistics.policies_refused},
          {"contradictions", statistics.contradictions},
          {"resyncs", statistics.resyncs}};
}

}  // namespace hecto::router
