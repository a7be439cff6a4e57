#include "router/rib/explain.hpp"

#include <fmt/format.h>

#include "router/rib/rule_text.hpp"

namespace hecto::router {

using lookup::Prefix;

namespace {

// Why `better` comes before `worse` among the routes of one prefix; about `worse` if `loses`.
std::string reason(const Candidate& better, const Candidate& worse, bool loses) {
  if (origin_of(better) == RouteOrigin::kNeighbor) return "a neighbor's own route comes first";
  if (table_of(better) != table_of(worse)) {
    return fmt::format("table {} comes before table {}", table_text(table_of(better)),
                       table_text(table_of(worse)));
  }
  if (better.metric != worse.metric) {
    return loses ? fmt::format("metric {} is above {}", worse.metric, better.metric)
                 : fmt::format("metric {} is below {}", better.metric, worse.metric);
  }
  if (better.source != worse.source) {
    return fmt::format("the same metric, and {} comes before {}", to_string(origin_of(better)),
                       to_string(origin_of(worse)));
  }
  return loses ? "the same metric, and it came later" : "the same metric, and it came first";
}

template <typename Address>
void explain_in(const RouteStore& store, const RoutingTable& table, const Address& address,
                Explanation& explanation) {
  const RoutingQueries queries(store);
  const Rib<Address>& rib = table.rib<Address>();
  size_t prefixes = 0, routes = 0;
  const RibEntry<Address>* chosen = nullptr;
  const Candidate* first = nullptr;
  const Candidate* second = nullptr;
  for (auto match = rib.longest_match(address); match; match = rib.parent(match->prefix)) {
    const RibEntry<Address>& entry = *match->value;
    bool usable = entry.tag.in_fib && chosen == nullptr;
    if (usable) {
      chosen = &entry;
      explanation.match = IpPrefix{IpAddress::from(match->prefix.address), match->prefix.length};
    }
    ++prefixes;
    const Candidate& best = rib.best(entry);
    for (RouteId id = entry.first; id != kNoRouteId; id = rib.next(id)) {
      const Candidate& candidate = rib.route(id);
      RouteView route = queries.view(table, match->prefix, entry, id);
      if (!entry.tag.in_fib) {
        route.why = "the forwarding table was full";
      } else if (&entry != chosen) {
        route.why = "a shorter prefix";
      } else {
        ++routes;
        if (id == entry.first) first = &candidate;
        if (routes == 2) second = &candidate;
        route.why = id == entry.first ? "selected" : reason(best, candidate, true);
      }
      explanation.candidates.push_back(std::move(route));
    }
  }
  if (chosen == nullptr) {
    explanation.why.push_back(
        prefixes == 0 ? fmt::format("no prefix holds {}", explanation.address.to_string())
                      : "none of its prefixes is in the forwarding table");
    return;
  }
  std::string held = explanation.address.to_string();
  std::string match = explanation.match->to_string();
  explanation.why.push_back(
      prefixes == 1
          ? fmt::format("{} is the only prefix that holds {}", match, held)
          : fmt::format("{} is the longest of {} prefixes that hold {}", match, prefixes, held));
  if (second != nullptr) {
    explanation.why.push_back(fmt::format("of its {} routes the one of {} is selected: {}", routes,
                                          to_string(origin_of(*first)),
                                          reason(*first, *second, false)));
  }
  if (chosen->tag.incomplete) {
    explanation.why.push_back("no next-hop group was left: Linux forwards its packets");
  }
  explanation.group = queries.next_hop(chosen->tag.group);
}

}  // namespace

Explanation explain(const RouteStore& store, const RoutingTable& table, const IpAddress& address) {
  Explanation explanation;
  explanation.address = address;
  if (address.family == Family::kIpv4) {
    explain_in(store, table, address.v4(), explanation);
  } else {
    explain_in(store, table, address.v6(), explanation);
  }
  return explanation;
}

}  // namespace hecto::router
