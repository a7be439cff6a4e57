// What filters' tables and VRFs ask of routing: which of the FIBs' tables they are.
#pragma once

#include "router/control/filter_control.hpp"

namespace hecto::router {

// Tables and VRFs that rules name; tables are made, so that rules may name them before they have routes.
InterfaceNames table_names(const RuleFacts& rules, Routing& routing);
// Linux's number of what is a table of the FIBs.
std::optional<uint32_t> linux_number_of(Routing& routing, lookup::TableId fib);

}  // namespace hecto::router
