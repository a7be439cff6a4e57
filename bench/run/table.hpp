// The result as a table: one line a point, medians, with their spread in brackets.
#pragma once

#include <string>
#include <vector>

#include "bench/run/run.hpp"

namespace hecto::bench {

// Columns' names, then the rows.
std::vector<std::vector<std::string>> table_of(const Outcome& outcome);
std::string to_text(const Outcome& outcome);

}  // namespace hecto::bench
