// Text that fits a terminal: widths in characters, for the plain letters and arrows that occur
// here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hecto::config {

inline constexpr size_t kColumns = 100;

size_t width(std::string_view text);
std::string cut(const std::string& text, size_t columns);
std::string pad(const std::string& text, size_t columns);
// At blanks, lines behind the first indented by two; what stands behind the last colon, often a
// command to copy, stays whole if it fits.
std::string wrapped(const std::string& text);

}  // namespace hecto::config
