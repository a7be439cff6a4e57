// The names that `punt:` accepts. They are the router's (base/reason.hpp), repeated here because
// config/ does not include router/; a test of the router holds the two lists equal.
#pragma once

#include <array>
#include <string_view>

namespace hecto::config {

inline constexpr std::array<std::string_view, 13> kPuntReasons = {
    "arp",     "local", "multicast", "broadcast",   "link_local", "options",       "ttl_expired",
    "too_big", "glean", "no_route",  "unreachable", "prohibit",   "other_protocol"};

}  // namespace hecto::config
