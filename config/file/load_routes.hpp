// Reads `routes:`, `route_files:` and `neighbors:`.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_routes(const Value& value, Loading& loading);
void load_route_files(const Value& value, Loading& loading);
void load_neighbors(const Value& value, Loading& loading);

}  // namespace hecto::config
