// Route files in MRT (RFC 6396): TABLE_DUMP_V2, with additional paths (RFC 8050), and TABLE_DUMP.
// Pure function, thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "router/rib/route_file.hpp"

namespace hecto::router {

// `label` names the input in errors.
Result<RouteFile> parse_mrt(std::string_view bytes, const RouteFileOptions& options,
                            const std::string& label);

}  // namespace hecto::router
