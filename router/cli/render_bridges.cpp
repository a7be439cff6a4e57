// `hecto show bridges` as text.
#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {

std::string render_bridges(const json& answer, Style style) {
  const std::vector<json> bridges = list(answer, "bridges");
  if (bridges.empty()) return "Linux has no bridge\n";
  std::string out;
  for (const json& bridge : bridges) {
    const bool up = flag(bridge, "up");
    out += fmt::format("{}{}: {}, {}, MTU {}, {} stations{}\n", out.empty() ? "" : "\n",
                       text(bridge, "name"),
                       painted(up ? "up" : "down", up ? Paint::kGood : Paint::kBad, style),
                       text(bridge, "mac"), text(bridge, "mtu"), count(whole(bridge, "stations")),
                       flag(bridge, "vlan_filtering") ? ", filters VLANs" : "");
    Table table({{"port"}, {"state"}, {"MTU", Align::kRight}, {"stations", Align::kRight}});
    std::string shorter;
    for (const json& port : list(bridge, "ports")) {
      const std::string state = text(port, "state");
      const bool short_of = has(port, "mtu") && whole(port, "mtu") < whole(bridge, "mtu");
      if (short_of) shorter += (shorter.empty() ? "" : ", ") + text(port, "name");
      table.row(
          {text(port, "name"), Cell(state, state == "forwards" ? Paint::kPlain : Paint::kWarn),
           Cell(has(port, "mtu") ? text(port, "mtu") : "", short_of ? Paint::kWarn : Paint::kPlain),
           count(whole(port, "stations"))});
    }
    out += table.text(style);
    if (!shorter.empty())
      out += paragraph(
          "! ",
          fmt::format("MTU below the bridge's: what is longer does not leave by {}", shorter));
    if (has(bridge, "trouble"))
      out +=
          paragraph("! ", "Linux switches and routes it, at its speed: " + text(bridge, "trouble"));
  }
  return out;
}

}  // namespace hecto::cli
