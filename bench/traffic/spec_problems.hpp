// The rules that a TrafficSpec has to follow, for whoever knows where it comes from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/traffic/spec.hpp"

namespace hecto::bench {

inline constexpr uint32_t kMostDestinations = 1 << 20;  // also flows
inline constexpr uint32_t kMostWeight = 1'000'000;
inline constexpr double kMostSizeWeight = 65536;  // of all sizes of a stream together

struct SpecProblem {
  static constexpr size_t kFile = SIZE_MAX;
  size_t stream = kFile;  // place among the streams
  std::string key;
  std::string text;
};
std::vector<SpecProblem> find_problems(const TrafficSpec& spec);
// The same in words, of a spec that a program has made; parse_traffic has checked already.
SpecProblems check_traffic(const TrafficSpec& spec);

// The shortest frame that holds headers and tag.
uint16_t least_bytes(const StreamSpec& stream);

}  // namespace hecto::bench
