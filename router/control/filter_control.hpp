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
#include <utility>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

class ForwardingPlane;
class Routing;
struct Running;

// Interfaces and VRFs by name, as they were.
struct FilterNames {
  std::map<std::string, InterfaceId> interfaces;
  std::map<std::string, std::vector<InterfaceId>> members;  // of VRFs
  std::vector<std::pair<InterfaceId, uint16_t>> vlans;      // tags; of two the outer one
  // That rules name: Linux's number, and that in the FIBs; none: no room, or no such VRF.
  struct Table {
    uint32_t linux_number = 0;
    std::optional<lookup::TableId> fib;
    bool operator==(const Table&) const = default;
  };
  std::map<uint32_t, Table> tables;
  std::map<std::string, Table> vrfs;
  bool operator==(const FilterNames&) const = default;
};

class FilterControl {
 public:
  // All outlive it.
  FilterControl(const Running& running, Routing& routing, ForwardingPlane& plane)
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

  // Once a second: rates.
  void sampled(std::chrono::steady_clock::time_point now);
  // Packets a second by filter and rule, as in FilterTables::status(); the last is `otherwise`.
  double rate(size_t filter, size_t rule) const;
  const FilterTables* tables() const { return state_.tables.get(); }  // null: no filters
  const config::FiltersConfig& config() const { return state_.followed; }
  std::vector<std::string> lines() const;  // for the operator
  // Of a filter, as numbered in its status: tables that its rules name and that have no route now.
  std::vector<std::string> table_notes(size_t filter) const;
  bool gives_marks() const { return gives_marks_; }
  bool leads() const {  // some rule names a table or a VRF
    return !state_.names.tables.empty() || !state_.names.vrfs.empty();
  }
  // Next hops that are not known, of packets that filters lead. At most so many, each once.
  std::vector<std::pair<int, lookup::IpAddress>> take_wanted();  // interface in Linux, address

 private:
  FilterNames names(const config::FiltersConfig& wanted) const;
  std::shared_ptr<Job> make_job(const config::FiltersConfig& wanted) const;
  Result<void> use(const Job& job);

  const Running& running_;
  Routing& routing_;  // which makes tables that rules name
  ForwardingPlane& plane_;
  State state_;
  uint64_t interfaces_version_ = 0;     // that were looked at
  std::vector<uint32_t> without_room_;  // tables, the same
  bool gives_marks_ = false;            // some rule does
  std::shared_ptr<Job> offered_;
  std::string trouble_;  // of interfaces that changed; empty: none
  std::vector<std::vector<uint64_t>> counted_;
  std::vector<std::vector<double>> rates_;
  std::chrono::steady_clock::time_point sampled_{};
};

}  // namespace hecto::router
