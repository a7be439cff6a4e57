// All that keeps a router from starting on this machine though its file is well written: what hectod
// looks at before it touches anything, and `hecto check` in its place.
#pragma once

#include "config/box/topology.hpp"
#include "config/file/config.hpp"
#include "config/file/reader.hpp"

namespace hecto::router {

// One line each. Reads the list of groups, and looks whether files are there.
config::Problems check_machine(const config::Config& config, const config::Topology& topology);

}  // namespace hecto::router
