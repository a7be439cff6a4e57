#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

// As `hecto flow add` takes them.
std::string words_of_part(const json& part) {
  std::string out;
  if (!part.is_object()) return out;
  for (const auto& [key, value] : part.items()) {
    const std::string word = value == true ? "" : " " + plain(value);
    out += (out.empty() ? "" : " ") + key + word;
  }
  return out;
}

Table masks_table(const json& answer) {
  Table table({{"family"}, {"fields"}, {"entries", Align::kRight}, {"priority", Align::kRight}});
  for (const json& mask : list(answer, "masks"))
    table.row({text(mask, "family"), text(mask, "fields"), count(whole(mask, "entries")),
               text(mask, "highest_priority")});
  return table;
}

std::string top_lines(const json& answer) {
  std::string out;
  for (const json& flow : list(answer, "top"))
    out += paragraph(fmt::format("{:>14}  ", count(whole(flow, "packets"))),
                     fmt::format("{} priority {}: {}", words_of_part(at(flow, "match")),
                                 text(flow, "priority"), words_of_part(at(flow, "actions"))));
  return out;
}

}  // namespace

std::string render_flows(const json& answer, Style style) {
  if (!flag(answer, "on")) return "the flow table is off: the file's `flows` names no interface\n";
  std::string interfaces;
  for (const json& name : list(answer, "interfaces"))
    interfaces += (interfaces.empty() ? "" : " ") + plain(name);
  const json& entries = at(answer, "entries");
  const uint64_t ipv4 = whole(entries, "ipv4"), ipv6 = whole(entries, "ipv6");
  std::string out = fmt::format(
      "on {}; {} of {} entries (IPv4 {}, IPv6 {}), {:.1f} MB; without one: {}\n"
      "{} packets by an entry, {} without; {} entries gone by their time\n",
      interfaces, count(ipv4 + ipv6), count(whole(answer, "room")), count(ipv4), count(ipv6),
      static_cast<double>(whole(answer, "memory_bytes")) / 1e6, text(answer, "miss"),
      count(whole(answer, "hits")), count(whole(answer, "misses")),
      count(whole(answer, "expired")));
  if (!list(answer, "masks").empty()) out += "\n" + masks_table(answer).text(style);
  if (!list(answer, "top").empty()) out += "\n       packets  by the busiest\n" + top_lines(answer);
  return out;
}

}  // namespace hecto::cli
