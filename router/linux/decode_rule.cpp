#include "router/linux/decode_rule.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>

namespace hecto::router {
namespace {

constexpr uint32_t kEvery = ~uint32_t{0};

bool read_name(Bytes payload, std::string& name) {
  const auto end = std::find(payload.begin(), payload.end(), uint8_t{0});
  name.assign(payload.begin(), end);
  return !name.empty() && name.size() < IFNAMSIZ;
}

bool read_ports(Bytes payload, PortRange& ports) {
  const auto range = read_pod<fib_rule_port_range>(payload);
  if (!range || range->start > range->end) return false;
  ports = {range->start, range->end};
  return true;
}

std::optional<RuleAction> rule_action(uint8_t action) {
  switch (action) {
    case FR_ACT_TO_TBL:
      return RuleAction::kTable;
    case FR_ACT_GOTO:
      return RuleAction::kGoto;
    case FR_ACT_NOP:
      return RuleAction::kNop;
    case FR_ACT_BLACKHOLE:
      return RuleAction::kBlackhole;
    case FR_ACT_UNREACHABLE:
      return RuleAction::kUnreachable;
    case FR_ACT_PROHIBIT:
      return RuleAction::kProhibit;
    default:
      return std::nullopt;
  }
}

struct Addresses {
  std::optional<IpAddress> from, to;
};

// False: the attribute is malformed.
bool read_attribute(const Attribute& attribute, int family, Addresses& addresses,
                    PolicyRule& rule) {
  const Bytes payload = attribute.payload;
  const uint32_t number = attribute.as<uint32_t>().value_or(0);
  switch (attribute.type) {
    case FRA_PRIORITY:
      rule.priority = number;
      return payload.size() == sizeof number;
    case FRA_TABLE:
      rule.table = number;
      return payload.size() == sizeof number;
    case FRA_SRC:
      addresses.from = read_address(payload, family);
      return addresses.from.has_value();
    case FRA_DST:
      addresses.to = read_address(payload, family);
      return addresses.to.has_value();
    case FRA_IIFNAME:
      return read_name(payload, rule.iif);
    case FRA_OIFNAME:
      return read_name(payload, rule.oif);
    case FRA_FWMARK:
      rule.fwmark = number;
      if (rule.fwmask == 0) rule.fwmask = kEvery;
      return payload.size() == sizeof number;
    case FRA_FWMASK:
      rule.fwmask = number;
      return payload.size() == sizeof number;
    case FRA_GOTO:
      rule.target = number;
      return payload.size() == sizeof number;
    case FRA_SUPPRESS_PREFIXLEN:
      if (number != kEvery) rule.suppress_prefix_length = number;
      return payload.size() == sizeof number;
    case FRA_SUPPRESS_IFGROUP:
      rule.other_selectors |= number != kEvery;
      return true;
    case FRA_TUN_ID:
      rule.other_selectors |= attribute.as<uint64_t>().value_or(1) != 0;
      return true;
    case FRA_L3MDEV:
      rule.l3mdev = attribute.as<uint8_t>().value_or(0) != 0;
      return true;
    case FRA_UID_RANGE: {
      const auto users = read_pod<fib_rule_uid_range>(payload);
      rule.other_selectors |= !users || users->start != 0 || users->end != kEvery;
      return users.has_value();
    }
    case FRA_PROTOCOL:
      rule.protocol = attribute.as<uint8_t>().value_or(0);
      return true;
    case FRA_IP_PROTO:
      rule.ip_protocol = attribute.as<uint8_t>().value_or(0);
      return payload.size() == sizeof rule.ip_protocol;
    case FRA_SPORT_RANGE:
      return read_ports(payload, rule.source_ports);
    case FRA_DPORT_RANGE:
      return read_ports(payload, rule.destination_ports);
    case FRA_FLOW:  // of a realm, which nothing here asks for
    case FRA_PAD:
    case FRA_UNSPEC:
      return true;
    default:
      rule.other_selectors = true;  // FRA_DSCP, FRA_FLOWLABEL and what is younger
      return true;
  }
}

// Host bits behind the length are cleared. False: there are none, or too few.
bool set_prefix(const std::optional<IpAddress>& address, int family, uint8_t length,
                std::optional<IpPrefix>& prefix) {
  if (length > (family == AF_INET ? 32 : 128)) return false;
  if (length == 0) return true;
  if (!address) return false;
  prefix = IpPrefix{*address, length}.network();
  return true;
}

}  // namespace

Decoded decode_rule(const Message& message, RuleEvent& out) {
  const auto header = read_pod<fib_rule_hdr>(message.body);
  if (!header) return Decoded::kMalformed;
  const int family = header->family;
  if (family != AF_INET && family != AF_INET6) return Decoded::kIgnored;
  out.rule = PolicyRule{};
  out.removed = message.header.nlmsg_type == RTM_DELRULE;
  PolicyRule& rule = out.rule;
  rule.family = family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  rule.table = header->table;
  rule.tos = header->tos;
  rule.invert = (header->flags & FIB_RULE_INVERT) != 0;
  const auto action = rule_action(header->action);
  // Linux makes no rule of another one, and drops what would meet it.
  rule.action = action.value_or(RuleAction::kBlackhole);

  Addresses addresses;
  AttributeWalker walker(message.body.subspan(NLMSG_ALIGN(sizeof(fib_rule_hdr))));
  Attribute attribute;
  while (walker.next(attribute))
    if (!read_attribute(attribute, family, addresses, rule)) return Decoded::kMalformed;
  if (walker.malformed()) return Decoded::kMalformed;
  if (!set_prefix(addresses.from, family, header->src_len, rule.from) ||
      !set_prefix(addresses.to, family, header->dst_len, rule.to))
    return Decoded::kMalformed;
  if (rule.action != RuleAction::kTable) rule.table = 0;
  return Decoded::kEvent;
}

}  // namespace hecto::router
