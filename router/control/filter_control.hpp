// The file's filters on their way to the workers.
//
//   file, API ─► Job ─► compiled, in the thread of who asks ─► follow() ─► ForwardingPlane
//                 ▲                                              │
//   interfaces ───┴──────────────── tick(): bound anew ──────────┘
//
// 100,000 rules take seconds: a reload has them compiled before control takes them. What they are
// bound to, interfaces and VRFs, changes at any time; that takes no compiling but of rules that ask
// for an interface that came or went. Before an interface is published its filter is there.
//
// Control only, but for Job::run().
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/control/filter_log.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

class ForwardingPlane;
class Routing;
struct Running;

// Interfaces and VRFs by name, as they were.
struct FilterNames {
  std::map<std::string, InterfaceId> interfaces;
  std::map<std::string, std::vector<InterfaceId>> members;  // of VRFs
  std::map<std::string, PortId> ports;
  bool operator==(const FilterNames&) const = default;
};

class FilterControl {
 public:
  // All outlive it.
  FilterControl(const Running& running, const Routing& routing, ForwardingPlane& plane)
      : running_(running), routing_(routing), plane_(plane) {}

  // Filters to be compiled.
  class Job {
   public:
    void run();  // any thread; seconds

   private:
    friend class FilterControl;
    config::FiltersConfig wanted_;
    FilterNames names_;
    std::vector<int> sockets_;
    unsigned threads_ = 0;
    bool same_rules_ = false;  // as those of before
    std::shared_ptr<const FilterTables> before_;
    std::shared_ptr<const FilterLogTaps> log_;  // null: no rule is told in the log
    Result<std::shared_ptr<const FilterTables>> made_;
  };
  // Null: there is nothing to compile.
  std::shared_ptr<Job> job(const config::FiltersConfig& wanted) const;
  // What has been run; follow() takes it where it is for that configuration.
  void offer(std::shared_ptr<Job> done) { offered_ = std::move(done); }

  // What runs; put_back() makes it what the next publish() says.
  struct State {
    config::FiltersConfig file, followed;  // and with what the API has changed of sets
    FilterNames names;
    std::shared_ptr<const FilterTables> tables;  // null: no filters
  };
  State state() const { return state_; }
  void put_back(State state);
  // The configuration's, with the next publish(). What was not offered is compiled now. An error:
  // those of before stay.
  Result<void> follow(const config::Config& config);
  // Each turn, before what has changed is published: interfaces that came.
  void tick();

  // Prefixes into a set of the file and out of it, all or none, until a reload that changes filters.
  struct SetChange {
    std::string set;
    std::vector<lookup::IpPrefix> add, remove;
  };
  Result<size_t> change_set(const SetChange& change);  // how many it has now

  // Each tick: what rules tell the log.
  void write_log(FilterLog::Clock::time_point now) { log_->write(now); }
  const FilterLog& log() const { return *log_; }
  // Of a filter by its number in the file: what is not as it says, for want of something else's.
  std::optional<std::string> trouble_of(size_t filter) const;

  // Once a second: rates.
  void sampled(std::chrono::steady_clock::time_point now);
  // Packets a second by filter and rule, as in FilterTables::status(); the last is `otherwise`.
  double rate(size_t filter, size_t rule) const;
  const FilterTables* tables() const { return state_.tables.get(); }  // null: no filters
  const config::FiltersConfig& config() const { return state_.followed; }
  std::vector<std::string> lines() const;  // for the operator

 private:
  FilterNames names() const;
  std::shared_ptr<Job> make_job(const config::FiltersConfig& wanted) const;
  Result<void> use(const Job& job);
  void name_for_log();

  const Running& running_;
  const Routing& routing_;
  ForwardingPlane& plane_;
  State state_;
  const std::unique_ptr<FilterLog> log_ = std::make_unique<FilterLog>();
  uint64_t interfaces_version_ = 0;  // that were looked at
  std::shared_ptr<Job> offered_;
  std::string trouble_;  // of interfaces that changed; empty: none
  std::vector<std::vector<uint64_t>> counted_;
  std::vector<std::vector<double>> rates_;
  std::chrono::steady_clock::time_point sampled_{};
};

}  // namespace hecto::router
