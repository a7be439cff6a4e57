#include "router/cli/render_top.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "router/cli/fields.hpp"
#include "router/cli/top_panes.hpp"

namespace hecto::cli {
namespace {

using nlohmann::json;
using Lines = std::vector<std::string>;

constexpr TopPane kPanes[] = {TopPane::kPorts, TopPane::kWorkers, TopPane::kDrops, TopPane::kEgress,
                              TopPane::kPunt};
constexpr size_t kFewest = 2;  // rows that a pane is shown with: its headings and one more

const Lines kHelp = {
    "hecto top: what the router does, again and again",
    "",
    "0, 1 to 6   all; ports, workers, drops, egress, punt, flows",
    "Tab         the next of them",
    "up, down    rows of one of them (also k, j)",
    "p, b        sorted by packets, by bits",
    "space       pauses, and goes on",
    "+, -        longer, shorter interval",
    "h, ?        this; any key leaves it",
    "q           ends",
    "",
    "load: the wire's, of the fuller direction",
    "missed: lost before a worker saw them",
    "drops: the reasons that grow",
    "flows: of samples, which are taken while they are shown",
};

// The words, two spaces apart, in as many lines as they need.
Lines wrapped(const Lines& words, Style style) {
  Lines lines;
  for (const std::string& word : words) {
    const bool fits =
        !lines.empty() &&
        (style.whole || display_width(lines.back()) + 2 + display_width(word) <= style.width);
    if (fits)
      lines.back() += "  " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

Lines totals(const Growth& growth, Style style) {
  const json &rates = at(growth.now("summary"), "rates"), &now = at(growth.now("drops"), "totals");
  const json& earlier = at(growth.earlier("drops"), "totals");
  const auto pps = [&](const char* counter, const char* own_rate) {
    return growth.known() ? growth.rate(now, earlier, counter, nullptr) : number(rates, own_rate);
  };
  double in_bps = 0, out_bps = 0, missed = 0;
  for (const json& port : list(growth.now("ports"), "ports")) {
    const json& old = growth.earlier("ports", "ports", port, "name");
    in_bps += rates_of(growth, at(port, "rx"), at(old, "rx")).bps;
    out_bps += rates_of(growth, at(port, "tx"), at(old, "tx")).bps;
    missed += missed_pps(growth, port);
  }
  return wrapped(
      {"in " + packet_rate(pps("received", "rx_pps")) + " " + bit_rate(in_bps),
       "out " + packet_rate(pps("transmitted", "tx_pps")) + " " + bit_rate(out_bps),
       "punted " + packet_rate(pps("punted", "punt_pps")),
       "dropped " + packet_rate(pps("dropped", "drop_pps")), "missed " + packet_rate(missed)},
      style);
}

std::string headline(const json& summary, const TopView& view) {
  std::string line = view.paused ? "hecto top PAUSED" : "hecto top";
  if (!view.clock.empty()) line += "  " + view.clock;
  if (summary.is_object())
    line += fmt::format("  up {}  {} of {} ports up  {} {}", clock_time(whole(summary, "uptime_s")),
                        text(summary, "ports_up"), text(summary, "ports"), text(summary, "workers"),
                        whole(summary, "workers") == 1 ? "worker" : "workers");
  return line + fmt::format("  every {:g} s", view.interval_s);
}

Lines header(const TopSample& now, const Growth& growth, const TopView& view, Style style) {
  const json& summary = growth.now("summary");
  Lines lines = {painted(printable(headline(summary, view)),
                         view.paused ? Paint::kWarn : Paint::kPlain, style)};
  if (!view.trouble.empty()) {
    const std::string age =
        now.answers.is_object() ? fmt::format("OLD by {:.0f} s, ", view.age_s) : std::string();
    lines.push_back(
        painted(printable("! " + age + "trying again: " + view.trouble), Paint::kBad, style));
  }
  if (!now.answers.is_object()) return lines;
  for (std::string& line : totals(growth, style)) lines.push_back(std::move(line));
  const json& warnings = list(summary, "warnings");
  if (!warnings.empty()) {
    const std::string more =
        warnings.size() < 2 ? std::string() : fmt::format("({} warnings) ", warnings.size());
    lines.push_back(painted(printable("! " + more + plain(warnings.front())), Paint::kWarn, style));
  }
  return lines;
}

// The fewest to each as far as they go, then one more row to each in turn.
std::vector<size_t> shares(const std::vector<size_t>& wants, size_t rows) {
  std::vector<size_t> given(wants.size(), 0);
  for (size_t i = 0; i < wants.size(); ++i) {
    const size_t fewest = std::min(kFewest, wants[i]);
    if (fewest > rows) break;
    given[i] = fewest;
    rows -= fewest;
  }
  for (bool any = true; rows > 0 && any;) {
    any = false;
    for (size_t i = 0; i < wants.size() && rows > 0; ++i) {
      if (given[i] == 0 || given[i] == wants[i]) continue;
      ++given[i];
      --rows;
      any = true;
    }
  }
  return given;
}

Lines cut(Lines lines, size_t rows, Style style) {
  if (lines.size() <= rows) return lines;
  const size_t more = lines.size() - rows + 1;
  lines.resize(rows);
  if (rows > kFewest) lines.back() = painted(fmt::format("… {} more", more), Paint::kDim, style);
  return lines;
}

Lines all_panes(const Growth& growth, const TopView& view, size_t rows, Style style) {
  std::vector<Lines> panes;
  for (const TopPane pane : kPanes) panes.push_back(top_pane(pane, growth, view.by_bits, style));
  std::vector<size_t> wants;
  for (const Lines& pane : panes) wants.push_back(pane.size());
  const size_t all = std::accumulate(wants.begin(), wants.end(), wants.size());
  const bool blank = view.rows == 0 || all <= rows;  // a line between them, where there is room
  const auto given = view.rows == 0 ? wants : shares(wants, rows);
  Lines lines;
  for (size_t i = 0; i < panes.size(); ++i) {
    if (given[i] == 0) continue;
    if (blank) lines.emplace_back();
    for (std::string& line : cut(std::move(panes[i]), given[i], style))
      lines.push_back(std::move(line));
  }
  return lines;
}

// Headings stay, rows move.
Lines one_pane(const Growth& growth, const TopView& view, size_t rows, Style style) {
  Lines lines = top_pane(view.pane, growth, view.by_bits, style);
  const size_t first =
      std::min(view.first, view.rows > 0 && lines.size() > rows ? lines.size() - rows : 0);
  if (first > 0) lines.erase(lines.begin() + 1, lines.begin() + 1 + static_cast<ptrdiff_t>(first));
  if (view.rows == 0) return lines;
  return rows == 0 ? Lines() : cut(std::move(lines), rows, style);
}

}  // namespace

Lines render_top(const TopSample& now, const TopSample& before, const TopView& view, Style style) {
  const Growth growth(now, before);
  const bool screen = view.rows > 0, old = !view.trouble.empty();
  Style inner = style;
  inner.color = style.color && !old;  // what is old is dim as a whole
  Lines lines = view.help ? kHelp : header(now, growth, view, style);
  if (screen && !view.help)
    lines.resize(std::min(lines.size(), std::max<size_t>(1, view.rows / 2)));
  const size_t used = lines.size() + (screen ? 1 : 0);
  const size_t left = view.rows > used ? view.rows - used : 0;
  if (!view.help && now.answers.is_object() && (left > 0 || !screen)) {
    Lines body = view.pane == TopPane::kAll ? all_panes(growth, view, left, inner)
                                            : one_pane(growth, view, left, inner);
    for (std::string& line : body)
      lines.push_back(old ? painted(line, Paint::kDim, style) : std::move(line));
  }
  if (!screen) return lines;
  lines.resize(view.rows - 1);
  lines.push_back(painted("q quit  h help  space pause  0-6 panes  p/b sort  +/- interval",
                          Paint::kDim, style));
  for (std::string& line : lines) line = shortened_line(line, style.width);
  return lines;
}

}  // namespace hecto::cli
