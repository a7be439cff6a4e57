// Reads `nat:`. Behind `ports`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_nat(const Value& value, Loading& loading);

}  // namespace hecto::config
