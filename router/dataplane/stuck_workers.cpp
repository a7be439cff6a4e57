#include "router/dataplane/stuck_workers.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {

std::vector<std::string> StuckWorkers::watch(const Sampler& sampler,
                                             const std::vector<Starvation::Place>& workers,
                                             std::time_t now) {
  std::vector<std::string> news;
  const auto &before = sampler.before().workers, &after = sampler.now().workers;
  for (const Starvation::Place& place : workers) {
    if (place.worker >= before.size() || place.worker >= after.size()) continue;
    if (place.worker >= workers_.size()) workers_.resize(place.worker + 1);
    Worker& worker = workers_[place.worker];
    worker.cpu = place.cpu;
    if (before[place.worker].iterations != after[place.worker].iterations) {
      if (worker.stuck())
        news.push_back(fmt::format("worker {} on cpu {} comes round again, after {} s",
                                   place.worker, place.cpu, now - worker.since));
      worker.seconds = 0;
      continue;
    }
    if (worker.seconds == 0) worker.since = now - 1;
    if (++worker.seconds == kSeconds) news.push_back(text(place.worker, worker));
  }
  return news;
}

bool StuckWorkers::any() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.stuck(); });
}

std::vector<std::string> StuckWorkers::lines() const {
  std::vector<std::string> lines;
  for (size_t id = 0; id < workers_.size(); ++id)
    if (workers_[id].stuck()) lines.push_back(text(id, workers_[id]));
  return lines;
}

std::string StuckWorkers::text(size_t id, const Worker& worker) {
  return fmt::format(
      "worker {} on cpu {} does not come round since {:%FT%TZ}: nothing that its "
      "queues receive is forwarded",
      id, worker.cpu, fmt::gmtime(worker.since));
}

}  // namespace hecto::router
