// A TrafficSpec from its YAML file, checked. docs/measuring.md has the keys.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "bench/traffic/spec.hpp"

namespace hecto::bench {

tl::expected<TrafficSpec, SpecProblems> parse_traffic(std::string_view yaml,
                                                      const std::string& file);
// Also takes a capture: one stream that replays it from the first of `devices` to the last.
tl::expected<TrafficSpec, SpecProblems> load_traffic(const std::string& file,
                                                     const std::vector<std::string>& devices = {});

}  // namespace hecto::bench
