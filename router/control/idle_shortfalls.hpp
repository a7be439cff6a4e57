// Workers that do not wait between packets as their mode says, and why: a line each, for the log.
#pragma once

#include <string>
#include <vector>

#include "router/control/forwarding_plane.hpp"

namespace hecto::router {

std::vector<std::string> idle_shortfalls(const std::vector<WorkerStatus>& workers);

}  // namespace hecto::router
