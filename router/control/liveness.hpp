// Whether all goes on: workers that lack their cpu or do not come round, for the log and the operator,
// and what the service manager is told of it.
//
//   Sampler ─► Starvation, StuckWorkers ─► log, lines()
//                           └─ watchdog.stuck_worker ─► ServiceReport ─► service manager
//
// Control only: a control that stands still reports nothing.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "router/dataplane/starvation.hpp"
#include "router/dataplane/stuck_workers.hpp"
#include "router/process/service/report.hpp"

namespace hecto::router {

class ForwardingPlane;
class Routing;
class ServiceManager;
struct Running;

class Liveness {
 public:
  Liveness(const Running& running, const ForwardingPlane& plane, const Routing& routing,
           const Sampler& sampler)
      : running_(running), plane_(plane), routing_(routing), sampler_(sampler) {}

  // From now on; `manager` outlives this.
  void report_to(const ServiceManager& manager);

  void sampled(std::time_t now);  // behind each sample
  void tick(bool forwards, ServiceReport::Clock::time_point now);

  // For the operator.
  std::vector<std::string> lines() const;

 private:
  bool only_told() const;
  std::string status() const;

  const Running& running_;
  const ForwardingPlane& plane_;
  const Routing& routing_;
  const Sampler& sampler_;
  Starvation starvation_;
  StuckWorkers stuck_;
  bool forwards_ = false;
  std::unique_ptr<ServiceReport> report_;  // null: nobody wants to hear it
};

}  // namespace hecto::router
