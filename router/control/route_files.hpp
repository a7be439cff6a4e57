// Route files of the configuration on their way from the disk. A million lines take a second: they
// are read, parsed and looked through on the thread of who asks, and control goes on meanwhile.
//
//   control   WantedRouteFiles: which files, and which interfaces they may name
//   asker     read_route_files(): tables, whose interfaces are still places in that list of names,
//     │       as a port that comes by the same reload has no number yet; or why not
//     ▼
//   control   RouteControl::begin_file(), load_file(): names become numbers, loading begins
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
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

// An asker for what control does by itself: a thread that reads them, and frees them once control
// has let go.
class RouteFilesReader {
 public:
  explicit RouteFilesReader(WantedRouteFiles wanted);  // throws std::system_error: no thread
  ~RouteFilesReader();                                 // waits for it
  RouteFilesReader(const RouteFilesReader&) = delete;
  RouteFilesReader& operator=(const RouteFilesReader&) = delete;

  // Null until all are read, and when they have been given: once.
  ReadRouteFiles* take();
  bool taken() const;
  void let_go();                         // what was taken is not looked at any more
  bool ended() const { return ended_; }  // nothing would be waited for

 private:
  enum class State { kReading, kRead, kTaken, kFree };
  void run(const WantedRouteFiles& wanted);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kReading;
  ReadRouteFiles files_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace hecto::router
