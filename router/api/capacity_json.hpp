// The `box`, `capacity` and `constants` of `hecto plan --json` (docs/measuring.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/capacity/capacity.hpp"

namespace hecto::router {

nlohmann::json box_json(const config::Box& box);
nlohmann::json capacity_json(const config::Box& box, const config::Setup& setup,
                             const config::Capacity& capacity);
nlohmann::json constants_json(const config::Constants& constants);

}  // namespace hecto::router
