// What several workers of a bed forward together, each on a core of its own.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

// A bed's workers, on their cores as long as this lives, at first at rest.
//
// Under a real-time scheduler (chrt -f) they run a priority below the caller, whose core may be that
// of one of them: of the same priority it would never be its turn again. Refuses where there is none
// below.
class RunningWorkers {
 public:
  static Result<std::unique_ptr<RunningWorkers>> start(Bed& bed);
  ~RunningWorkers();
  RunningWorkers(const RunningWorkers&) = delete;
  RunningWorkers& operator=(const RunningWorkers&) = delete;

 private:
  explicit RunningWorkers(Bed& bed) : bed_(bed) {}
  Bed& bed_;
};

struct WorkersRate {
  double mpps = 0;
  double cycles = 0;  // TSC a packet, of the workers' busy time
};
// Of what replays give now.
WorkersRate rate_now(Bed& bed, unsigned milliseconds);
// The first so many workers of a bed whose data plane runs, for so long; the others rest.
WorkersRate rate_of_workers(Bed& bed, unsigned workers, unsigned milliseconds);

// Socket and core of each worker, in the order in which they join: all of one socket, then the
// next, as the operator fills a box. Control, which sleeps while workers are measured, has no core
// of its own.
using WorkerCores = std::vector<std::pair<int, unsigned>>;
WorkerCores worker_cores(const config::Topology& topology);

}  // namespace hecto::bench
