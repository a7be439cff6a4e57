#include "bench/bed/leading_rules.hpp"

namespace hecto::bench {

using namespace router;

namespace {

Result<void> copy_routes(Routing& routing, const RouteTable& table, uint32_t number) {
  for (const RouteTable::Entry& entry : table.entries) {
    router::Route route;
    route.prefix = entry.prefix;
    route.origin = RouteOrigin::kFile;
    route.table = number;
    route.next_hops = table.next_hop_sets[entry.next_hop_set];
    if (auto done = routing.add(route); !done) return tl::unexpected(done.error());
  }
  routing.commit();
  return {};
}

std::vector<PolicyRule> rules_of(Family family, uint32_t number, LookUpBy by) {
  PolicyRule leads, main;
  leads.family = main.family = family;
  leads.priority = 1000;
  main.priority = 32766;
  main.table = kTableMain;
  if (by == LookUpBy::kVrf) {
    leads.l3mdev = true;
    return {leads, main};
  }
  PolicyRule quiet;
  quiet.family = family;
  quiet.priority = 1;
  quiet.action = RuleAction::kBlackhole;
  quiet.from = IpPrefix::parse(family == Family::kIpv4 ? "240.0.0.0/4" : "ff00::/8");
  leads.table = number;
  return {quiet, leads, main};
}

template <typename Address>
Result<std::unique_ptr<const RuleTable<Address>>> compiled(const RuleSurroundings& surroundings,
                                                           uint32_t number, LookUpBy by) {
  constexpr Family kFamily = sizeof(Address) == 4 ? Family::kIpv4 : Family::kIpv6;
  return RuleTable<Address>::compile(rules_of(kFamily, number, by), surroundings);
}

}  // namespace

std::string_view to_string(LookUpBy by) noexcept {
  switch (by) {
    case LookUpBy::kMain:
      return "main";
    case LookUpBy::kVrf:
      return "vrf";
    case LookUpBy::kRule:
      return "rule";
  }
  return "main";
}

Result<std::shared_ptr<const RuleTables>> leading_rules(Routing& routing, const RouteTable& table,
                                                        uint32_t number, LookUpBy by,
                                                        const std::vector<InterfaceId>& receiving) {
  if (auto done = copy_routes(routing, table, number); !done) return tl::unexpected(done.error());
  // Till it has the form that a table of its size gets, which takes a turn of control each 20,000.
  constexpr int kTurns = 1000;
  for (int turn = 0;
       turn < kTurns && !(routing.tables().back().large4 && routing.tables().back().large6); ++turn)
    routing.commit();
  RuleSurroundings surroundings;
  surroundings.interface = [](const std::string&) { return kNoInterface; };
  surroundings.table = [&routing](uint32_t linux_table) { return routing.fib_table(linux_table); };
  for (const InterfaceId interface : receiving)
    surroundings.vrf_members.push_back({interface, "bed", number});
  auto ipv4 = compiled<uint32_t>(surroundings, number, by);
  if (!ipv4) return tl::unexpected(ipv4.error());
  auto ipv6 = compiled<lookup::Ipv6Address>(surroundings, number, by);
  if (!ipv6) return tl::unexpected(ipv6.error());
  auto tables = std::make_shared<RuleTables>();
  tables->ipv4 = std::move(*ipv4);
  tables->ipv6 = std::move(*ipv6);
  return tables;
}

}  // namespace hecto::bench
