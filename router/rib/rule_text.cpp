#include "router/rib/rule_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "router/rib/candidate.hpp"

namespace hecto::router {
namespace {

std::string prefix_text(const std::optional<IpPrefix>& prefix) {
  if (!prefix) return "all";
  const bool host = prefix->length == prefix->address.size() * 8;
  return host ? prefix->address.to_string() : prefix->to_string();
}

std::string ports_text(const char* name, const PortRange& ports) {
  if (ports.any()) return {};
  if (ports.first == ports.last) return fmt::format(" {} {}", name, ports.first);
  return fmt::format(" {} {}-{}", name, ports.first, ports.last);
}

constexpr const char* kVrfsTable = "lookup [l3mdev-table]";

std::string action_text(const PolicyRule& rule) {
  switch (rule.action) {
    case RuleAction::kTable:
      return rule.l3mdev ? kVrfsTable : "lookup " + table_text(rule.table);
    case RuleAction::kGoto:
      return fmt::format("goto {}", rule.target);
    case RuleAction::kNop:
      return "nop";
    case RuleAction::kBlackhole:
      return "blackhole";
    case RuleAction::kUnreachable:
      return "unreachable";
    case RuleAction::kProhibit:
      return "prohibit";
  }
  return "nop";
}

}  // namespace

std::string table_text(uint32_t table) {
  switch (table) {
    case kTableLocal:
      return "local";
    case kTableMain:
      return "main";
    case kTableDefault:
      return "default";
    default:
      return std::to_string(table);
  }
}

std::string to_string(const PolicyRule& rule) {
  fmt::memory_buffer text;
  const auto add = [&text](fmt::string_view format, const auto&... values) {
    fmt::format_to(std::back_inserter(text), fmt::runtime(format), values...);
  };
  add("{}from {}", rule.invert ? "not " : "", prefix_text(rule.from));
  if (rule.to) add(" to {}", prefix_text(rule.to));
  if (rule.tos != 0) add(" tos {:#04x}", rule.tos);
  if (rule.dscp) add(" dscp {}", *rule.dscp);
  if (rule.fwmask != 0) add(" fwmark {:#x}", rule.fwmark);
  if (rule.fwmask != 0 && rule.fwmask != ~uint32_t{0}) add("/{:#x}", rule.fwmask);
  if (!rule.iif.empty()) add(" iif {}", rule.iif);
  if (!rule.oif.empty()) add(" oif {}", rule.oif);
  if (rule.ip_protocol != 0) add(" ipproto {}", rule.ip_protocol);
  add("{}{}", ports_text("sport", rule.source_ports), ports_text("dport", rule.destination_ports));
  if (rule.other_selectors) add(" (and more)");
  if (rule.l3mdev && rule.action != RuleAction::kTable) add(" {}", kVrfsTable);
  add(" {}", action_text(rule));
  if (rule.suppress_prefix_length) add(" suppress_prefixlength {}", *rule.suppress_prefix_length);
  return fmt::to_string(text);
}

}  // namespace hecto::router
