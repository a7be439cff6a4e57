#include "bench/throughput/blackout.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace hecto::bench {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr double kQuiet_s = 1;  // at most: what is under way when somebody else has the CPU

constexpr size_t kChurnRoutes = 1000;

std::vector<lookup::IpPrefix> churned(const std::vector<lookup::IpPrefix>& table) {
  std::vector<lookup::IpPrefix> chosen;
  for (size_t i = 0; i < std::min(kChurnRoutes, table.size()); ++i)
    chosen.push_back(table[i * table.size() / kChurnRoutes]);
  return chosen;
}

Result<Blackout> measure_blackout(TrialRunner& runner, double pps, double seconds,
                                  const std::string& change, unsigned cpu,
                                  const MakeChanges& make_changes) {
  Blackout result;
  result.change = change;
  result.pps = pps;
  std::atomic<bool> over = false;
  std::optional<Error> refused;
  // Changes begin and, as far as they are short, end while packets are under way.
  const double lead = std::min(0.2, seconds / 10);
  std::thread changer([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    const auto begin = steady_clock::now();
    std::this_thread::sleep_for(duration<double>(lead));
    while (!over && steady_clock::now() - begin < duration<double>(seconds - lead)) {
      const auto done = make_changes();
      if (!done) {
        refused = done.error();
        return;
      }
      if (!over) result.changes += *done;
    }
  });
  const auto trial = runner.run({pps, seconds, kQuiet_s});
  over = true;
  changer.join();
  if (!trial) return tl::unexpected(trial.error());
  if (refused) return tl::unexpected(*refused);
  result.seconds = trial->seconds;
  result.offered = trial->offered();
  result.lost = result.offered - std::min(result.offered, trial->received);
  result.interrupted = trial->interrupted;
  return result;
}

}  // namespace hecto::bench
