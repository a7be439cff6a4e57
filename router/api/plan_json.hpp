// The answer of `hecto show plan` and of `hecto plan FILE --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/placement/placement.hpp"

namespace hecto::router {

// The sockets with their cores, the NICs and GPUs, as the page draws them.
nlohmann::json topology_json(const config::Topology& topology);

nlohmann::json plan_json(const config::Placement& placement, const std::string& text);

}  // namespace hecto::router
