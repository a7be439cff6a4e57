// A reload: what can fail is prepared first and taken back if anything does; then the rest, which
// cannot, is applied. Ports that stay forward all the while.
//
//   difference ─► ports added, MTUs changed ─► references, route files, IPsec checked
//        │ refused: ports removed, MTUs and placement as they were      │
//        ▼                                                              ▼
//   problems, nothing changed                    routes, neighbors, ports, settings; one publish()
//
// Control only.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "router/control/parts.hpp"

namespace hecto::config {
struct Config;
}

namespace hecto::router {

// The wanted configuration, whole or not at all. Returns the changes in words, or the problems.
tl::expected<std::vector<std::string>, std::vector<std::string>> reload(
    const Parts& parts, const config::Config& wanted);

}  // namespace hecto::router
