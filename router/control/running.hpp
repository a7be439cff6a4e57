// What the router runs with: the configuration in force, the box, and who polls what. Startup and
// Reload write it. Control only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "config/box/topology.hpp"
#include "config/file/config.hpp"
#include "config/placement/placement.hpp"

namespace hecto::router {

struct Running {
  config::Config config;
  config::Topology topology;
  config::Placement placement;
  int64_t loaded_unix_s = 0;  // when the configuration came into force
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

// Worker ids follow the cores of the placement that DPDK was started with.
void keep_worker_ids(config::Placement& placement, const config::Placement& running);

// The placement once the ports are known. DPDK has its cores already: they stay, only the queues
// may come out differently.
Result<config::Placement> place_probed(const Running& running,
                                       const std::vector<config::PortCapability>& capabilities);
// Where a new port's queues and buffers go, with the workers that run.
Result<config::Placement> place_beside(const Running& running, const config::Config& wanted,
                                       const std::string& port);
// The plan shows what runs: without a port that has gone.
void remove_port(config::Placement& placement, const std::string& port);

}  // namespace hecto::router
