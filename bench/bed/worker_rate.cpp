#include "bench/bed/worker_rate.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "router/dataplane/sampler.hpp"

namespace hecto::bench {

using namespace router;

namespace {

WorkerTotals sum(Bed& bed) {
  WorkerTotals all;
  for (const WorkerTotals& worker : collect(bed.router().dataplane()).workers) {
    all.packets += worker.packets;
    all.busy += worker.busy;
  }
  return all;
}

}  // namespace

WorkersRate rate_of_workers(Bed& bed, unsigned workers, unsigned milliseconds) {
  for (unsigned i = 0; i < bed.workers(); ++i) bed.replay(i).set_active(i < workers);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds / 10 + 1));
  const auto start = std::chrono::steady_clock::now();
  const WorkerTotals before = sum(bed);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  const WorkerTotals after = sum(bed);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto packets = static_cast<double>(after.packets - before.packets);
  return {packets / seconds.count() / 1e6,
          packets > 0 ? static_cast<double>(after.busy - before.busy) / packets : 0};
}

WorkerCores worker_cores(const config::Topology& topology) {
  WorkerCores cores;
  for (const config::Core& core : topology.cores)
    if (core.allowed) cores.emplace_back(core.socket, core.cpu);
  std::sort(cores.begin(), cores.end());
  return cores;
}

}  // namespace hecto::bench
