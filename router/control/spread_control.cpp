#include "router/control/spread_control.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/port_spread.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

constexpr size_t kReceiveStage = 0;  // of WorkerTotals::stage_cycles

double ratio(uint64_t sum, uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

}  // namespace

SpreadCosts spread_costs(const WorkerTotals& now, const WorkerTotals& before) {
  SpreadCosts costs;
  costs.receive = ratio(now.stage_cycles[kReceiveStage] - before.stage_cycles[kReceiveStage],
                        now.sampled_packets - before.sampled_packets);
  const double all = ratio(now.busy - before.busy, now.packets - before.packets);
  costs.rest = std::max(all - costs.receive, 0.0);
  return costs;
}

double SpreadControl::load_percent(unsigned worker) const {
  const WorkerTotals& now = sampler_.now().workers[worker];
  const WorkerTotals& before = sampler_.before().workers[worker];
  const uint64_t busy = now.busy - before.busy;
  return 100 * ratio(busy, busy + now.idle - before.idle);
}

// One queue at a time: what its takers do then is seen before the next one.
void SpreadControl::sampled() {
  const std::vector<WorkerStatus> workers = plane_.workers();
  std::vector<double> free(workers.size());
  for (const WorkerStatus& worker : workers)
    free[worker.id] = std::max(kLimit_percent - load_percent(worker.id), 0.0) / 100;
  for (const WorkerStatus& worker : workers) {
    if (free[worker.id] > 0) continue;
    if (relieve(worker, free)) return;
  }
}

bool SpreadControl::relieve(const WorkerStatus& worker, const std::vector<double>& free) {
  SpreadCosts costs =
      spread_costs(sampler_.now().workers[worker.id], sampler_.before().workers[worker.id]);
  costs.free = free;
  for (const WorkerStatus::Queue& queue : worker.queues) {
    if (!queue.waits_to_spread || !plane_.spread(queue.port, queue.queue, costs)) continue;
    spdlog::info(
        "port {}: queue {} goes by flow over the workers of its socket from now on: that on cpu {} "
        "was busy for {:.0f} % of the last second",
        queue.port, queue.queue, worker.cpu, load_percent(worker.id));
    return true;
  }
  return false;
}

}  // namespace hecto::router
