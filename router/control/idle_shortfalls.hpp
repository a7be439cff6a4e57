// What workers do between packets, in the words of the log; and a line for each that does not wait as its
// mode says, with why.
#pragma once

#include <string>
#include <vector>

#include "router/control/forwarding_plane.hpp"

namespace hecto::router {

// "sleep", "adaptive, by tpause": also how the CPU pauses.
std::string idle_words(IdleMode mode);
std::vector<std::string> idle_shortfalls(const std::vector<WorkerStatus>& workers);

}  // namespace hecto::router
