// What is legal in filters, sets and policers and does nothing, or not what it looks like. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/file/config.hpp"

namespace hecto::config {

inline constexpr size_t kMostFilterNotes = 20;  // of one filter and kind; more are counted

// Lines for the operator, in the file's order, without its name:
//   filters.edge: rule 7 (ssh) never holds: rule 2 holds for all that it asks for
std::vector<std::string> check_filters(const Config& config);

}  // namespace hecto::config
