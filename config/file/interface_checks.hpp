// Checks of addresses and interfaces that need the whole file.
#pragma once

#include "config/file/loading.hpp"

namespace hecto::config {

// No two interfaces have overlapping networks, and none has an address twice.
void check_addresses(Loading& loading);
// Gateways and neighbors are on an interface that is there; neighbors without one get theirs.
void check_interface_uses(Loading& loading);

}  // namespace hecto::config
