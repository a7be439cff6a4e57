// A reload: all problems are looked for before anything is touched; then it goes step by step, and a
// step that fails takes back those before it, in reverse. What cannot fail comes last. Ports that stay
// forward all the while.
//
//   difference ─► references, devices, route files, IPsec checked ─► new ports probed
//        │ problems: nothing has been touched                            │
//        ▼                                                               ▼
//   ports added ─► routes, neighbors away ─► ports changed (MTU, VLANs, addresses) ─► new policies,
//   neighbors, routes, route files in ─► Linux told ─► IPsec │ a failure: all as it was
//        ▼
//   route files and ports that went, settings; one publish()
//
// Control only.
#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/result.hpp"
#include "router/control/parts.hpp"

namespace hecto::config {
struct Config;
}

namespace hecto::router {

// Called before each step with its name; an error is as if the step had failed. For tests.
using ReloadStep = std::function<Result<void>(const std::string& step)>;

// The wanted configuration, whole or not at all. Returns the changes in words, or the problems.
tl::expected<std::vector<std::string>, std::vector<std::string>> reload(
    const Parts& parts, const config::Config& wanted, const ReloadStep& before_step = {});

}  // namespace hecto::router
