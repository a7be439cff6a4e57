#include <fmt/format.h>

#include <algorithm>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

// "2.1 GiB, 312 s": what is left until the hard limits.
std::string left(const json& sa) {
  const json& lifetime = at(sa, "lifetime");
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : ", ") + word; };
  const auto rest = [&](const char* limit, uint64_t used) {
    const uint64_t most = whole(lifetime, limit);
    return most - std::min(most, used);
  };
  if (has(lifetime, "hard_bytes"))
    add(bytes(static_cast<double>(rest("hard_bytes", whole(sa, "bytes")))));
  if (has(lifetime, "hard_packets"))
    add(count(rest("hard_packets", whole(sa, "packets"))) + " packets");
  if (has(lifetime, "hard_add_s")) add(clock_time(rest("hard_add_s", whole(sa, "age_s"))));
  if (has(lifetime, "hard_use_s") && has(sa, "used_s"))
    add(clock_time(rest("hard_use_s", whole(sa, "used_s"))) + " of use");
  return words;
}

std::string window(const json& sa) {
  if (whole(sa, "replay_window") == 0) return {};
  return fmt::format("{} up to {}", count(whole(sa, "replay_window")),
                     count(whole(sa, "replay_top")));
}

std::string drops(const json& sa) {
  std::string words;
  const json& reasons = at(sa, "drops");
  if (!reasons.is_object()) return {};
  for (const auto& [reason, packets] : reasons.items())
    words += (words.empty() ? "" : ", ") + reason + " " +
             count(packets.is_number_unsigned() ? packets.get<uint64_t>() : 0);
  return words;
}

std::string flags(const json& sa) {
  std::string words = text(sa, "mode");
  if (has(sa, "encapsulation")) words += " udp";
  if (flag(sa, "esn")) words += " esn";
  if (has(sa, "path_mtu")) words += " mtu " + text(sa, "path_mtu");
  if (flag(sa, "persist")) words += " persist";
  return words;
}

// Ports whose NICs have it, and its packets that went by one.
std::string nic(const json& sa) {
  if (!has(sa, "nic")) return {};
  const json& of = at(sa, "nic");
  return joined(list(of, "ports"), " ") + ": " + count(whole(of, "packets"));
}

std::string selector(const json& policy) {
  std::string words = text(policy, "source") + " -> " + text(policy, "destination");
  if (has(policy, "protocol")) words += " " + text(policy, "protocol");
  if (has(policy, "source_port") || has(policy, "destination_port"))
    words +=
        fmt::format(" {}:{}", has(policy, "source_port") ? text(policy, "source_port") : "any",
                    has(policy, "destination_port") ? text(policy, "destination_port") : "any");
  return words;
}

std::string sas_text(const json& answer, Style style) {
  Table table({{"spi"},
               {"from -> to", Align::kLeft, true},
               {"algorithm", Align::kLeft, true},
               {"packets", Align::kRight},
               {"bytes", Align::kRight},
               {"rate", Align::kRight},
               {"state"}});
  for (const json& sa : list(answer, "sas")) {
    const std::string state = text(sa, "state");
    table.row({text(sa, "spi"), text(sa, "source") + " -> " + text(sa, "destination"),
               text(sa, "algorithm"), count(whole(sa, "packets")), bytes(number(sa, "bytes")),
               bit_rate(number(sa, "bps")),
               state == "active"    ? Cell()
               : state == "expired" ? Cell(state, Paint::kBad)
                                    : Cell(state, Paint::kWarn)});
  }
  return table.text(style);
}

std::string details_text(const json& answer, Style style) {
  Table table({{"spi"},
               {"mode"},
               {"reqid", Align::kRight},
               {"left", Align::kLeft, true},
               {"replay window", Align::kLeft, true},
               {"nic", Align::kLeft, true},
               {"drops", Align::kLeft, true}});
  for (const json& sa : list(answer, "sas")) {
    table.row({text(sa, "spi"), flags(sa), text(sa, "reqid"), left(sa), window(sa), nic(sa),
               Cell(drops(sa), Paint::kWarn)});
  }
  return table.text(style);
}

std::string nics_text(const json& answer) {
  std::string words;
  for (const json& nic : list(answer, "nics"))
    words += fmt::format(
        "nic of {}: {} sessions{}\n", text(nic, "port"), count(whole(nic, "sessions")),
        whole(nic, "refused") == 0 ? ""
                                   : fmt::format(", {} refused", count(whole(nic, "refused"))));
  return words;
}

std::string policies_text(const json& answer, Style style) {
  Table table({{"direction"},
               {"priority", Align::kRight},
               {"selector", Align::kLeft, true},
               {"action"},
               {"sa"},
               {"packets", Align::kRight}});
  for (const json& policy : list(answer, "policies")) {
    const bool waits = text(policy, "action") == "protect" && text(policy, "direction") == "out" &&
                       !has(policy, "sa");
    table.row({text(policy, "direction"), text(policy, "priority"), selector(policy),
               text(policy, "action") + (flag(policy, "persist") ? " (persist)" : ""),
               waits ? Cell("none", Paint::kBad)
                     : Cell(has(policy, "sa") ? text(at(policy, "sa"), "spi") : std::string()),
               count(whole(policy, "packets"))});
  }
  return table.text(style);
}

}  // namespace

std::string render_ipsec(const json& answer, Style style) {
  std::string shown = fmt::format("crypto: {}\n", text(answer, "crypto")) + nics_text(answer);
  if (list(answer, "sas").empty() && list(answer, "policies").empty())
    return shown + "no SA and no policy\n";
  for (const std::string& part :
       {sas_text(answer, style), details_text(answer, style), policies_text(answer, style)})
    if (!part.empty()) shown += "\n" + part;
  const auto warn = [&](const char* key, const char* words) {
    if (whole(answer, key) != 0)
      shown += fmt::format("! {} {}\n", count(whole(answer, key)), words);
  };
  warn("policies_without_sa", "policies have no SA: their packets are dropped");
  warn("sas_refused", "SAs of Linux are left out");
  warn("policies_refused", "policies of Linux are left out");
  warn("contradictions", "policies contradict others of the same priority");
  return shown;
}

}  // namespace hecto::cli
