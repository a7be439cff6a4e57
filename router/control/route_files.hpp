// Route files of the configuration on their way from the disk. A million lines take a second: they
// are read, parsed and looked through on the thread of who asks, and control goes on meanwhile.
//
//   control   WantedRouteFiles: which files, and which interfaces they may name
//   asker     read_route_files(): tables, whose interfaces are still places in that list of names,
//     │       as a port that comes by the same reload has no number yet; or why not
//     ▼
//   control   RouteControl::begin_file(), load_file(): names become numbers, loading begins
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/rib/loaded_routes.hpp"

namespace hecto::router {

struct WantedRouteFiles {
  std::vector<std::string> paths;
  std::vector<std::string> interfaces;
};

// Of one file. Who read it lets go of it last: freeing a million routes is not for control.
struct ReadRouteFile {
  std::shared_ptr<RouteTable> routes;
  std::vector<std::string> interfaces;  // by the number that a next hop names
  CheckedTable checked;                 // the same table
};
using ReadRouteFiles = std::map<std::string, Result<ReadRouteFile>>;  // by path

// Any thread.
ReadRouteFiles read_route_files(const WantedRouteFiles& wanted);

}  // namespace hecto::router
