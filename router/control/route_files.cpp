#include "router/control/route_files.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/rib/route_file.hpp"

namespace hecto::router {
namespace {

Result<ReadRouteFile> read_route_file(const std::string& path,
                                      const std::vector<std::string>& interfaces) {
  RouteFileOptions options;
  options.find_interface = [&interfaces](std::string_view name) {
    const auto found = std::find(interfaces.begin(), interfaces.end(), name);
    return found == interfaces.end() ? kNoInterface
                                     : static_cast<InterfaceId>(found - interfaces.begin());
  };
  auto file = read_routes(path, options);
  if (!file) return tl::unexpected(file.error());
  for (const std::string& problem : file->problems) spdlog::warn("{}: {}", path, problem);
  ReadRouteFile read{std::make_shared<RouteTable>(std::move(file->table)), interfaces, {}};
  auto checked = check_table(read.routes);
  if (!checked) return fail(path + ": " + checked.error().message, checked.error().error_number);
  read.checked = std::move(*checked);
  return read;
}

}  // namespace

ReadRouteFiles read_route_files(const WantedRouteFiles& wanted) {
  ReadRouteFiles read;
  for (const std::string& path : wanted.paths)
    read.emplace(path, read_route_file(path, wanted.interfaces));
  return read;
}

}  // namespace hecto::router
