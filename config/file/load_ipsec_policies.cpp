// The policies of `ipsec:`.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "config/file/load_ipsec.hpp"
#include "config/file/load_sections.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

std::optional<IpPrefix> read_selector(const Value& value) {
  auto text = value.text("a prefix, as 10.1.0.0/16");
  if (!text) return std::nullopt;
  if (auto prefix = IpPrefix::parse(*text)) return prefix;
  if (auto loose = IpPrefix::parse_interface(*text))
    value.refuse(fmt::format("has bits behind its length; use {}", loose->network().to_string()));
  else
    value.refuse("is not a prefix; use one as 10.1.0.0/16 or 2001:db8::/32");
  return std::nullopt;
}

bool is_host(const IpPrefix& prefix) {
  return prefix.length == prefix.address.size() * 8;
}

bool has_ports(uint8_t protocol) {  // DCCP, SCTP and UDP-Lite as well
  for (uint8_t known : {6, 17, 33, 132, 136})
    if (protocol == known) return true;
  return false;
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

void read_ports(const Fields& fields, IpsecPolicyConfig& policy) {
  const Value* protocol = fields.get("protocol");
  if (protocol != nullptr) {
    if (auto number = protocol_by_name(protocol->word()))
      policy.protocol = *number;
    else
      protocol->refuse(
          "is no protocol; use tcp, udp, sctp, icmp, gre or another's number, 1 to 255");
  }
  for (const char* name : {"source_port", "destination_port"}) {
    const Value* port = fields.get(name);
    if (port == nullptr) continue;
    if (!has_ports(policy.protocol))
      port->complain("ports need a protocol that has them; add protocol: tcp, udp or sctp");
    else
      read_integer(
          port, 0, 65535,
          std::string_view(name) == "source_port" ? policy.source_port : policy.destination_port);
  }
}

void read_protect(const Value& value, const IpsecPolicyConfig& policy,
                  IpsecTemplateConfig& wanted) {
  Fields fields(value, "ipsec.policies.*.protect",
                "a map, as {source: 192.0.2.1, destination: 198.51.100.1, reqid: 1}");
  const Value* source = fields.get("source");
  const Value* destination = fields.get("destination");
  if (const Value* mode = fields.get("mode"))
    wanted.mode = read_ipsec_mode(*mode).value_or(wanted.mode);
  if (source != nullptr) wanted.source = read_ipsec_end(*source);
  if (destination != nullptr) wanted.destination = read_ipsec_end(*destination);
  read_integer(fields.get("reqid"), 0, UINT32_MAX, wanted.reqid);
  if (const Value* spi = fields.get("spi")) wanted.spi = read_spi(*spi).value_or(0);
  if (const Value* optional = fields.get("optional"))
    if (auto given = optional->boolean()) wanted.optional = *given;
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

}  // namespace

std::optional<IpsecPolicyConfig> read_ipsec_policy(const Value& value) {
  Fields fields(value, "ipsec.policies.*",
                "a map, as {direction: out, source: 10.1.0.0/16, action: discard}");
  static constexpr Enumerator kDirections[] = {
      {"out", static_cast<int>(PolicyDirection::kOut)},
      {"in", static_cast<int>(PolicyDirection::kIn)},
      {"forward", static_cast<int>(PolicyDirection::kForward)}};
  static constexpr Enumerator kActions[] = {{"protect", static_cast<int>(PolicyAction::kProtect)},
                                            {"bypass", static_cast<int>(PolicyAction::kBypass)},
                                            {"discard", static_cast<int>(PolicyAction::kDiscard)}};
  IpsecPolicyConfig policy;
  const Value* direction = fields.need("direction", "out, in or forward");
  auto way = direction == nullptr ? std::nullopt : direction->one_of(kDirections);
  const bool ends = read_ends(value, fields, policy);
  read_ports(fields, policy);
  read_integer(fields.get("priority"), 0, UINT32_MAX, policy.priority);
  read_integer(fields.get("if_id"), 0, UINT32_MAX, policy.if_id);
  const Value* action = fields.get("action");
  const Value* protect = fields.get("protect");
  if (action != nullptr) {
    auto word = action->one_of(kActions);
    if (!word) return std::nullopt;
    policy.action = static_cast<PolicyAction>(*word);
  }
  if (protect != nullptr && policy.action != PolicyAction::kProtect)
    protect->complain("the action is another; take one of both out");
  else if (protect != nullptr)
    read_protect(*protect, policy, policy.protect.emplace());
  else if (policy.action == PolicyAction::kProtect)
    value.complain(action == nullptr ? "has no action; add protect, or action: bypass or discard"
                                     : "has no protect; say by which SA");
  if (!way || !ends) return std::nullopt;
  policy.direction = static_cast<PolicyDirection>(*way);
  return policy;
}

void load_ipsec_policies(const Value& value, Loading& loading) {
  IpsecConfig& ipsec = loading.config.ipsec;
  std::map<decltype(key_of(IpsecPolicyConfig{})), std::pair<uint32_t, PolicyAction>> seen;
  for (const Value& item : value.items("a list of policies")) {
    auto policy = read_ipsec_policy(item);
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
                                                             const std::string& file_name) {
  IpsecPolicyConfig policy;
  auto read = read_yaml(yaml, file_name, "begin with direction", [&](const Value& root) {
    if (auto one = read_ipsec_policy(root)) policy = *one;
  });
  if (!read) return tl::unexpected(read.error());
  return policy;
}

}  // namespace hecto::config
