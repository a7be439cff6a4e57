#include <fmt/format.h>

#include <algorithm>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

Cell state_cell(const json& member) {
  const std::string state = text(member, "state");
  const bool good = state == "active" || state == "standby";
  return {state, good ? Paint::kPlain : Paint::kBad};
}

std::string seen(const json& partner, const char* key) {
  return partner.is_object() ? text(partner, key) : "";
}

// Where a member stands in LACP: what it does, and what the other end does.
std::string bits(const json& party) {
  if (!party.is_object()) return "";
  std::string out;
  if (flag(party, "synchronization")) out += "sync";
  if (flag(party, "collecting")) out += out.empty() ? "coll" : " coll";
  if (flag(party, "distributing")) out += out.empty() ? "dist" : " dist";
  return out.empty() ? "-" : out;
}

std::string head(const json& bond, Style style) {
  std::string words = text(bond, "mode");
  for (const char* key : {"hash", "lacp_rate"})
    if (has(bond, key))
      words += std::string(", ") + (key[0] == 'l' ? "LACPDUs " : "") + text(bond, key);
  const bool up = flag(bond, "up");
  return fmt::format("{}: {}, {}, {} of {} active (min_links {}), {}\n", text(bond, "name"), words,
                     painted(up ? "up" : "down", up ? Paint::kGood : Paint::kBad, style),
                     whole(bond, "active"), list(bond, "members").size(), whole(bond, "min_links"),
                     text(bond, "mac"));
}

// Of the last minute; nothing where no TCP was seen.
std::string order(const json& bond) {
  const json& reorder = at(bond, "reorder");
  if (whole(reorder, "segments") == 0) return "";
  return fmt::format("TCP in, a sample: {} of {} segments out of order in the last minute ({} %)\n",
                     count(whole(reorder, "reordered")), count(whole(reorder, "segments")),
                     text(reorder, "percent"));
}

std::string troubles(const json& bond) {
  std::string out;
  for (const json& sentence : list(bond, "trouble")) out += paragraph("! ", plain(sentence));
  for (const json& member : list(bond, "members"))
    for (const json& sentence : list(member, "trouble"))
      out += paragraph("! " + text(member, "device") + ": ", plain(sentence));
  return out;
}

Table members_table(const json& bond) {
  Table table({{"member"},
               {"state"},
               {"speed", Align::kRight},
               {"partner"},
               {"key", Align::kRight},
               {"port", Align::kRight},
               {"we", Align::kLeft, false, 2},
               {"it", Align::kLeft, false, 1},
               {"rx", Align::kRight},
               {"tx", Align::kRight},
               {"lost", Align::kRight},
               {"changes", Align::kRight}});
  for (const json& member : list(bond, "members")) {
    const json& lacp = at(member, "lacp");
    const json& partner = at(lacp, "partner");
    const uint64_t lost = whole(member, "lost"), changes = whole(member, "changes");
    table.row({text(member, "device"), state_cell(member),
               has(member, "speed_mbps") ? link_speed(number(member, "speed_mbps")) : "",
               seen(partner, "system"), seen(partner, "key"), seen(partner, "port"),
               bits(at(lacp, "actor")), bits(partner), count(whole(at(member, "rx"), "packets")),
               count(whole(at(member, "tx"), "packets")),
               Cell(lost > 0 ? count(lost) : "", lost > 0 ? Paint::kWarn : Paint::kPlain),
               Cell(changes > 0 ? count(changes) : "", Paint::kPlain)});
  }
  return table;
}

}  // namespace

std::string render_bonds(const json& answer, Style style) {
  std::vector<json> bonds = list(answer, "bonds");
  if (bonds.empty()) return "no port is a bond\n";
  std::stable_sort(bonds.begin(), bonds.end(),
                   [](const json& a, const json& b) { return !flag(a, "up") && flag(b, "up"); });
  std::string out;
  for (const json& bond : bonds)
    out += (out.empty() ? "" : "\n") + head(bond, style) + members_table(bond).text(style) +
           order(bond) + troubles(bond);
  return out;
}

}  // namespace hecto::cli
