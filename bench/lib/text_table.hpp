// Figures as text.
#pragma once

#include <string>
#include <vector>

namespace hecto::bench {

// Four digits, more where the whole part has them: "0.1234", "12.35", "123456".
std::string four_digits(double value);

// Rows of cells as lines, columns two blanks apart; numbers stand right, the first `left` columns
// left.
std::string align_columns(const std::vector<std::vector<std::string>>& rows, size_t left = 0);

}  // namespace hecto::bench
