#include "bench/traffic/generator_cpus.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <set>

namespace hecto::bench {
namespace {

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

Result<std::vector<unsigned>> choose_cpus(const std::vector<unsigned>& wanted, bool start_eal) {
  if (!start_eal && wanted.empty()) return std::vector<unsigned>{0};
  const std::vector<unsigned> allowed = allowed_cpus();
  if (wanted.empty()) return std::vector<unsigned>{allowed.empty() ? 0 : allowed.back()};
  std::set<unsigned> seen;
  for (const unsigned cpu : wanted) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
      return fail(fmt::format("CPU {}: this process may not use it; it has {} to {}", cpu,
                              allowed.front(), allowed.back()),
                  EINVAL);
    if (!seen.insert(cpu).second)
      return fail(fmt::format("CPU {} is named twice; name it once", cpu), EINVAL);
  }
  return wanted;
}

}  // namespace hecto::bench
