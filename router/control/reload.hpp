// A reload: all problems are looked for before anything is touched; then it goes step by step, and a
// step that fails takes back those before it, in reverse. What cannot fail comes last. Ports that stay
// forward all the while.
//
//   route files read, outside of control
//        ▼
//   difference ─► references, devices, route files, IPsec checked ─► new ports probed
//        │ problems: nothing has been touched                            │
//        ▼                                                               ▼
//   ports added ─► routes, neighbors away ─► ports changed (MTU, VLANs, addresses) ─► new policies,
//   neighbors, routes, route files in ─► Linux told ─► IPsec │ a failure: all as it was,
//        │                                                              │ or what is not stands in the answer
//        ▼
//   route files and ports that went, settings; one publish()
//
// Control only, one at a time: between the two calls nobody else's reload.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/result.hpp"
#include "router/control/parts.hpp"
#include "router/control/route_files.hpp"

namespace hecto::config {
struct Config;
}

namespace hecto::router {

// Called before each step with its name; an error is as if the step had failed. For tests.
using ReloadStep = std::function<Result<void>(const std::string& step)>;

// The changes in words, or the problems.
using ReloadResult = tl::expected<std::vector<std::string>, std::vector<std::string>>;

// What begins the line of a problem that a reload leaves behind, where not all could be put back.
inline constexpr std::string_view kNotPutBack = "not put back: ";

// What has to be read before (route_files.hpp).
WantedRouteFiles route_files_of_reload(const Parts& parts, const config::Config& wanted);

// The wanted configuration, whole or not at all.
ReloadResult reload(const Parts& parts, const config::Config& wanted, ReadRouteFiles& files,
                    const ReloadStep& before_step = {});
// What a reload would change, or why it would be refused, as far as that is known without probing new
// ports; touches nothing.
ReloadResult preview(const Parts& parts, const config::Config& wanted, const ReadRouteFiles& files);

}  // namespace hecto::router
