#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/lookup/report.hpp"

namespace hecto::bench {
namespace {

constexpr int kPanelWidth = 460, kPanelHeight = 300;
constexpr int kLeft = 52, kTop = 64, kGap = 60, kBottom = 96;
constexpr const char* kColors[] = {"#0b6e4f", "#8ab0d0", "#3f6f9f", "#d9a441"};

// 1, 2 or 5 times a power of ten, so that about five lines go up to `most`.
double grid_step(double most) {
  const double rough = most / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

template <typename Get>
std::vector<std::string> distinct(const std::vector<const LookupRow*>& rows, Get get) {
  std::vector<std::string> values;
  for (const LookupRow* row : rows)
    if (std::find(values.begin(), values.end(), get(*row)) == values.end())
      values.push_back(get(*row));
  return values;
}

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     words);
}

std::string grid(int left, double most) {
  std::string svg;
  const double step = grid_step(most);
  for (double value = 0; value <= most; value += step) {
    const double y = kTop + kPanelHeight * (1 - value / most);
    svg += fmt::format("<path d=\"M{} {:.1f}h{}\" stroke=\"#ccc\"/>\n", left, y, kPanelWidth);
    svg += text(left - 6, y + 4, "end", fmt::format("{:g}", value));
  }
  return svg;
}

std::string panel(const std::vector<const LookupRow*>& rows, int left) {
  const auto kinds = distinct(rows, [](const LookupRow& row) { return row.destinations; });
  const auto engines = distinct(rows, [](const LookupRow& row) { return row.engine; });
  double most = 1;
  for (const LookupRow* row : rows) most = std::max(most, row->cycles * 1.1);
  std::string svg = grid(left, most);
  const double group = static_cast<double>(kPanelWidth) / static_cast<double>(kinds.size());
  const double bar = group / (static_cast<double>(engines.size()) + 1);
  const auto place = [](const auto& names, const std::string& name) {
    return static_cast<double>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const LookupRow* row : rows) {
    const double engine = place(engines, row->engine);
    const double x = left + place(kinds, row->destinations) * group + (engine + 0.5) * bar;
    const double height = kPanelHeight * row->cycles / most;
    const double y = kTop + kPanelHeight - height;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
        bar * 0.9, height, kColors[static_cast<size_t>(engine) % std::size(kColors)]);
    svg += text(x + bar * 0.45, y - 4, "middle", fmt::format("{:.1f}", row->cycles));
  }
  for (size_t i = 0; i < kinds.size(); ++i)
    svg += text(left + (static_cast<double>(i) + 0.5) * group, kTop + kPanelHeight + 18, "middle",
                kinds[i]);
  double x = left;
  for (size_t i = 0; i < engines.size(); ++i, x += kPanelWidth / 4.0) {
    const int y = kTop + kPanelHeight + 40;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x,
                       y, kColors[i % std::size(kColors)]);
    svg += text(x + 14, y + 10, "start", engines[i]);
  }
  return svg + text(left, kTop - 16, "start", fmt::format("IPv{}", rows[0]->family));
}

std::string escaped(std::string_view words) {
  std::string safe;
  for (const char c : words)
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

}  // namespace

std::string to_svg(const LookupResult& result) {
  std::string panels;
  int left = kLeft;
  for (const unsigned family : {4u, 6u}) {
    std::vector<const LookupRow*> rows;
    for (const LookupRow& row : result.rows)
      if (row.family == family && row.state == "warm") rows.push_back(&row);
    if (rows.empty()) continue;
    panels += panel(rows, left);
    left += kPanelWidth + kGap;
  }
  const int width = left - kGap + 20, height = kTop + kPanelHeight + kBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, height);
  svg += text(kLeft, 22, "start",
              fmt::format("TSC cycles per look-up, warm; batches of {}, {} passes in turn",
                          result.batch, result.rounds));
  svg += panels;
  svg += text(kLeft, height - 24, "start",
              escaped(fmt::format("{}, TSC {:.2f} GHz; {}", result.machine,
                                  static_cast<double>(result.tsc_hz) / 1e9, result.memory)));
  svg +=
      text(kLeft, height - 8, "start",
           escaped(fmt::format("{} IPv4 and {} IPv6 routes ({}), {} next hops; {}", result.routes4,
                               result.routes6, result.table, result.next_hops, result.dpdk)));
  return svg + "</svg>\n";
}

}  // namespace hecto::bench
