// What keeps a router from starting on this machine though its file is well written. hectod asks it
// before it touches anything, `hecto check` instead of starting. Pure: of configuration and topology.
#pragma once

#include "config/box/topology.hpp"
#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::config {

// Cores that are not there, more memory than the machine has, route files that cannot be read: one
// line each. Devices are looked for by DPDK, at the start.
Problems check_start(const Config& config, const Topology& topology);

}  // namespace hecto::config
