// `hecto show punt` as text: the classes in their order, and where packets were dropped.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"
#include "router/cli/units.hpp"

namespace hecto::cli {
namespace {

constexpr size_t kPlaces = 2;  // that fit into a line

std::string where(const json& row) {
  std::string out;
  size_t shown = 0;
  const json& places = list(row, "where");
  for (const json& place : places) {
    if (shown++ == kPlaces) return out + fmt::format(", {} more", places.size() - kPlaces);
    out += (out.empty() ? "" : ", ") +
           fmt::format("{} {}", text(place, "interface"), count(whole(place, "dropped")));
  }
  return out;
}

}  // namespace

std::string render_punt(const json& answer, Style style) {
  Table table({{"class"},
               {"order", Align::kRight},
               {"limit", Align::kRight},
               {"passed", Align::kRight},
               {"rate", Align::kRight},
               {"dropped", Align::kRight},
               {"rate", Align::kRight},
               {"where", Align::kLeft, true}});
  for (const json& row : list(answer, "classes")) {
    const bool drops = number(row, "drop_pps") > 0;
    table.row({Cell(text(row, "class"), drops ? Paint::kWarn : Paint::kPlain),
               count(whole(row, "priority")), packet_rate(number(row, "limit_pps")),
               count(whole(row, "passed")), packet_rate(number(row, "pps")),
               count(whole(row, "dropped")), packet_rate(number(row, "drop_pps")), where(row)});
  }
  if (table.empty()) return {};
  const json& sessions = at(answer, "sessions");
  const std::string known =
      sessions.is_object()
          ? fmt::format("{} connections, {} TCP and {} UDP ports, {} known peers",
                        count(whole(sessions, "connections")), count(whole(sessions, "tcp_ports")),
                        count(whole(sessions, "udp_ports")), count(whole(sessions, "peers")))
          : "its sockets are not known: no port counts as closed";
  return table.text(style) + "\nthe router itself: " + known + "\n";
}

}  // namespace hecto::cli
