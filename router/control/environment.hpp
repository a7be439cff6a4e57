// What DPDK is started with, of the configuration and the placement.
#pragma once

#include "config/placement/placement.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::router {

EalOptions eal_options(const config::Config& config, const config::Placement& placement);

}  // namespace hecto::router
