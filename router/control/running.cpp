#include "router/control/running.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {

void keep_worker_ids(config::Placement& placement, const config::Placement& running) {
  for (config::WorkerPlacement& worker : placement.workers)
    for (const config::WorkerPlacement& w : running.workers)
      if (w.cpu == worker.cpu) worker.id = w.id;
  std::sort(placement.workers.begin(), placement.workers.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

Result<config::Placement> place_probed(const Running& running,
                                       const std::vector<config::PortCapability>& capabilities) {
  config::Config pinned = running.config;
  pinned.workers.clear();
  for (const config::WorkerPlacement& worker : running.placement.workers)
    pinned.workers[worker.socket].push_back(worker.cpu);
  pinned.control_core = running.placement.control_cpu;
  auto placement = config::place(pinned, running.topology, capabilities);
  if (!placement) return fail(placement.error());
  keep_worker_ids(*placement, running.placement);
  return std::move(*placement);
}

Result<config::Placement> place_beside(const Running& running, const config::Config& wanted,
                                       const std::string& port) {
  const config::Config now = config::resolved(running.config, running.placement);
  config::Config fixed = wanted;
  fixed.workers = now.workers;
  fixed.control_core = now.control_core;
  for (config::PortConfig& mine : fixed.ports)
    for (const config::PortConfig& theirs : now.ports)
      if (mine.name == theirs.name) mine.rx_queues = theirs.rx_queues;
  auto placement = config::place(fixed, running.topology);
  if (!placement) return fail(placement.error());
  keep_worker_ids(*placement, running.placement);
  const bool placed = std::any_of(placement->ports.begin(), placement->ports.end(),
                                  [&](const config::PortPlacement& p) { return p.port == port; });
  if (!placed) return fail(fmt::format("port {}: no place was found for it", port));
  return std::move(*placement);
}

void remove_port(config::Placement& placement, const std::string& port) {
  std::erase_if(placement.ports, [&](const auto& placed) { return placed.port == port; });
  for (config::WorkerPlacement& worker : placement.workers)
    std::erase_if(worker.queues, [&](const auto& queue) { return queue.port == port; });
  for (config::PoolPlacement& pool : placement.pools) std::erase(pool.ports, port);
}

}  // namespace hecto::router
