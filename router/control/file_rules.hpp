// The policy rules of the file as Linux would have them, with those that are there by themselves. For
// static mode; pure.
#pragma once

#include <vector>

#include "config/file/config.hpp"
#include "router/rib/rule.hpp"

namespace hecto::router {

// In Linux's order. Empty: none but Linux's usual ones. `vrfs`: some interface is in a VRF, though the
// file may have none any more.
std::vector<PolicyRule> rules_of_file(const config::Config& config, bool vrfs);

}  // namespace hecto::router
