#include "router/control/liveness.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/forwarding_plane.hpp"
#include "router/control/running.hpp"
#include "router/process/service/service_manager.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {

void Liveness::report_to(const ServiceManager& manager) {
  if (!manager.there()) return;
  report_ =
      std::make_unique<ServiceReport>([&manager](const std::string& lines) { manager.tell(lines); },
                                      manager.watchdog(), [this] { return status(); });
}

void Liveness::sampled(std::time_t now) {
  std::vector<Starvation::Place> places;
  for (const WorkerStatus& worker : plane_.workers()) places.push_back({worker.id, worker.cpu});
  for (const std::string& line : starvation_.watch(sampler_, places)) spdlog::warn(line);
  const bool stuck_before = stuck_.any();
  for (const std::string& line : stuck_.watch(sampler_, places, now)) spdlog::error(line);
  if (!stuck_before && stuck_.any() && !only_told())
    spdlog::error("watchdog.stuck_worker: restart: {}",
                  report_ && report_->watched()
                      ? "the watchdog is fed no more, until the service manager restarts hectod"
                      : "there is no service manager with a watchdog, so it is only told");
}

bool Liveness::only_told() const {
  return running_.config.stuck_worker == config::StuckWorker::kReport;
}

void Liveness::tick(bool forwards, ServiceReport::Clock::time_point now) {
  if (!report_) return;
  forwards_ = forwards;
  report_->tick({forwards, only_told() || !stuck_.any()}, now);
}

std::vector<std::string> Liveness::lines() const {
  std::vector<std::string> lines = stuck_.lines();
  const std::vector<std::string> starved = starvation_.lines();
  lines.insert(lines.end(), starved.begin(), starved.end());
  return lines;
}

// "forwarding: 3 ports, 1 of them down; 914233 routes"
std::string Liveness::status() const {
  const std::vector<PortStatus> ports = plane_.ports();
  const auto down = std::count_if(ports.begin(), ports.end(),
                                  [](const PortStatus& port) { return !port.link.up; });
  std::string text = fmt::format(
      "{}: {} {}",
      forwards_ ? "forwarding" : "not forwarding before all routes and policies are known",
      ports.size(), ports.size() == 1 ? "port" : "ports");
  if (down > 0) text += fmt::format(", {} of them down", down);
  text += fmt::format("; {} routes", routing_.counts().total);
  const size_t stuck = stuck_.lines().size();
  return stuck == 0 ? text : text + fmt::format("; {} of the workers stuck", stuck);
}

}  // namespace hecto::router
