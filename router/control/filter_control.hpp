// The file's filters on their way to the workers.
//
//   file, API ─► FilterJob ─► compiled, in the thread of who asks ─► follow() ─► ForwardingPlane
//                                                                      │
//   interfaces ─► tick(): bound anew ──────────────────────────────────┘
//                   └► rules ask for one by `iif`: a FilterJobThread; till it is done what comes in by
//                      that one is dropped (filter_not_ready)
//
// Control compiles nothing. Before an interface is published its filter is there, or nothing comes in
// by it. What ran before a reload that waits to be confirmed is kept compiled: going back is a swap.
//
// Control only, but for FilterJob::run().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/control/filter_job.hpp"
#include "router/control/filter_log.hpp"
#include "router/control/filter_rates.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

class ForwardingPlane;
class Routing;
class ServiceManager;
struct Running;

class FilterControl {
 public:
  using Clock = std::chrono::steady_clock;
  using Job = FilterJob;
  static constexpr std::chrono::seconds kAgain{10};  // what could not be compiled is tried again

  // All outlive it. `service` is asked for time while a start compiles; null: nobody waits.
  FilterControl(const Running& running, Routing& routing, ForwardingPlane& plane,
                const ServiceManager* service = nullptr,
                FilterJob::Compile compile = FilterTables::compile);
  ~FilterControl();

  // ---- What is compiled elsewhere ----
  // Null: there is nothing to compile.
  std::shared_ptr<Job> job(const config::FiltersConfig& wanted) const;
  // What has been run; follow() takes it where it is for that configuration.
  void offer(std::shared_ptr<Job> done) { offered_ = std::move(done); }

  // What runs; put_back() makes it what the next publish() says.
  struct State {
    FilterJob::Config file, followed;  // and with what the API has changed of sets; null: none
    FilterJob::Facts facts;            // of the rules of both
    InterfaceNames names;              // that it is bound to
    AskedNames asked;                  // that it was compiled for
    std::shared_ptr<const FilterTables> tables;  // null: no filters
  };
  State state() const { return state_; }
  void put_back(State state);
  // As offer(), of what ran once.
  void offer(State ran) { kept_ = std::move(ran); }
  // Behind each reload: what it has not taken is for no later one.
  void withdraw() {
    offered_.reset();
    kept_.reset();
  }

  // At the start, before anything is forwarded: waits for the thread that compiles, and says so.
  Result<void> start(const config::Config& config);
  // The configuration's, with the next publish(): that is what was offered, or an error. Then those of
  // before stay.
  Result<void> follow(const config::Config& config);
  // Each turn, before what has changed is published: interfaces that came.
  void tick();

  // Of a set, until a reload that changes filters: change_job(), run, and its result taken.
  using SetChange = FilterSetChange;
  std::shared_ptr<Job> change_job(SetChange change) const;
  Result<size_t> take_change(const std::shared_ptr<Job>& done);  // how many prefixes it has now

  // Each tick: what rules tell the log.
  void write_log(FilterLog::Clock::time_point now) { log_->write(now); }
  const FilterLog& log() const { return *log_; }
  // Of a filter by its number in the file: what is not as it says, for want of something else's.
  std::optional<std::string> trouble_of(size_t filter) const;

  // Several times a second: rates, and what has to be tried again.
  void sampled(Clock::time_point now);
  // Packets a second by filter and rule, as in FilterTables::status(); the last is `otherwise`.
  double rate(size_t filter, size_t rule) const { return rates_.of(filter, rule); }
  const FilterTables* tables() const { return state_.tables.get(); }  // null: no filters
  const config::FiltersConfig& config() const;
  std::vector<std::string> lines() const;  // for the operator
  // Of a filter, as numbered in its status: tables that its rules name and that have no route now.
  std::vector<std::string> table_notes(size_t filter) const;
  bool gives_marks() const { return state_.facts != nullptr && state_.facts->marks; }
  bool leads() const {  // some rule names a table or a VRF
    return !state_.names.tables.empty() || !state_.names.vrfs.empty();
  }
  // Next hops that are not known, of packets that filters lead. At most so many, each once.
  std::vector<std::pair<int, lookup::IpAddress>> take_wanted();  // interface in Linux, address

 private:
  InterfaceNames names(const RuleFacts& rules) const;
  std::shared_ptr<Job> make_job(FilterJob::Config wanted) const;
  Result<void> use(const Job& job);
  void bind(const InterfaceNames& now);
  void compile();
  void compiled();
  void take_compiled();
  void cannot(const std::string& why);
  void name_for_log();

  const Running& running_;
  Routing& routing_;  // which makes tables that rules name
  ForwardingPlane& plane_;
  const ServiceManager* const service_;
  const FilterJob::Compile compile_;
  State state_;
  const std::unique_ptr<FilterLog> log_ = std::make_unique<FilterLog>();
  uint64_t interfaces_version_ = 0;     // that were looked at
  std::vector<uint32_t> without_room_;  // tables, the same
  std::shared_ptr<Job> offered_;
  std::optional<State> kept_;
  bool stale_ = false;                // rules ask for interfaces that they are not compiled for
  std::vector<std::string> waiting_;  // those, that nothing comes in by
  std::string trouble_;               // why they have to wait; empty: they are compiled for
  std::optional<Clock::time_point> again_;
  FilterRates rates_;
  std::unique_ptr<FilterJobThread> thread_;  // null: nothing is compiled
};

}  // namespace hecto::router
