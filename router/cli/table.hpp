// Tables and paragraphs for a terminal, at most 100 columns wide unless a style says otherwise.
// Pure: text in, text out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace hecto::cli {

inline constexpr size_t kWidth = 100;

enum class Paint : uint8_t { kPlain, kBad, kWarn, kGood, kDim };
enum class Align : uint8_t { kLeft, kRight };

struct Style {
  bool color = false;
  bool whole = false;     // nothing is cut: somebody else reads it, not a terminal
  size_t width = kWidth;  // of tables
};

std::string painted(std::string_view text, Paint paint, Style style);
// Control characters become '?': nothing that the router tells may steer the terminal.
std::string printable(std::string_view text);
// Cut to `width` columns, with an ellipsis.
std::string shortened(std::string_view text, size_t width);
// The same of a line with colours in it, which take no column.
std::string shortened_line(std::string_view line, size_t width);
// Broken at spaces; lines behind the first are indented by the width of `head`.
std::string paragraph(const std::string& head, std::string_view text);

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool may_shrink = false;  // cut when the table would be too wide
  uint8_t leaves = 0;       // left out when that was not enough, 1 first; 0: never
  size_t least = 0;         // as wide at least, so that columns stand still in a live view
};

struct Cell {
  std::string text;
  Paint paint = Paint::kPlain;
  Cell() = default;
  Cell(std::string text, Paint paint = Paint::kPlain) : text(std::move(text)), paint(paint) {}
  Cell(const char* text) : text(text) {}
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells at the end are empty.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  // Columns that are empty in every row are left out; so is the whole table without rows.
  std::string text(Style style = {}) const;

 private:
  std::vector<size_t> natural_widths() const;
  bool shrink(std::vector<size_t>& widths, size_t most) const;
  std::vector<size_t> widths(Style style) const;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace hecto::cli
