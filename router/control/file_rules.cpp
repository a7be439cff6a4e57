#include "router/control/file_rules.hpp"

#include <algorithm>
#include <tuple>

#include "router/rib/candidate.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kProtocolKernelRule = 2;  // RTPROT_KERNEL
constexpr uint8_t kProtocolStaticRule = 4;  // RTPROT_STATIC

PolicyRule made(Family family, uint32_t priority, RuleAction action, uint32_t table) {
  PolicyRule rule;
  rule.family = family;
  rule.priority = priority;
  rule.action = action;
  rule.table = table;
  rule.protocol = kProtocolKernelRule;
  return rule;
}

PolicyRule of_vrfs(Family family, uint32_t priority, RuleAction action) {
  PolicyRule rule = made(family, priority, action, 0);
  rule.l3mdev = true;
  return rule;
}

// Local stands behind VRFs' rule, so that an address of main's is no own one to them, and what comes
// in by their interfaces is looked up in their tables at once (Documentation/networking/vrf.rst).
void add_own(Family family, bool vrfs, std::vector<PolicyRule>& rules) {
  if (vrfs) {
    rules.push_back(of_vrfs(family, config::kVrfPriority, RuleAction::kTable));
    rules.push_back(of_vrfs(family, config::kVrfEndPriority, RuleAction::kUnreachable));
  }
  rules.push_back(made(family, vrfs ? config::kLocalPriority : 0, RuleAction::kTable, kTableLocal));
  rules.push_back(made(family, config::kMainPriority, RuleAction::kTable, kTableMain));
  if (family == Family::kIpv4)
    rules.push_back(made(family, config::kDefaultPriority, RuleAction::kTable, kTableDefault));
}

RuleAction action_of(const config::RuleConfig& rule) {
  switch (rule.action) {
    case config::RuleRefusal::kBlackhole:
      return RuleAction::kBlackhole;
    case config::RuleRefusal::kUnreachable:
      return RuleAction::kUnreachable;
    case config::RuleRefusal::kProhibit:
      return RuleAction::kProhibit;
    case config::RuleRefusal::kNone:
      break;
  }
  return rule.target ? RuleAction::kGoto : RuleAction::kTable;
}

PortRange range_of(const std::optional<config::PortSpan>& ports) {
  return ports ? PortRange{ports->first, ports->last} : PortRange{};
}

// A prefix of length 0 asks for nothing, as in Linux.
std::optional<IpPrefix> selector(const std::optional<IpPrefix>& prefix) {
  return prefix && prefix->length != 0 ? prefix : std::nullopt;
}

PolicyRule rule_of(const config::RuleConfig& config, Family family) {
  PolicyRule rule = made(family, config.priority, action_of(config), config.table);
  rule.protocol = kProtocolStaticRule;
  rule.target = config.target.value_or(0);
  rule.invert = config.invert;
  rule.from = selector(config.from);
  rule.to = selector(config.to);
  rule.iif = config.iif;
  rule.dscp = config.dscp;
  rule.ip_protocol = config.ip_protocol;
  rule.source_ports = range_of(config.sources);
  rule.destination_ports = range_of(config.destinations);
  return rule;
}

}  // namespace

std::vector<PolicyRule> rules_of_file(const config::Config& config, bool vrfs) {
  std::vector<PolicyRule> rules;
  if (config.rules.empty() && !vrfs) return rules;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (const config::RuleConfig& rule : config.rules)
      if (rule.holds_for(family)) rules.push_back(rule_of(rule, family));
    add_own(family, vrfs, rules);
  }
  std::stable_sort(rules.begin(), rules.end(), [](const PolicyRule& a, const PolicyRule& b) {
    return std::tuple(a.family, a.priority) < std::tuple(b.family, b.priority);
  });
  return rules;
}

}  // namespace hecto::router
