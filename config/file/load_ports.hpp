// Reads `ports:` and all below it.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void load_ports(const Value& value, Loading& loading);
void read_device(const Value& value, PortConfig& port);  // device and kind

}  // namespace hecto::config
