// Filters that are compiled, and the thread that does it: 100,000 rules take tenths of a second, and
// control compiles none.
//
//   control  FilterControl::job(): what is wanted, and what interfaces and VRFs are called now
//   asker, or a FilterJobThread  run()
//   control  FilterControl takes what it made
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

// Interfaces and VRFs by name, as they were.
struct InterfaceNames {
  std::map<std::string, InterfaceId> interfaces;
  std::map<std::string, std::vector<InterfaceId>> members;  // of VRFs
  std::map<std::string, PortId> ports;
  std::vector<std::pair<InterfaceId, uint16_t>> vlans;  // tags; of two the outer one
  // That rules name: Linux's number, and that in the FIBs; none: no room, or no such VRF.
  struct Table {
    uint32_t linux_number = 0;
    std::optional<lookup::TableId> fib;
    bool operator==(const Table&) const = default;
  };
  std::map<uint32_t, Table> tables;
  std::map<std::string, Table> vrfs;
  bool operator==(const InterfaceNames&) const = default;

  // An interface's, or those of the VRF.
  std::vector<InterfaceId> ids(const std::string& name) const;
  // It outlives what it gave.
  FilterSurroundings surroundings() const;
};

// What rules and policers were compiled for: those of these names, and no others.
struct AskedNames {
  std::map<std::string, std::vector<InterfaceId>> interfaces;  // and VRFs
  bool vlans = false;                                          // some rule asks for tags
  InterfaceNames names;

  // Of two interfaces of one name both; what comes in by them meets rules that were not compiled for it.
  std::vector<InterfaceId> changed(const InterfaceNames& now) const;
  // Tables that rules lead to.
  bool same_tables(const InterfaceNames& now) const {
    return names.tables == now.tables && names.vrfs == now.vrfs;
  }
  bool hold_for(const InterfaceNames& now) const {
    return changed(now).empty() && same_tables(now);
  }
};

// What of rules control needs with each news of an interface; there may be 100,000 of them.
struct RuleFacts {
  struct Table {
    uint32_t table = 0;
    std::string vrf;  // empty: the table itself
  };
  std::vector<Table> tables;                          // that are named, each once
  std::vector<std::pair<uint32_t, uint32_t>> logged;  // filter and rule, both from 0
  bool marks = false;                                 // some rule gives one
};
RuleFacts facts_of(const config::FiltersConfig& filters);

// Prefixes into a set of the file and out of it, all or none.
struct FilterSetChange {
  std::string set;
  std::vector<lookup::IpPrefix> add, remove;
};

class FilterJob {
 public:
  using Config = std::shared_ptr<const config::FiltersConfig>;
  using Facts = std::shared_ptr<const RuleFacts>;
  using Compile = std::function<Result<std::shared_ptr<const FilterTables>>(
      const config::FiltersConfig& config, const FilterSurroundings& around,
      const FilterTables* before)>;

  void run();  // any thread, once; throws nothing

 private:
  friend class FilterControl;
  void make();
  Result<void> change_set();
  void ask_names();

  Compile compile_;
  Config wanted_;
  Facts facts_;                            // of it, whatever changes in its sets
  std::optional<FilterSetChange> change_;  // of `wanted_`, before it is compiled
  std::string file_;                       // whose sets they are
  size_t set_size_ = 0;
  InterfaceNames names_;
  std::vector<int> sockets_;
  unsigned threads_ = 0;
  std::shared_ptr<const FilterTables> before_;
  std::shared_ptr<const FilterLogTaps> log_;  // null: no rule is told in the log
  Config before_config_;
  AskedNames asked_;
  // So it stays where there is no memory even for words.
  Result<std::shared_ptr<const FilterTables>> made_ =
      fail("filters: there was no memory to compile them", ENOMEM);
};

class FilterJobThread {
 public:
  explicit FilterJobThread(std::shared_ptr<FilterJob> job);  // throws std::system_error: no thread
  ~FilterJobThread();                                        // waits for it
  FilterJobThread(const FilterJobThread&) = delete;
  FilterJobThread& operator=(const FilterJobThread&) = delete;

  bool ended() const { return ended_; }
  bool wait_for(std::chrono::milliseconds time);  // whether it has ended
  const std::shared_ptr<FilterJob>& job() const { return job_; }

 private:
  void run();

  const std::shared_ptr<FilterJob> job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace hecto::router
