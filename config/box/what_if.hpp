// A box with one thing changed: what would it carry then?
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "config/box/box.hpp"

namespace hecto::config {

// "cores=16", "wan.gbit_s=200", "budget.mpps=5", "lookup_ipv4_cycles=10". A refusal says what would
// be right, and leaves the box as it was.
tl::expected<void, std::string> apply_what_if(const std::string& change, Box& box);

}  // namespace hecto::config
