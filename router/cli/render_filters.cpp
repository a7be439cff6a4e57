// `hecto show filters` as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

// in wan0, lan0; out wan0; local
std::string places(const json& filter) {
  std::string out;
  const auto add = [&](const char* key) {
    std::vector<std::string> names;
    for (const json& name : list(filter, key)) names.push_back(plain(name));
    if (names.empty()) return;
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", key, fmt::join(names, ", "));
  };
  add("in");
  add("out");
  add("vrfs");
  if (flag(filter, "local")) out += out.empty() ? "local" : "; local";
  return out.empty() ? "applied nowhere" : out;
}

std::vector<Cell> rule_row(const json& rule, std::string name, std::string what) {
  const std::string action = text(rule, "action");
  return {std::move(name),
          Cell(action, action == "accept" ? Paint::kPlain : Paint::kWarn),
          count(whole(rule, "packets")),
          bytes(number(rule, "bytes")),
          packet_rate(number(rule, "pps")),
          std::move(what)};
}

// Of policers with a bucket for each prefix those that exceed most.
std::string exceeding(const json& answer, Style style) {
  Table table({{"policer"},
               {"of", Align::kRight},
               {"exceeding"},
               {"red", Align::kRight},
               {"bytes", Align::kRight},
               {"set", Align::kLeft, true}});
  for (const json& policer : list(answer, "policers"))
    for (const json& each : list(policer, "exceeding"))
      table.row({text(policer, "name"), count(whole(policer, "prefixes")), text(each, "prefix"),
                 count(whole(each, "packets")), bytes(number(each, "bytes")), text(each, "set")});
  return table.empty() ? std::string() : "\n" + table.text(style);
}

}  // namespace

std::string render_filters(const json& answer, Style style) {
  const std::vector<json> filters = list(answer, "filters");
  if (filters.empty() && list(answer, "policers").empty()) return "no filters\n";
  std::string out;
  for (const json& filter : filters) {
    out += fmt::format("{}{}: {}\n", out.empty() ? "" : "\n", text(filter, "name"), places(filter));
    Table table({{"rule"},
                 {"action"},
                 {"packets", Align::kRight},
                 {"bytes", Align::kRight},
                 {"rate", Align::kRight},
                 {"of", Align::kLeft, true}});
    for (const json& rule : list(filter, "rules"))
      table.row(rule_row(rule, text(rule, "rule"), text(rule, "text")));
    table.row(rule_row(at(filter, "otherwise"), "otherwise", "what no rule holds for"));
    out += table.text(style);
    if (const uint64_t left = whole(filter, "left_out"); left > 0)
      out += fmt::format("{} more rules, which have held for nothing or for less\n", count(left));
    for (const json& note : list(filter, "notes")) out += paragraph("! ", plain(note));
  }
  Table policers(
      {{"policer"}, {"green", Align::kRight}, {"yellow", Align::kRight}, {"red", Align::kRight}});
  const auto packets = [](const json& policer, const char* color) {
    return count(whole(at(policer, color), "packets"));
  };
  for (const json& policer : list(answer, "policers"))
    policers.row({text(policer, "name"), packets(policer, "green"), packets(policer, "yellow"),
                  packets(policer, "red")});
  if (!policers.empty()) out += (out.empty() ? "" : "\n") + policers.text(style);
  for (const json& policer : list(answer, "policers"))
    if (has(policer, "note"))
      out += paragraph("! ", fmt::format("{}: {}", text(policer, "name"), text(policer, "note")));
  out += exceeding(answer, style);
  Table sets({{"set"}, {"prefixes", Align::kRight}, {"file"}});
  for (const json& set : list(answer, "sets"))
    sets.row({text(set, "name"), count(whole(set, "prefixes")),
              has(set, "file") ? text(set, "file") : std::string()});
  if (!sets.empty()) out += "\n" + sets.text(style);
  const json& log = at(answer, "log");
  if (const uint64_t untold = whole(log, "untold_packets"); untold > 0)
    out += "\n" + paragraph("! ", fmt::format("log: {} packets are in none of its {} lines: more "
                                              "flows than are told one by one",
                                              count(untold), count(whole(log, "lines"))));
  return out;
}

}  // namespace hecto::cli
