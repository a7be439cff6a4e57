#include "config/placement/columns.hpp"

#include <algorithm>

namespace hecto::config {

size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut(const std::string& text, size_t columns) {
  if (width(text) <= columns) return text;
  size_t bytes = 0, seen = 0;
  while (bytes < text.size() && (seen < columns - 3 || (text[bytes] & 0xc0) == 0x80))
    seen += (text[bytes++] & 0xc0) != 0x80;
  return text.substr(0, bytes) + "...";
}

std::string pad(const std::string& text, size_t columns) {
  return text + std::string(columns - std::min(columns, width(text)), ' ');
}

std::string wrapped(const std::string& text) {
  constexpr size_t kRoom = kColumns - 2;
  std::string rest = text, out;
  while (width(rest) > kRoom) {
    size_t colon = rest.rfind(": ");
    size_t at = rest.rfind(' ', kRoom);
    if (colon != std::string::npos && colon < kRoom && width(rest.substr(colon + 2)) <= kRoom)
      at = colon + 1;
    if (at == std::string::npos || at == 0) break;
    out += rest.substr(0, at) + "\n  ";
    rest = rest.substr(at + 1);
  }
  return out + rest;
}

}  // namespace hecto::config
