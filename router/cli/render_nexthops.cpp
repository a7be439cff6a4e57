#include <fmt/format.h>

#include <algorithm>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {

std::string render_neighbors(const json& answer, Style style) {
  std::vector<json> neighbors = list(answer, "neighbors");
  std::stable_sort(neighbors.begin(), neighbors.end(), [](const json& a, const json& b) {
    return !flag(a, "usable") && flag(b, "usable");
  });
  if (neighbors.empty()) return "no neighbors: none is in the file, and Linux has told of none\n";
  Table table({{"address"},
               {"interface", Align::kLeft, true},
               {"mac"},
               {"state"},
               {"from"},
               {"next hop", Align::kRight}});
  for (const json& neighbor : neighbors) {
    table.row(
        {text(neighbor, "address"), text(neighbor, "interface"), text(neighbor, "mac"),
         Cell(text(neighbor, "state"), flag(neighbor, "usable") ? Paint::kPlain : Paint::kBad),
         text(neighbor, "origin"),
         has(neighbor, "group") ? text(neighbor, "group") : std::string()});
  }
  return table.text(style);
}

std::string render_rules(const json& answer, Style style) {
  const std::vector<json> rules = list(answer, "rules");
  if (rules.empty()) return "no policy rules: none is in the file, and Linux has told of none\n";
  Table table({{"family"}, {"priority", Align::kRight}, {"rule"}, {"done by"}});
  for (const json& rule : rules) {
    const std::string by = text(rule, "done_by");
    table.row({text(rule, "family"), text(rule, "priority"), text(rule, "rule"),
               Cell(by, by == "linux" ? Paint::kWarn : Paint::kPlain)});
  }
  return table.text(style);
}

std::string render_tables(const json& answer, Style style) {
  Table table({{"table"},
               {"VRF"},
               {"interfaces", Align::kLeft, true},
               {"rules", Align::kRight},
               {"IPv4", Align::kRight},
               {"IPv6", Align::kRight},
               {"own", Align::kLeft, false, 1},
               {"no room", Align::kRight}});
  for (const json& each : list(answer, "tables")) {
    std::string interfaces;
    for (const json& name : list(each, "interfaces"))
      interfaces += (interfaces.empty() ? "" : ", ") + plain(name);
    const uint64_t incomplete = whole(each, "incomplete");
    const bool own4 = flag(each, "own_ipv4"), own6 = flag(each, "own_ipv6");
    table.row({text(each, "name"), has(each, "vrf") ? text(each, "vrf") : std::string(), interfaces,
               count(whole(each, "rules")), count(whole(each, "ipv4_prefixes")),
               count(whole(each, "ipv6_prefixes")),
               own4 && own6 ? "both"
               : own4       ? "IPv4"
               : own6       ? "IPv6"
                            : "",
               Cell(count(incomplete), incomplete > 0 ? Paint::kBad : Paint::kPlain)});
  }
  return table.text(style);
}

std::string render_nexthops(const json& answer, Style style) {
  std::vector<json> hops = list(answer, "nexthops");
  std::stable_sort(hops.begin(), hops.end(), [](const json& a, const json& b) {
    return whole(a, "routes") > whole(b, "routes");
  });
  Table table({{"id", Align::kRight},
               {"routes", Align::kRight},
               {"does"},
               {"gateway", Align::kLeft, true},
               {"interface", Align::kLeft, true},
               {"mac"},
               {"vlan", Align::kRight},
               {"mtu", Align::kRight},
               {"members", Align::kLeft, true}});
  const auto value = [](const json& hop, const char* key) {
    return has(hop, key) ? text(hop, key) : std::string();
  };
  for (const json& hop : hops) {
    std::string members;
    for (const json& member : list(hop, "members")) {
      members += fmt::format("{}{} x{}", members.empty() ? "" : ", ", text(member, "id"),
                             text(member, "weight"));
    }
    const std::string kind = text(hop, "kind");
    table.row({text(hop, "id"), count(whole(hop, "routes")),
               Cell(has(hop, "reason") ? kind + " " + text(hop, "reason") : kind,
                    kind == "punt" || kind == "drop" ? Paint::kWarn : Paint::kPlain),
               value(hop, "gateway"), value(hop, "interface"), value(hop, "mac"), tags(hop),
               value(hop, "mtu"), members});
  }
  const double used = number(answer, "groups_used"), most = number(answer, "groups_max");
  std::string below;
  if (most > 0 && used > 0.8 * most) {
    below = painted(
        fmt::format("! {} of {} next-hop groups are used; raise tables.groups\n",
                    count(whole(answer, "groups_used")), count(whole(answer, "groups_max"))),
        Paint::kWarn, style);
  }
  return table.text(style) + below;
}

}  // namespace hecto::cli
