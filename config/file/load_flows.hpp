// Reads `flows:`. Behind `ports`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_flows(const Value& value, Loading& loading);

}  // namespace hecto::config
