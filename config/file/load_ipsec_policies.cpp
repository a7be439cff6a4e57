#include "config/file/load_ipsec_policies.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "config/file/addresses.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_ipsec.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

bool is_host(const IpPrefix& prefix) {
  return prefix.length == prefix.address.size() * 8;
}

// Both prefixes; one that is missing covers everything of the other's family.
bool read_ends(const Value& value, const Fields& fields, IpsecPolicyConfig& policy) {
  const Value* source = fields.get("source");
  const Value* destination = fields.get("destination");
  if (source == nullptr && destination == nullptr) {
    value.complain("has neither source nor destination; add one, as source: 0.0.0.0/0");
    return false;
  }
  auto from = source == nullptr ? std::nullopt : read_selector(*source);
  auto to = destination == nullptr ? std::nullopt : read_selector(*destination);
  if ((source != nullptr && !from) || (destination != nullptr && !to)) return false;
  const Family family = from ? from->address.family : to->address.family;
  const IpPrefix all{IpAddress{family, {}}, 0};
  policy.source = from.value_or(all);
  policy.destination = to.value_or(all);
  if (policy.source.address.family == policy.destination.address.family) return true;
  destination->refuse("is not of the family of source; use two prefixes of one family");
  return false;
}

void read_protocol(const Fields& fields, IpsecPolicyConfig& policy) {
  const Value* protocol = fields.get("protocol");
  if (protocol == nullptr) return;
  const auto& [low, high, words] = policy_keys["protocol"].range;
  if (auto number = protocol_by_name(protocol->word()))
    policy.protocol = *number;
  else
    protocol->refuse(fmt::format(
        "is no protocol; use tcp, udp, sctp, icmp, gre or another's number, {} to {}", low, high));
}

void read_protect(const Value& value, const IpsecPolicyConfig& policy,
                  IpsecTemplateConfig& wanted) {
  Fields fields(value, template_keys.names,
                "a map, as {source: 192.0.2.1, destination: 198.51.100.1, reqid: 1}");
  const Value* source = fields.get("source");
  const Value* destination = fields.get("destination");
  if (source != nullptr) wanted.source = read_unicast(*source);
  if (destination != nullptr) wanted.destination = read_unicast(*destination);
  read_keys(fields, template_keys, wanted,
            {{"spi", [&](const Value& spi) { wanted.spi = read_spi(spi).value_or(0); }}});
  if (wanted.source && wanted.destination && wanted.source->family != wanted.destination->family)
    destination->refuse("is not of the family of source; use two addresses of one family");
  if (wanted.mode == IpsecMode::kTunnel) {
    if (source == nullptr || destination == nullptr)
      value.complain(fmt::format("has no {}; add the tunnel's end",
                                 source == nullptr ? "source" : "destination"));
  } else if ((source == nullptr) != (destination == nullptr)) {
    value.complain("has one end only; name both, or none");
  } else if (source == nullptr && !(is_host(policy.source) && is_host(policy.destination))) {
    value.complain(
        "transport mode without ends, but the selector is not one of hosts; name "
        "source and destination, or use prefixes of full length");
  } else if (wanted.source && wanted.source->family != policy.source.address.family) {
    source->refuse("is not of the selector's family; transport mode keeps a packet's addresses");
  }
}

std::optional<IpsecPolicyConfig> read_policy(const Value& value, bool* persist = nullptr) {
  const auto known = api_names(policy_keys.names, persist);
  Fields fields(value, known, "a map, as {direction: out, source: 10.1.0.0/16, action: discard}");
  read_persist(fields, persist);
  IpsecPolicyConfig policy;
  const Value* direction = fields.need("direction", "out, in or forward");
  auto way = direction == nullptr ? std::nullopt : read_word<PolicyDirection>(*direction);
  const bool ends = read_ends(value, fields, policy);
  read_protocol(fields, policy);
  auto read_port = [&](std::string_view name) {
    return ByHand{
        name, [&, name](const Value& port) {
          if (has_ports(policy.protocol))
            policy_keys[name].read(policy_keys[name], port, policy);
          else
            port.complain("ports need a protocol that has them; add protocol: tcp, udp or sctp");
        }};
  };
  read_keys(
      fields, policy_keys, policy,
      {{"direction", {}}, read_port("source_port"), read_port("destination_port"), {"action", {}}});
  const Value* action = fields.get("action");
  const Value* protect = fields.get("protect");
  if (action != nullptr) {
    auto word = read_word<PolicyAction>(*action);
    if (!word) return std::nullopt;
    policy.action = *word;
  }
  if (protect != nullptr && policy.action != PolicyAction::kProtect)
    protect->complain("the action is another; take one of both out");
  else if (protect != nullptr)
    read_protect(*protect, policy, policy.protect.emplace());
  else if (policy.action == PolicyAction::kProtect)
    value.complain(action == nullptr ? "has no action; add protect, or action: bypass or discard"
                                     : "has no protect; say by which SA");
  if (!way || !ends) return std::nullopt;
  policy.direction = *way;
  return policy;
}

}  // namespace

void load_ipsec_policies(const Value& value, Loading& loading) {
  IpsecConfig& ipsec = loading.config.ipsec;
  std::map<decltype(key_of(IpsecPolicyConfig{})), std::pair<uint32_t, PolicyAction>> seen;
  for (const Value& item : value.items("a list of policies")) {
    auto policy = read_policy(item);
    if (!policy) continue;
    auto [first, fresh] = seen.emplace(key_of(*policy), std::pair(item.line(), policy->action));
    if (!fresh)
      item.complain(fmt::format("the direction and selector of line {}, which says {}; keep one",
                                first->second.first, to_string(first->second.second)));
    ipsec.policies.push_back(*policy);
  }
  if (ipsec.policies.size() > ipsec.max_policies)
    value.complain(fmt::format("{} policies; use at most {}, or a larger max_policies",
                               ipsec.policies.size(), ipsec.max_policies));
}

tl::expected<IpsecPolicyConfig, Problems> parse_ipsec_policy(std::string_view yaml,
                                                             const std::string& file_name,
                                                             bool* persist) {
  IpsecPolicyConfig policy;
  auto read = read_yaml(yaml, file_name, "begin with direction", [&](const Value& root) {
    if (auto one = read_policy(root, persist)) policy = *one;
  });
  if (!read) return tl::unexpected(read.error());
  return policy;
}

}  // namespace hecto::config
