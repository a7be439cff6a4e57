// A policy rule in words, as `ip rule` prints it behind the priority.
#pragma once

#include <string>

#include "router/rib/rule.hpp"

namespace hecto::router {

std::string to_string(const PolicyRule& rule);  // from 10.0.0.100 lookup 200
std::string table_text(uint32_t table);         // main, 200

}  // namespace hecto::router
