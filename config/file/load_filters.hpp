// Reads `filters:`, behind ports, VRFs, sets and policers.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_filters(const Value& value, Loading& loading);

}  // namespace hecto::config
