#include <fmt/format.h>

#include <algorithm>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

std::string counts_of(const json& object) {
  std::vector<std::pair<std::string, uint64_t>> counts;
  if (object.is_object()) {
    for (const auto& [name, value] : object.items()) {
      if (const uint64_t number = whole(object, name.c_str()); number > 0) {
        counts.emplace_back(name, number);
      }
    }
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string words;
  for (const auto& [name, number] : counts) {
    words += (words.empty() ? "" : ", ") + name + " " + count(number);
  }
  return words;
}

std::string from(const json& route) {
  const std::string origin = text(route, "origin");
  std::string words = origin == "linux" ? "linux " + text(route, "protocol") : origin;
  for (const json& other : list(route, "also")) words += ", " + plain(other);
  if (flag(route, "persist")) words += " (persist)";
  return words;
}

// 100/200, the outermost first; empty: none.
std::string labels_of(const json& hop) {
  std::string words;
  for (const json& label : list(hop, "labels")) words += (words.empty() ? "" : "/") + plain(label);
  return words;
}

std::string via(const json& hop, bool several) {
  std::string words = has(hop, "gateway") ? text(hop, "gateway") : "on-link";
  if (const std::string labels = labels_of(hop); !labels.empty()) words += " push " + labels;
  if (several) words += " x" + text(hop, "weight");
  if (flag(hop, "dead")) words += " (dead)";
  return words;
}

std::vector<Column> route_columns(bool with_why) {
  std::vector<Column> columns = {{""},
                                 {"prefix"},
                                 {"via", Align::kLeft, true},
                                 {"interface", Align::kLeft, true},
                                 {"from"},
                                 {"metric", Align::kRight},
                                 {"next hop", Align::kRight}};
  if (with_why) columns.push_back({"why", Align::kLeft, true});
  return columns;
}

void add_route(Table& table, const json& route) {
  const json& hops = list(route, "next_hops");
  const std::string type = text(route, "type");
  std::string first_via = type, first_interface;
  if (!hops.empty()) {
    first_via = via(hops[0], hops.size() > 1);
    if (type != "unicast") first_via = type;
    first_interface = text(hops[0], "interface");
  }
  table.row({flag(route, "selected") ? "*" : "", text(route, "prefix"), first_via, first_interface,
             from(route), text(route, "metric"),
             has(route, "group") ? text(route, "group") : std::string(),
             has(route, "why") ? text(route, "why") : std::string()});
  for (size_t i = 1; i < hops.size(); ++i) {
    table.row({"", "", via(hops[i], true), text(hops[i], "interface")});
  }
}

std::string members_table(const json& next_hop, Style style) {
  Table table({{"share", Align::kRight},
               {"next hop", Align::kRight},
               {"does"},
               {"gateway", Align::kLeft, true},
               {"interface", Align::kLeft, true},
               {"port"},
               {"mtu", Align::kRight},
               {"neighbor"},
               {"state"}});
  const double all = std::max(1.0, number(next_hop, "buckets"));
  for (const json& member : list(next_hop, "members")) {
    const json& neighbor = at(member, "neighbor");
    const std::string kind = text(member, "kind");
    const bool forwards = kind == "forward" || kind == "labels";
    table.row({percent(100 * number(member, "buckets") / all), text(member, "id"),
               Cell(has(member, "reason") ? text(member, "kind") + " " + text(member, "reason")
                                          : text(member, "kind"),
                    forwards ? Paint::kPlain : Paint::kWarn),
               text(member, "gateway"), text(member, "interface"), text(member, "port"),
               text(member, "mtu"), text(neighbor, "mac"), text(neighbor, "state")});
  }
  return table.text(style);
}

std::string rewrites(const json& next_hop) {
  std::string out;
  for (const json& member : list(next_hop, "members")) {
    const json& rewrite = at(member, "rewrite");
    if (rewrite.is_null()) continue;
    out += paragraph(
        fmt::format("rewrite {}: ", text(member, "id")),
        fmt::format("{} > {}{}, {}", text(rewrite, "source"), text(rewrite, "destination"),
                    has(rewrite, "vlan") ? " vlan " + tags(rewrite) : "", text(rewrite, "header")));
  }
  return out;
}

}  // namespace

std::string render_route_counts(const json& answer, Style) {
  const json& counts = at(answer, "counts");
  std::string line = fmt::format("{} routes: IPv4 {}, IPv6 {}", count(whole(counts, "total")),
                                 count(whole(counts, "ipv4")), count(whole(counts, "ipv6")));
  for (const char* key : {"by_origin", "by_protocol"}) {
    const std::string words = counts_of(at(counts, key));
    if (!words.empty()) line += "; " + words;
  }
  return paragraph("", line);
}

std::string render_route_page(const json& answer, Style style) {
  Table table(route_columns(false));
  for (const json& route : list(answer, "routes")) add_route(table, route);
  return table.text(style);
}

std::string render_explanation(const json& answer, Style style) {
  const std::string verdict = text(answer, "verdict");
  std::string first = text(answer, "address") + ": " +
                      painted(verdict, verdict == "forward" ? Paint::kGood : Paint::kWarn, style);
  if (has(answer, "reason")) first += " (" + text(answer, "reason") + ")";
  if (has(answer, "stage")) first += " at " + text(answer, "stage");
  if (has(answer, "spi")) first += " as ESP, SPI " + text(answer, "spi");
  if (const json& match = at(answer, "match"); !match.is_null()) {
    first += ", route " + text(match, "prefix") + ", next hop " + text(match, "group");
  }
  std::string out = first + "\n";
  for (const json& sentence : list(answer, "why")) out += paragraph("  ", plain(sentence));
  const json& next_hop = at(answer, "next_hop");
  if (const std::string members = members_table(next_hop, style); !members.empty()) {
    out += "\n" + members + rewrites(next_hop);
  }
  Table table(route_columns(true));
  for (const json& route : list(answer, "candidates")) add_route(table, route);
  if (!table.empty()) out += "\n" + table.text(style);
  return out;
}

}  // namespace hecto::cli
