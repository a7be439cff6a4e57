#include "bench/run/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "bench/run/table.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kStyle =
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.2em .7em;"
    "text-align:right}th{background:#f3f3f3}table.facts td{text-align:left}"
    "svg{max-width:100%;height:auto}pre{background:#f6f6f6;padding:1em;overflow-x:auto}"
    ".note{background:#fff3d6;padding:.5em 1em;margin:.4em 0}";

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

size_t place(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

std::string row_html(const std::vector<std::string>& cells, const char* tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells)
    html += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
  return html + "</tr>\n";
}

std::string facts_html(const Outcome& outcome) {
  std::string html = "<table class=\"facts\">\n";
  for (const auto& [key, value] : outcome.machine.items())
    html += row_html({key, value.is_string() ? value.get<std::string>() : value.dump()}, "td");
  html += row_html({"started", outcome.started}, "td");
  html += row_html({"took", fmt::format("{:.0f} s", outcome.seconds)}, "td");
  html += row_html({"repetitions", fmt::format("{}, in turn", outcome.repeat)}, "td");
  html += row_html({"noise", fmt::format("{:.1f}%", outcome.noise() * 100)}, "td");
  return html + "</table>\n";
}

std::string failures_html(const Outcome& outcome) {
  std::string html;
  for (const Point& point : outcome.points)
    for (const Attempt& attempt : point.attempts)
      if (!attempt.error.empty())
        html += fmt::format("<p>{}: {}</p>\n<pre>{}</pre>\n",
                            escape_html(label_of(outcome.experiment, point.values)),
                            escape_html(attempt.error),
                            escape_html(fmt::format("{}", fmt::join(attempt.lines, "\n"))));
  return html.empty() ? html : "<h2>What failed</h2>\n" + html;
}

std::string commands_html(const Outcome& outcome) {
  std::string lines = fmt::format("hecto-bench run {}{}\n\n", outcome.experiment.file,
                                  outcome.quick ? " --quick" : "");
  for (const Point& point : outcome.points)
    lines += fmt::format("hecto-bench {}\n", fmt::join(point.words, " "));
  return "<pre>" + escape_html(lines) + "</pre>\n";
}

}  // namespace

Plot plot_of(const Outcome& outcome) {
  const Experiment& experiment = outcome.experiment;
  const bool first_is_x = experiment.vary[0].option == experiment.x;
  const Varied& x = experiment.vary[first_is_x ? 0 : 1];
  Plot plot{
      experiment.title, x.option, experiment.unit, experiment.log_x, experiment.log_y, {}, {}};
  if (!std::all_of(x.values.begin(), x.values.end(),
                   [](const std::string& value) { return number_of(value).has_value(); }))
    plot.categories = x.values;
  const bool several = std::count_if(experiment.figures.begin(), experiment.figures.end(),
                                     [](const Figure& figure) { return figure.drawn; }) > 1;
  for (const Point& point : outcome.points)
    for (size_t i = 0; i < point.figures.size(); ++i) {
      const auto& summary = point.figures[i];
      if (!summary || !experiment.figures[i].drawn) continue;
      std::string name = several ? experiment.figures[i].name : "";
      if (!experiment.series.empty())
        name = fmt::format("{} {}{}{}", experiment.series, point.values[first_is_x ? 1 : 0],
                           name.empty() ? "" : ", ", name);
      if (name.empty()) name = experiment.figures[i].name;
      auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                               [&](const PlotLine& other) { return other.name == name; });
      if (line == plot.lines.end()) line = plot.lines.insert(line, {name, {}});
      const std::string& value = point.values[first_is_x ? 0 : 1];
      line->points.push_back({plot.categories.empty()
                                  ? *number_of(value)
                                  : static_cast<double>(place(plot.categories, value)),
                              summary->median, summary->least, summary->most});
    }
  return plot;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string to_html(const Outcome& outcome, const std::string& svg, const std::string& no_picture) {
  const Experiment& experiment = outcome.experiment;
  const std::string title = escape_html(experiment.title);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
      title, kStyle, escape_html(experiment.question));
  for (const std::string& note : notes(outcome))
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(note));
  // The file's own head does not belong into a page.
  const size_t begin = svg.find("<svg");
  if (begin != std::string::npos) html += svg.substr(begin);
  if (!no_picture.empty())
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(no_picture));
  html +=
      "<h2>Figures</h2>\n<p>Medians; in brackets the spread: (largest - smallest) / median.</p>\n"
      "<table>\n";
  const auto rows = table_of(outcome);
  for (size_t i = 0; i < rows.size(); ++i) html += row_html(rows[i], i == 0 ? "th" : "td");
  html += "</table>\n" + failures_html(outcome);
  html += "<h2>Measured on</h2>\n" + facts_html(outcome);
  html += "<h2>Again</h2>\n" + commands_html(outcome);
  return html + "</body>\n</html>\n";
}

std::string write_report(const Outcome& outcome, const fs::path& folder) {
  const auto drawn = draw(plot_of(outcome), folder, "plot");
  const std::string no_picture = drawn ? "" : drawn.error().message;
  std::string svg;
  if (drawn) {
    std::ifstream stream(folder / "plot.svg");
    svg.assign(std::istreambuf_iterator<char>(stream), {});
  }
  std::ofstream(folder / "report.html") << to_html(outcome, svg, no_picture);
  return no_picture;
}

}  // namespace hecto::bench
