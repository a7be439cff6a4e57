// Routes of the file and of the API, on their way into Routing and, the file's, into Linux; and
// loads of whole tables, which go on over several turns. Control only.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {

class InterfaceTable;
class LinuxSide;
class Notes;
struct Running;

class RouteControl {
 public:
  // All outlive it. Of `running` it reads the routes of the file.
  RouteControl(const Running& running, Routing& routing, const InterfaceTable& interfaces,
               Notes& notes)
      : running_(running), routing_(routing), interfaces_(interfaces), notes_(notes) {}
  RouteControl(const RouteControl&) = delete;
  RouteControl& operator=(const RouteControl&) = delete;
  void attach(LinuxSide& linux_side) { linux_ = &linux_side; }  // never in static mode

  Result<NextHop> next_hop(const config::NextHopConfig& config) const;
  // True: it took the place of one with its prefix, metric and origin.
  Result<bool> add(const config::RouteConfig& route, RouteOrigin origin);
  Result<void> remove(const IpPrefix& prefix, uint32_t metric, RouteOrigin origin);
  // Linux needs the file's routes, too: it answers for packets that the fast path punts.
  void write_to_linux() const;
  void remove_from_linux(const std::vector<config::RouteConfig>& routes) const;

  // Route files of the configuration.
  Result<std::shared_ptr<const RouteTable>> read_file(const std::string& path) const;
  Result<void> load_file(const std::string& path, std::shared_ptr<const RouteTable> table);
  void unload_file(const std::string& path);

  // Goes on over several turns; `done` runs on the control thread.
  void load(std::shared_ptr<const RouteTable> table, const LoadOptions& options,
            std::function<void(Result<LoadCounts>)> done);
  bool loading() const { return !loads_.empty(); }
  void continue_loads();                 // one step of the oldest
  void drop_loads() { loads_.clear(); }  // who waits for one is told, and the API can end

 private:
  struct PendingLoad {
    LoadId id;
    std::function<void(Result<LoadCounts>)> done;
  };

  Result<Route> route_of(const config::RouteConfig& config, RouteOrigin origin) const;
  void write(const std::vector<config::RouteConfig>& routes, bool remove) const;

  const Running& running_;
  Routing& routing_;
  const InterfaceTable& interfaces_;
  Notes& notes_;
  LinuxSide* linux_ = nullptr;  // null: static mode
  std::list<PendingLoad> loads_;
  std::map<std::string, LoadId> file_loads_;  // by route file
};

}  // namespace hecto::router
