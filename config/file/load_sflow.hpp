// The section `sflow`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

// Behind `ports`.
void load_sflow(const Value& value, Loading& loading);

}  // namespace hecto::config
