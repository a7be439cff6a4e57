#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {
namespace {

std::string one_line(std::string value) {
  for (char& c : value) {
    if (c == '\n') c = ' ';
  }
  return value;
}

std::string with_newline(std::string value) {
  if (!value.empty() && value.back() != '\n') value += '\n';
  return value;
}

}  // namespace

std::string render_summary(const json& answer, Style style) {
  std::string out;
  const auto line = [&](const char* head, const std::string& words) {
    out += paragraph(fmt::format("{:<10}", head), words);
  };
  const json& rates = at(answer, "rates");
  line("router", fmt::format("hectod {}, {}, up {}, pid {}", text(answer, "version"),
                             text(answer, "dpdk_version"), clock_time(whole(answer, "uptime_s")),
                             text(answer, "pid")));
  line("config", text(answer, "config_file"));
  if (has(answer, "namespace")) {
    const json& mirror = at(answer, "mirror");
    line("linux",
         fmt::format("namespace {}, mirror {}, resyncs {}, the last: {}", text(answer, "namespace"),
                     text(mirror, "state"), text(mirror, "resyncs"), text(mirror, "last_resync")));
  } else {
    line("linux", "none: static routes and neighbors only");
  }
  line("workers", fmt::format("{} on sockets {}, control on core {}", text(answer, "workers"),
                              joined(list(answer, "sockets"), " "), text(answer, "control_cpu")));
  line("ports", fmt::format("{} of {} up", text(answer, "ports_up"), text(answer, "ports")));
  for (const json& table : list(answer, "tables")) {
    line(text(table, "family").c_str(),
         fmt::format("{} prefixes, {}, {} on each of {} sockets, {}, generation {}",
                     count(whole(table, "prefixes")), text(table, "engine"),
                     bytes(number(table, "bytes")), text(table, "replicas"), text(table, "isa"),
                     text(table, "generation")));
  }
  line("next hops", fmt::format("{} of {} groups", count(whole(answer, "groups_used")),
                                count(whole(answer, "groups_max"))));
  line("in", packet_rate(number(rates, "rx_pps")) + ", " + bit_rate(number(rates, "rx_bps")));
  line("out", packet_rate(number(rates, "tx_pps")) + ", " + bit_rate(number(rates, "tx_bps")) +
                  ", punted " + packet_rate(number(rates, "punt_pps")) + ", dropped " +
                  packet_rate(number(rates, "drop_pps")));
  for (const json& warning : list(answer, "warnings")) {
    out += painted(paragraph("! ", plain(warning)), Paint::kWarn, style);
  }
  return out;
}

// What is printed can be written into a file and loaded.
std::string render_config(const json& answer, Style) {
  std::string out;
  for (const json& key : list(answer, "effective")) {
    if (text(key, "origin") != "auto") continue;
    out += "# auto: " + one_line(text(key, "key")) + ": " + one_line(text(key, "value")) + "\n";
  }
  return out + with_newline(has(answer, "yaml") ? text(answer, "yaml") : std::string());
}

std::string render_plan(const json& answer, Style style) {
  const std::string whole_text = with_newline(has(answer, "text") ? text(answer, "text") : "");
  std::string out;
  for (size_t at = 0; at < whole_text.size();) {
    const size_t end = whole_text.find('\n', at);
    const std::string line = printable(whole_text.substr(at, end - at));
    out += painted(line, line.rfind('!', 0) == 0 ? Paint::kWarn : Paint::kPlain, style) + "\n";
    at = end + 1;
  }
  return out;
}

std::string render_trace(const json& trace, Style style) {
  std::string out = paragraph("#" + text(trace, "number") + " ", text(trace, "packet"));
  Table steps({{"stage"}, {"", Align::kLeft, true}, {"cycles", Align::kRight}});
  for (const json& step : list(trace, "steps")) {
    steps.row({"   " + text(step, "stage"), text(step, "text"),
               has(step, "cycles") ? shown(step, "cycles", [](double c) { return decimal(c, 0); })
                                   : std::string()});
  }
  // Without the title line: a trace is read top down, and cycles are named in the verdict's line.
  const std::string table = steps.text({false, style.whole});
  out += table.substr(std::min(table.size(), table.find('\n') + 1));
  const std::string outcome = text(trace, "outcome");
  std::string verdict = text(trace, "verdict");
  if (has(trace, "reason")) verdict += " (" + text(trace, "reason") + ")";
  const Paint paint = outcome == "transmit" ? Paint::kGood
                      : outcome == "drop"   ? Paint::kBad
                                            : Paint::kWarn;
  return out + painted(paragraph("   = ", verdict), paint, style);
}

}  // namespace hecto::cli
