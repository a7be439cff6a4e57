// Route files in text: prefix lists, and the output of `bgpdump -m` (route_file.hpp). Pure
// functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "router/rib/route_file.hpp"

namespace hecto::router {

// `label` names the input in errors.
Result<RouteFile> parse_prefixes(std::string_view text, const RouteFileOptions& options,
                                 const std::string& label);
Result<RouteFile> parse_bgpdump(std::string_view text, const RouteFileOptions& options,
                                const std::string& label);

}  // namespace hecto::router
