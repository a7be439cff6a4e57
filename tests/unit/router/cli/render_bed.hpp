// What tests of tables share: samples of docs/api.md by their headings, and the width of a screen.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "router/cli/render.hpp"
#include "tests/unit/router/api/documented.hpp"

namespace hecto::cli {

using hecto::test::documented;

inline constexpr const char* kWalk = "A walk: `?prefix=&limit=&after=`";
inline constexpr const char* kAddress = "One address: `?address=`";

inline void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), kWidth) << line;
}

}  // namespace hecto::cli
