#include "bench/bed/worker_rate.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "router/dataplane/sampler.hpp"

namespace hecto::bench {

using namespace router;

namespace {

struct Work {
  uint64_t packets = 0;  // sent
  uint64_t busy = 0;
};

Work sum(Bed& bed) {
  const Totals totals = collect(bed.router().dataplane());
  Work all{totals.transmitted};
  for (const WorkerTotals& worker : totals.workers) all.busy += worker.busy;
  return all;
}

}  // namespace

WorkersRate rate_of_workers(Bed& bed, unsigned workers, unsigned milliseconds) {
  for (unsigned i = 0; i < bed.workers(); ++i) bed.replay(i).set_active(i < workers);
  return rate_now(bed, milliseconds);
}

WorkersRate rate_now(Bed& bed, unsigned milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds / 10 + 1));
  const auto start = std::chrono::steady_clock::now();
  const Work before = sum(bed);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  const Work after = sum(bed);
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
