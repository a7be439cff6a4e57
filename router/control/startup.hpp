// What the configuration asks for, brought to life once control's objects are there: ports, their
// interfaces, and what goes over them. The order in which the objects themselves are born is
// Router's.
//
//   probe all ports ─► (placement) ─► … ─► ports, in the file's order ─► twins ─► neighbors
//     ─► routes ─► Linux has addresses, then routes ─► route files ─► IPsec ─► workers see all
//
// Control only.
#pragma once

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/control/parts.hpp"

namespace hecto::router {

// Whether this user may have what the configuration asks for; one line, before anything is touched.
Result<void> check_user(const config::Config& config);

// The ports' devices are found, all of them, and the placement is made again with what they can do.
Result<void> probe_ports(Running& running, ForwardingPlane& plane);

// kLater: not here, but by LateRouteFiles.
enum class StartRouteFiles { kNow, kLater };

// At once, those that kLater has left out; an error is one line.
Result<void> load_route_files(const Parts& parts);

// All of the above from there on. An error is one line, and nothing runs.
Result<void> bring_up(const Parts& parts, StartRouteFiles files = StartRouteFiles::kNow);

}  // namespace hecto::router
