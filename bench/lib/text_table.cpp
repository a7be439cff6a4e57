#include "bench/lib/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hecto::bench {
namespace {

// Characters, not bytes: what is no beginning of one in UTF-8 has no width.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string four_digits(double value) {
  const int whole = value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - whole, 0, 4));
}

std::string align_columns(const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - width(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i < left ? row[i] + blanks : blanks + row[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace hecto::bench
