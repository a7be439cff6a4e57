// The answer of `hecto show plan` and of `hecto plan FILE --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/placement/placement.hpp"

namespace hecto::router {

nlohmann::json plan_json(const config::Placement& placement, const std::string& text);

}  // namespace hecto::router
