#include "bench/bed/worker_rate.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <string.h>

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

Result<std::unique_ptr<RunningWorkers>> RunningWorkers::start(Bed& bed) {
  const int policy = sched_getscheduler(0);
  const bool real_time = policy == SCHED_FIFO || policy == SCHED_RR;
  sched_param priority{};
  sched_getparam(0, &priority);
  if (real_time && --priority.sched_priority < sched_get_priority_min(policy))
    return fail("several workers under the least real-time priority: use chrt -f 2, or more");
  for (unsigned i = 0; i < bed.workers(); ++i) bed.replay(i).set_active(false);
  Dataplane& dataplane = bed.router().dataplane();
  dataplane.start();
  std::unique_ptr<RunningWorkers> running(new RunningWorkers(bed));
  for (unsigned i = 0; real_time && i < bed.workers(); ++i) {
    while (dataplane.worker(i).thread_id() == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (sched_setscheduler(dataplane.worker(i).thread_id(), policy, &priority) != 0)
      return fail(
          fmt::format("worker {}: no priority below this thread's: {}", i, strerror(errno)));
  }
  return running;
}

RunningWorkers::~RunningWorkers() {
  bed_.router().dataplane().stop();
}

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
