// A hectod that is measured: a process of its own with a configuration of ours in a folder of its
// own. It ends, and the folder goes, with this object.
//
// Not thread-safe, except that `reload` and `change_routes` may be called by one other thread while
// this one runs trials.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "bench/lib/child.hpp"
#include "bench/lib/energy.hpp"
#include "bench/throughput/procedures.hpp"
#include "bench/throughput/router_config.hpp"
#include "router/api/http/http.hpp"

namespace hecto::bench {

struct RouterCounters {
  uint64_t received = 0, transmitted = 0;
  std::map<std::string, uint64_t> drops;  // by reason; also "missed" and "no_mbuf" of its ports
};

class RouterProcess {
 public:
  // Waits until it answers. `stop` becomes true when the user wants no more.
  static Result<std::unique_ptr<RouterProcess>> start(const RouterOptions& options,
                                                      const RouteSet& routes,
                                                      const std::atomic<bool>& stop);
  ~RouterProcess();
  RouterProcess(const RouterProcess&) = delete;
  RouterProcess& operator=(const RouterProcess&) = delete;

  // An error names how it ended, and its last words. It is given so long to end.
  Result<void> alive(double patience_s = 0);
  pid_t pid() const { return child_->pid(); }
  const std::string& version() const { return version_; }
  std::string device(unsigned port) const { return generator_device(options_, folder_, port); }
  double load_seconds() const { return load_seconds_; }  // until it answered, its table loaded

  // Until it sees the links of both ports: the generator has connected.
  Result<void> wait_links(const std::atomic<bool>& stop);
  // Cycles per packet are those of its last second; the CPU time is that since the last call.
  std::optional<DeviceLoad> load();
  std::optional<RouterCounters> counters();

  const std::string& no_watts() const { return energy_.no_cpu(); }  // why; empty: there are

  Result<void> reload(const RouterChanges& changes);
  // POST adds these routes by the API, or replaces them; DELETE takes them away. Gives how many
  // routes changed.
  Result<uint64_t> change_routes(const std::string& method, const std::string& list);

 private:
  RouterProcess() = default;
  Result<void> launch(const RouteSet& routes, const std::atomic<bool>& stop);
  Result<std::string> ask(const router::HttpRequest& request, double seconds) const;

  RouterOptions options_;
  std::filesystem::path folder_;
  std::unique_ptr<Child> child_;
  std::string version_;
  double load_seconds_ = 0;
  double cpu_seconds_ = 0, worker_seconds_ = 0, cpu_at_ = 0;  // at the last call of load()
  EnergyMeter energy_{""};
};

// Trials that fail as soon as the router has ended.
class WatchedRunner : public TrialRunner {
 public:
  WatchedRunner(TrialRunner& runner, RouterProcess* router) : runner_(runner), router_(router) {}
  Result<TrialResult> run(const TrialRequest& request) override;

 private:
  TrialRunner& runner_;
  RouterProcess* router_;  // nullptr: nobody to watch
};

}  // namespace hecto::bench
