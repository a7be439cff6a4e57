// Reads `offload:`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_offload(const Value& value, Loading& loading);

}  // namespace hecto::config
