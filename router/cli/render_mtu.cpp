// `hecto show mtu` as text: every interface, and, of an address, what stands on the way to it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

std::string number_or_none(const json& row, const char* key) {
  return has(row, key) ? text(row, key) : std::string();
}

std::string way_words(const json& way) {
  std::string words = has(way, "gateway") ? "via " + text(way, "gateway") + " on " : "on ";
  words += has(way, "interface") ? text(way, "interface") : std::string("a device of Linux");
  if (!has(way, "mtu")) return words + ": not forwarded by hecto";
  words += fmt::format(": {}", text(way, "mtu"));
  if (has(way, "route_mtu"))
    words += fmt::format(" by its route, the interface takes {}", text(way, "interface_mtu"));
  return words;
}

std::string render_path(const json& path) {
  std::string out = fmt::format("to {}", text(path, "address"));
  if (has(path, "match")) out += fmt::format(" ({})", text(path, "match"));
  out += has(path, "mtu") ? fmt::format(": {} bytes at most\n", text(path, "mtu"))
                          : std::string(": nothing goes there\n");
  for (const json& way : list(path, "ways")) out += paragraph("  ", way_words(way));
  const json& tunnel = at(path, "tunnel");
  if (tunnel.is_object()) {
    std::string words =
        fmt::format("SPI {} to {}: {} inside, the next hop takes {}", text(tunnel, "spi"),
                    text(tunnel, "end"), text(tunnel, "mtu"), text(tunnel, "next_hop_mtu"));
    if (has(tunnel, "path_mtu"))
      words += fmt::format(", the path told {}", text(tunnel, "path_mtu"));
    out += paragraph("  ", words);
  }
  for (const json& sentence : list(path, "why")) out += paragraph("  ", plain(sentence));
  return out;
}

}  // namespace

std::string render_mtu(const json& answer, Style style) {
  Table table({{"interface"},
               {"mtu", Align::kRight},
               {"file", Align::kRight},
               {"port", Align::kRight},
               {"at most", Align::kRight},
               {"device", Align::kRight},
               {"linux", Align::kRight},
               {"mss"}});
  std::string below;
  for (const json& row : list(answer, "interfaces")) {
    const bool differs = !list(row, "mismatches").empty();
    table.row({Cell(text(row, "name"), differs ? Paint::kWarn : Paint::kPlain), text(row, "mtu"),
               number_or_none(row, "file"), number_or_none(row, "port_mtu"),
               number_or_none(row, "port_most"), number_or_none(row, "device"),
               number_or_none(row, "linux"),
               text(row, "mss_clamp") == "auto" ? std::string("clamped") : std::string()});
    for (const json& line : list(row, "mismatches"))
      below += paragraph(text(row, "name") + ": ", plain(line));
  }
  std::string out = table.text(style);
  if (!below.empty()) out += "\n" + below;
  if (at(answer, "path").is_object()) out += "\n" + render_path(at(answer, "path"));
  return out;
}

}  // namespace hecto::cli
