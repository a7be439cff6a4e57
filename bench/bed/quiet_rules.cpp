#include "bench/bed/quiet_rules.hpp"

#include <vector>

namespace hecto::bench {

using namespace router;

namespace {

PolicyRule quiet_rule(Family family, unsigned i) {
  PolicyRule rule;
  rule.family = family;
  rule.priority = i + 1;
  rule.action = RuleAction::kBlackhole;
  if (family == Family::kIpv4) {
    rule.from = IpPrefix{IpAddress::from(lookup::Ipv4Address{i << 20}), 12};
    rule.to = IpPrefix{IpAddress::from(lookup::Ipv4Address{0xf0000000 | i << 8}), 24};
    return rule;
  }
  lookup::Ipv6Address from{}, to{};
  from.bytes[0] = 0x20;  // 2000::/3 and what is behind it
  from.bytes[1] = static_cast<uint8_t>(i >> 4);
  from.bytes[2] = static_cast<uint8_t>(i << 4);
  to.bytes[0] = 0x02;
  to.bytes[1] = static_cast<uint8_t>(i >> 8);
  to.bytes[2] = static_cast<uint8_t>(i);
  rule.from = IpPrefix{IpAddress::from(from), 20};
  rule.to = IpPrefix{IpAddress::from(to), 24};
  return rule;
}

template <typename Address>
Result<std::unique_ptr<const RuleTable<Address>>> quiet_table(Family family, unsigned count) {
  std::vector<PolicyRule> rules;
  for (unsigned i = 0; i < count; ++i) rules.push_back(quiet_rule(family, i));
  PolicyRule main;
  main.family = family;
  main.priority = 32766;
  main.table = 254;
  rules.push_back(main);
  const RuleSurroundings nothing{[](const std::string&) { return kNoInterface; },
                                 [](uint32_t) { return lookup::TableId{0}; },
                                 {}};
  return RuleTable<Address>::compile(rules, nothing);
}

}  // namespace

Result<std::shared_ptr<const RuleTables>> quiet_rules(unsigned count) {
  auto ipv4 = quiet_table<uint32_t>(Family::kIpv4, count);
  if (!ipv4) return tl::unexpected(ipv4.error());
  auto ipv6 = quiet_table<lookup::Ipv6Address>(Family::kIpv6, count);
  if (!ipv6) return tl::unexpected(ipv6.error());
  auto tables = std::make_shared<RuleTables>();
  tables->ipv4 = std::move(*ipv4);
  tables->ipv6 = std::move(*ipv6);
  return tables;
}

}  // namespace hecto::bench
