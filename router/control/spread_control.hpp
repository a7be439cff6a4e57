// `spread: auto`: which receive queues go over several workers, and when. One whose worker was at its
// limit for a second, while others of its socket had time enough for it to gain, does so from then on.
//
// Control only.
#pragma once

#include <vector>

namespace hecto::router {

class ForwardingPlane;
class Sampler;
struct SpreadCosts;
struct WorkerStatus;
struct WorkerTotals;

// Of what a worker did between the two.
SpreadCosts spread_costs(const WorkerTotals& now, const WorkerTotals& before);

class SpreadControl {
 public:
  static constexpr double kLimit_percent = 90;  // of a worker's time, of the last second

  SpreadControl(ForwardingPlane& plane, const Sampler& sampler)
      : plane_(plane), sampler_(sampler) {}
  void sampled();  // behind each sample

 private:
  double load_percent(unsigned worker) const;
  bool relieve(const WorkerStatus& worker, const std::vector<double>& free);

  ForwardingPlane& plane_;
  const Sampler& sampler_;
};

}  // namespace hecto::router
