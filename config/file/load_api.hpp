// Reads `api:`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_api(const Value& value, Loading& loading);

}  // namespace hecto::config
