// The result as a table: one line a point, medians, with their spread in brackets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/experiments/run.hpp"

namespace hecto::bench {
namespace {

// Four digits, more where the whole part has them.
std::string number(double value) {
  const int whole = value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - whole, 0, 4));
}

std::string cell(const std::optional<Summary>& summary) {
  if (!summary) return "-";
  if (summary->count == 1) return number(summary->median);
  return fmt::format("{} ({:.0f}%)", number(summary->median), summary->spread * 100);
}

// Characters, not bytes: what is no beginning of one in UTF-8 has no width.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::vector<std::vector<std::string>> table_of(const Outcome& outcome) {
  const Experiment& experiment = outcome.experiment;
  std::vector<std::vector<std::string>> rows(1);
  for (const Varied& varied : experiment.vary) rows[0].push_back(varied.option);
  for (const Figure& figure : experiment.figures)
    rows[0].push_back(experiment.unit.empty() || !figure.drawn
                          ? figure.name
                          : figure.name + " (" + experiment.unit + ")");
  for (const Point& point : outcome.points) {
    rows.push_back(point.values);
    for (size_t i = 0; i < experiment.figures.size(); ++i)
      rows.back().push_back(cell(i < point.figures.size() ? point.figures[i] : std::nullopt));
  }
  return rows;
}

std::string to_text(const Outcome& outcome) {
  const auto rows = table_of(outcome);
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += std::string(widths[i] - width(row[i]) + (i == 0 ? 0 : 2), ' ') + row[i];
    text += '\n';
  }
  return text;
}

}  // namespace hecto::bench
