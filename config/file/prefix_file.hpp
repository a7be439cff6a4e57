// Files of prefixes, one a line, both families: what `sets` may name. Comments stand behind # or ;.
// A file whose last line has no end is refused: cut there, a prefix may still be one, and a wider one.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "lookup/prefix.hpp"

namespace hecto::config {

inline constexpr size_t kMostPrefixFileBytes = 64u << 20;

// Sorted, each once. The error begins with the line: "17: 10.0.0/8 is not a prefix; ...".
tl::expected<std::vector<lookup::IpPrefix>, std::string> parse_prefix_lines(std::string_view text,
                                                                            size_t most);

// The same of a regular file; the error begins with its path.
tl::expected<std::vector<lookup::IpPrefix>, std::string> read_prefix_file(const std::string& path,
                                                                          size_t most);

}  // namespace hecto::config
