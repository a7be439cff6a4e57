#include "router/cli/table.hpp"

#include <algorithm>
#include <utility>

namespace hecto::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr size_t kNarrowest = 8;  // that a column shrinks to

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

const char* code(Paint paint) {
  switch (paint) {
    case Paint::kBad:
      return "\033[31m";
    case Paint::kWarn:
      return "\033[33m";
    case Paint::kGood:
      return "\033[32m";
    case Paint::kDim:
      return "\033[2m";
    case Paint::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string painted(std::string_view text, Paint paint, Style style) {
  if (!style.color || paint == Paint::kPlain || text.empty()) return std::string(text);
  return code(paint) + std::string(text) + "\033[0m";
}

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // C1 controls (U+0080 to U+009F) steer terminals as C0 ones do.
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      clean += '?';
      ++i;
    } else {
      clean += c < 0x20 || c == 0x7f ? '?' : text[i];
    }
  }
  return clean;
}

std::string shortened(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  size_t end = 0;
  for (size_t columns = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && ++columns == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string shortened_line(std::string_view line, size_t width) {
  std::string out, plain;
  bool cut = false;
  for (size_t at = 0; at < line.size();) {
    const size_t escape = std::min(line.find('\033', at), line.size());
    const std::string_view text = line.substr(at, escape - at);
    const size_t room = width - display_width(plain);
    if (!cut) out += room == 0 && !text.empty() ? std::string() : shortened(text, room);
    cut = cut || display_width(text) > room;
    plain += cut ? std::string_view() : text;
    const size_t end = std::min(line.find('m', escape), line.size() - 1) + 1;
    if (escape < line.size()) out += line.substr(escape, end - escape);
    at = escape < line.size() ? end : escape;
  }
  return out;
}

std::string paragraph(const std::string& head, std::string_view text) {
  const std::string clean = printable(text);
  const std::string indent(display_width(head), ' ');
  std::string out, line = head;
  bool has_word = false;
  for (size_t at = 0; at < clean.size();) {
    const size_t end = std::min(clean.find(' ', at), clean.size());
    const std::string word = clean.substr(at, end - at);
    at = end + 1;
    if (has_word && display_width(line) + 1 + display_width(word) > kWidth) {
      out += line + "\n";
      line = indent;
      has_word = false;
    }
    if (has_word) line += ' ';
    line += word;
    has_word = true;
  }
  return out + line + "\n";
}

void Table::row(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  for (Cell& cell : cells) cell.text = printable(cell.text);
  rows_.push_back(std::move(cells));
}

// 0 for a column that is left out.
std::vector<size_t> Table::natural_widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i].text));
    if (widths[i] > 0)
      widths[i] = std::max({widths[i], display_width(columns_[i].title), columns_[i].least});
  }
  return widths;
}

// False: it is still wider than `most`.
bool Table::shrink(std::vector<size_t>& widths, size_t most) const {
  size_t total = 0;
  for (const size_t width : widths)
    if (width > 0) total += width + (total == 0 ? 0 : kGap.size());
  for (; total > most; --total) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].may_shrink || widths[i] <= std::max(kNarrowest, columns_[i].least)) continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns_.size()) return false;
    --widths[widest];
  }
  return true;
}

std::vector<size_t> Table::widths(Style style) const {
  for (std::vector<size_t> natural = natural_widths();;) {
    std::vector<size_t> widths = natural;
    if (style.whole || shrink(widths, style.width)) return widths;
    size_t leaving = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (natural[i] == 0 || columns_[i].leaves == 0) continue;
      if (leaving == columns_.size() || columns_[i].leaves < columns_[leaving].leaves) leaving = i;
    }
    if (leaving == columns_.size()) return widths;
    natural[leaving] = 0;
  }
}

std::string Table::text(Style style) const {
  if (rows_.empty()) return {};
  const std::vector<size_t> width = widths(style);
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    bool first = true;
    size_t blank = 0;  // held back, so that no line ends in spaces
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (width[i] == 0) continue;
      if (!std::exchange(first, false)) blank += kGap.size();
      const Cell cell = cell_of(i);
      const std::string shown = shortened(cell.text, width[i]);
      const size_t pad = width[i] - display_width(shown);
      if (columns_[i].align == Align::kRight) blank += pad;
      if (!shown.empty()) {
        text += std::string(std::exchange(blank, 0), ' ') + painted(shown, cell.paint, style);
      }
      if (columns_[i].align == Align::kLeft) blank += pad;
    }
    out += text + "\n";
  };
  line([&](size_t i) { return Cell(columns_[i].title, Paint::kDim); });
  for (const auto& row : rows_) {
    line([&](size_t i) { return row[i]; });
  }
  return out;
}

}  // namespace hecto::cli
