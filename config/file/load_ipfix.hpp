// The section `ipfix`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

// Behind `ports`, `flows` and `sflow`.
void load_ipfix(const Value& value, Loading& loading);

}  // namespace hecto::config
