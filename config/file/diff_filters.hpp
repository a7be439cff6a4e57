// The difference of filters, sets and policers in words.
#pragma once

#include <string>
#include <vector>

#include "config/file/filters.hpp"

namespace hecto::config {

inline constexpr size_t kMostRuleLines = 20;  // of one filter; more are counted

// Lines are appended, at least one where the two differ.
void diff_filters(const FiltersConfig& running, const FiltersConfig& wanted,
                  std::vector<std::string>& lines);

}  // namespace hecto::config
