// What the tests of reloads start from, and a reload as a client asks for one.
#pragma once

#include "router/control/reload.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {

inline constexpr const char* kHead = "workers: {0: [1, 2]}\n";
inline constexpr const char* kWan =
    "  wan0: {device: eth1, addresses: [192.0.2.1/24], vlans: {7: {addresses: [10.7.0.1/24]}}}\n";
inline constexpr const char* kLan = "  lan0: {device: eth2, addresses: [10.1.0.1/24]}\n";
inline constexpr const char* kRoute = "routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]\n";

inline std::string file(const std::string& ports, const std::string& rest = "") {
  return kHead + ("ports:\n" + ports) + rest;
}
inline const std::string kBase = file(kWan, kRoute);

using Lines = std::vector<std::string>;

inline tl::expected<Lines, Lines> reload(const Parts& parts, const config::Config& wanted,
                                         const ReloadStep& before_step = {}) {
  ReadRouteFiles files = read_route_files(route_files_of_reload(parts, wanted));
  return router::reload(parts, wanted, files, before_step);
}

inline std::string queue_list(const config::Placement& placement) {
  std::string text;
  for (const config::WorkerPlacement& worker : placement.workers)
    for (const config::QueuePlacement& queue : worker.queues)
      text += fmt::format("{}:{}.{} ", worker.cpu, queue.port, queue.queue);
  return text;
}

}  // namespace hecto::router::test
