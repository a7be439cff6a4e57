// A point of a measurement in a process of its own: DPDK starts once in a process, and one point
// that dies takes no other along.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::bench {

// Runs this very program with these words and --json; what it wrote there. An error holds the
// last line that it said.
Result<nlohmann::json> run_self(std::vector<std::string> words, double limit_seconds);

// The hectod beside this program, where an installation and a build folder have it, or in PATH.
Result<std::string> find_hectod();

}  // namespace hecto::bench
