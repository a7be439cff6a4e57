// Reads `ports:` and all below it.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

void read_device(const Value& value, PortConfig& port);  // its device and kind
// What the port takes of the machine, by name: its device, or the members of its bond.
std::vector<std::string> devices_of(const PortConfig& port);
void load_ports(const Value& value, Loading& loading);

}  // namespace hecto::config
