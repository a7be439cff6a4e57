#include "config/placement/start_checks.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>

#include "config/placement/placement.hpp"

namespace hecto::config {
namespace {

// All there is, whoever has it now: what is free is for the start itself to say.
void check_memory(const Config& config, const Placement& placement, const Topology& topology,
                  Problems& problems) {
  const uint64_t wanted = config.memory_bytes.value_or(placement.memory_bytes);
  const uint64_t there =
      std::accumulate(topology.memory_bytes.begin(), topology.memory_bytes.end(), uint64_t{0});
  if (there == 0 || wanted <= there) return;
  const std::string where = config.memory_line.number == 0
                                ? config.file
                                : fmt::format("{}:{}", config.file, config.memory_line.number);
  problems.push_back(fmt::format("{}: memory: {} MiB are not there: {} has {} MiB; use less", where,
                                 (wanted + (1 << 20) - 1) >> 20, topology.source, there >> 20));
}

}  // namespace

Problems check_start(const Config& config, const Topology& topology) {
  Problems problems;
  for (const std::string& file : config.route_files)
    if (!std::ifstream(file))
      problems.push_back(fmt::format("{}: route_files: {}: cannot be opened: {}", config.file, file,
                                     std::strerror(errno)));
  const auto placement = place(config, topology);
  if (placement)
    check_memory(config, *placement, topology, problems);
  else
    problems.push_back(fmt::format("{}: {}", config.file, placement.error()));
  return problems;
}

}  // namespace hecto::config
