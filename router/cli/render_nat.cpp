#include <fmt/format.h>

#include <algorithm>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

Table nat_rules_table(const json& answer) {
  Table table({{"inside"}, {"becomes"}, {"out"}, {"state"}});
  for (const json& rule : list(answer, "rules")) {
    const bool one_to_one = has(rule, "outside");
    const bool active = flag(rule, "active");
    table.row({text(rule, "inside"),
               one_to_one ? text(rule, "outside") + " (1:1)" : "pool " + text(rule, "pool"),
               text(rule, "out"),
               Cell(active ? "" : "no such interface", active ? Paint::kPlain : Paint::kBad)});
  }
  return table;
}

Table nat_pools_table(const json& answer) {
  Table table({{"pool"},
               {"addresses", Align::kLeft, true},
               {"blocks", Align::kRight},
               {"hosts", Align::kRight},
               {"sessions", Align::kRight},
               {"of", Align::kRight},
               {"new/s", Align::kRight},
               {"refused", Align::kRight}});
  for (const json& pool : list(answer, "pools")) {
    std::string addresses;
    for (const json& address : list(pool, "addresses"))
      addresses += (addresses.empty() ? "" : " ") + plain(address);
    const json& blocks = at(pool, "blocks");
    const json& sessions = at(pool, "sessions");
    uint64_t refused = 0;
    if (const json& reasons = at(pool, "refused"); reasons.is_object())
      for (const auto& [reason, packets] : reasons.items())
        refused += whole(reasons, reason.c_str());
    const uint64_t used = whole(blocks, "used"), all = whole(blocks, "all");
    const bool scarce = used * 10 >= all * 9;
    table.row({text(pool, "name"), addresses,
               Cell(fmt::format("{}/{}", used, all), scarce ? Paint::kWarn : Paint::kPlain),
               count(whole(pool, "hosts")), count(whole(sessions, "now")),
               count(whole(sessions, "most")), count(whole(sessions, "opened_per_s")),
               Cell(refused == 0 ? "" : count(refused), Paint::kWarn)});
  }
  return table;
}

// Why, where something was.
std::string nat_refusals(const json& answer) {
  std::string out;
  for (const json& pool : list(answer, "pools")) {
    const json& reasons = at(pool, "refused");
    if (!reasons.is_object()) continue;
    for (const auto& [reason, packets] : reasons.items())
      if (const uint64_t refused = whole(reasons, reason.c_str()); refused > 0)
        out += fmt::format("{}: {} {}\n", text(pool, "name"), count(refused), printable(reason));
  }
  return out;
}

}  // namespace

std::string render_nat(const json& answer, Style style) {
  if (list(answer, "rules").empty()) return "nothing is translated: the file has no nat\n";
  const std::string pools = nat_pools_table(answer).text(style);
  return nat_rules_table(answer).text(style) + (pools.empty() ? "" : "\n" + pools) +
         nat_refusals(answer);
}

}  // namespace hecto::cli
