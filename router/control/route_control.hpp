// Routes of the file and of the API, on their way into Routing and, the file's, into Linux; and
// loads of whole tables, which go on over several turns. Control only.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/control/route_files.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {

class InterfaceTable;
class LinuxSide;
class Notes;
struct Running;

class RouteControl {
 public:
  using Clock = std::chrono::steady_clock;
  // What loads and sweeps take of a turn; the step that is under way then is ended.
  static constexpr std::chrono::milliseconds kShare{4};

  // All outlive it. Of `running` it reads the routes of the file.
  RouteControl(const Running& running, Routing& routing, const InterfaceTable& interfaces,
               Notes& notes, std::function<Clock::time_point()> now = Clock::now)
      : running_(running),
        routing_(routing),
        interfaces_(interfaces),
        notes_(notes),
        now_(std::move(now)) {}
  RouteControl(const RouteControl&) = delete;
  RouteControl& operator=(const RouteControl&) = delete;
  void attach(LinuxSide& linux_side) { linux_ = &linux_side; }  // never in static mode

  // `table`: of its route.
  Result<NextHop> next_hop(const config::NextHopConfig& config,
                           uint32_t table = config::kMainTable) const;
  // True: it took the place of one with its prefix, metric and origin.
  Result<bool> add(const config::RouteConfig& route, RouteOrigin origin);
  Result<void> remove(const IpPrefix& prefix, uint32_t metric, RouteOrigin origin,
                      uint32_t table = config::kMainTable);
  // Linux needs the file's routes, too: it answers for packets that the fast path punts.
  void write_to_linux() const;
  // Linux's routes of our own become those of the file, where an earlier run left others.
  Result<size_t> sweep_linux() const;
  void remove_from_linux(const std::vector<config::RouteConfig>& routes) const;

  // A route file of the configuration, whose names become numbers: once. At once, before the
  // workers run.
  Result<void> load_file(const std::string& path, ReadRouteFile& file);
  // The same over several turns. What is unloaded goes when all that was begun is loaded, so
  // that a route that another file has as well is never missing.
  Result<void> begin_file(const std::string& path, ReadRouteFile& file);
  void unload_file(const std::string& path);
  bool has_file(const std::string& path) const { return file_loads_.contains(path); }

  // These go on over several turns, in the order of the calls; `done` runs on the control thread,
  // with what was counted.
  void load(CheckedTable table, const LoadOptions& options,
            std::function<void(Result<LoadCounts>)> done);
  void remove_all(RouteOrigin origin, std::function<void(Result<size_t>)> done);
  void remove_listed(std::shared_ptr<const RouteTable> table, RouteOrigin origin,
                     std::function<void(Result<size_t>)> done);
  // Behind all that is under way now.
  void when_done(std::function<void(Result<void>)> done);
  bool loading() const { return !jobs_.empty() || !unloads_.empty() || routing_.sweeping(); }
  void continue_loads();  // a turn's share of the oldest; nothing escapes of what it throws
  void drop_loads() {     // who waits for one is told, and the API can end
    jobs_.clear();
    unloads_.clear();
  }

 private:
  // Work of several turns.
  struct Job {
    std::function<bool()> step;              // true: there is more
    std::function<void(Result<void>)> done;  // an error: a step threw
    LoadId load = 0;                         // of a load
  };

  void step(std::list<Job>& jobs);
  Result<LoadId> begin(const std::string& path, ReadRouteFile& file);
  void refuse(LoadId id, const LoadCounts& counts,
              const std::function<void(Result<LoadCounts>)>& done);
  void file_loaded(const std::string& path, const LoadCounts& counts);

  Result<Route> route_of(const config::RouteConfig& config, RouteOrigin origin) const;
  std::vector<Route> routes_of(const std::vector<config::RouteConfig>& configs) const;
  void write(const std::vector<config::RouteConfig>& routes, bool remove) const;

  const Running& running_;
  Routing& routing_;
  const InterfaceTable& interfaces_;
  Notes& notes_;
  const std::function<Clock::time_point()> now_;
  LinuxSide* linux_ = nullptr;  // null: static mode
  std::list<Job> jobs_, unloads_;
  std::map<std::string, LoadId> file_loads_;  // by route file
};

}  // namespace hecto::router
