#include "router/control/idle_shortfalls.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "router/dataplane/cpu_pause.hpp"

namespace hecto::router {

std::string idle_words(IdleMode mode) {
  const std::string word(to_string(mode));
  return mode == IdleMode::kAdaptive ? fmt::format("{}, by {}", word, CpuPause::best()) : word;
}

std::vector<std::string> idle_shortfalls(const std::vector<WorkerStatus>& workers) {
  std::vector<std::string> lines;
  for (const WorkerStatus& worker : workers)
    if (!worker.no_wakeup.empty())
      lines.push_back(fmt::format(
          "idle: the worker on cpu {} was asked for {} and sleeps for idle_sleep_us where it would "
          "wait: {}",
          worker.cpu, to_string(worker.idle), fmt::join(worker.no_wakeup, "; ")));
  return lines;
}

}  // namespace hecto::router
