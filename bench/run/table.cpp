#include "bench/run/table.hpp"

#include <fmt/format.h>

#include "bench/lib/text_table.hpp"

namespace hecto::bench {
namespace {

std::string cell(const std::optional<Summary>& summary) {
  if (!summary) return "-";
  if (summary->count == 1) return four_digits(summary->median);
  return fmt::format("{} ({:.0f}%)", four_digits(summary->median), summary->spread * 100);
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
  return align_columns(table_of(outcome));
}

}  // namespace hecto::bench
