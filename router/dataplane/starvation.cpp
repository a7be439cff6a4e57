#include "router/dataplane/starvation.hpp"

#include <fmt/format.h>

namespace hecto::router {

std::vector<std::string> Starvation::watch(const Sampler& sampler,
                                           const std::vector<Place>& workers) {
  std::vector<std::string> news;
  for (const Place& place : workers) {
    const auto share = sampler.cpu_share(place.worker);
    if (!share) continue;
    if (place.worker >= workers_.size()) workers_.resize(place.worker + 1);
    Worker& worker = workers_[place.worker];
    worker.cpu = place.cpu;
    worker.last = *share;
    const bool waits = share->waited_percent > kWorthTelling_percent;
    worker.seconds = waits == worker.starves ? 0 : worker.seconds + 1;
    if (worker.seconds < kSeconds) continue;
    worker.starves = waits;
    worker.seconds = 0;
    news.push_back(
        waits ? fmt::format("worker {} waits for cpu {}: something else runs there, and "
                            "had {:.0f} % of the last second while it was ready",
                            place.worker, place.cpu, share->waited_percent)
              : fmt::format("worker {} has cpu {} to itself again", place.worker, place.cpu));
  }
  return news;
}

std::vector<std::string> Starvation::lines() const {
  std::vector<std::string> lines;
  for (size_t id = 0; id < workers_.size(); ++id)
    if (const Worker& worker = workers_[id]; worker.starves)
      lines.push_back(fmt::format(
          "worker {} waits for cpu {} for {:.0f} % of its time, and runs for {:.0f} %: packets are "
          "lost there although it looks idle; keep other programs off that core",
          id, worker.cpu, worker.last.waited_percent, worker.last.ran_percent));
  return lines;
}

}  // namespace hecto::router
