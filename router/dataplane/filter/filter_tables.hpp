// The filters of the file, compiled for workers. What a worker reads of them is a FilterViews.
//
//   sets      ─► classes (PrefixClasses) ─┐
//   rules     ─► entries, one context a filter, family and socket (AclContext) ─► rule ─► action, slot
//   policers  ─► one for all workers (Policer)
//   interfaces, VRFs, local ─► which filter
//
// Immutable but for counters and policers, so thread-safe; in the snapshot, which keeps it till no
// worker reads it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "lookup/fib.hpp"

namespace hecto::router {

class FilterLogTaps;
struct FilterState;
struct FilterViews;
class WantedNeighbors;

// What of interfaces, VRFs and threads filters ask for.
struct FilterSurroundings {
  std::function<InterfaceId(const std::string& name)>
      interface;  // kNoInterface: there is none (now)
  std::function<std::vector<InterfaceId>(const std::string& vrf)> members;
  std::function<PortId(const std::string& name)> port;  // kNoPort: there is none (now)
  std::shared_ptr<const FilterLogTaps> log;             // of as many threads; null: nobody reads it
  // The table that a rule names, or its VRF's; none: it is not there (now), or has no room. Null:
  // there are none.
  std::function<std::optional<lookup::TableId>(const config::FilterRuleConfig& rule)> table;
  std::vector<std::pair<InterfaceId, uint16_t>> vlans;  // by interface its tag, the outer of two
  std::vector<int> sockets = {0};  // that have workers; the first is the slow path's
  unsigned threads = 1;            // workers, and the slow path behind them
  // That let nothing in, whatever their filters say: what rules ask for of them is not compiled yet.
  std::vector<InterfaceId> barred;
  uint64_t free_bytes = 0;  // that building may have for a moment; 0: it is not known
};

struct FilterCount {
  uint64_t packets = 0, bytes = 0;  // of IP packets
  bool operator==(const FilterCount&) const = default;
};
struct FilterRuleStatus {
  std::string name;  // its own, or its number from 1
  FilterCount count;
};
struct FilterStatus {
  std::string name;
  std::vector<FilterRuleStatus> rules;  // in the file's order
  FilterCount otherwise;                // what none of them held for
  // What is not as the file says, a sentence each: interfaces that are not there, rules that can
  // never hold.
  std::vector<std::string> notes;
  uint64_t bytes = 0;  // memory of its contexts, all sockets
};
// A prefix that has a bucket of its own, and what of it was too much.
struct PolicedPrefix {
  std::string set;
  lookup::IpPrefix prefix;
  FilterCount red;
};
struct PolicerStatus {
  std::string name;  // of one that an interface has for itself: pings in wan0
  FilterCount green, yellow, red;
  std::string note = {};                // what is not as the file says; empty: nothing
  std::optional<size_t> prefixes = {};  // that have a bucket each; none: it has one for all
};

class FilterTables {
 public:
  // From any thread, one at a time with the same `before`; seconds for 100,000 rules. Of `before` goes
  // on what is the same there: contexts of filters that say the same of the same interfaces and classes,
  // counts of rules that say the same in a filter of the same name, tokens and counts of policers. A
  // change of a set's prefixes alone builds no context, unless some address is in a mixture of sets
  // that none was in before. Fails for want of memory; `before` stays as it was.
  static Result<std::shared_ptr<const FilterTables>> compile(const config::FiltersConfig& config,
                                                             const FilterSurroundings& around,
                                                             const FilterTables* before = nullptr);
  // The same rules where interfaces, VRFs and ports are others now: microseconds, and no memory but what
  // their actions take. What rules ask for by `iif` is as it was compiled.
  std::shared_ptr<const FilterTables> bound(const config::FiltersConfig& config,
                                            const FilterSurroundings& around) const;
  ~FilterTables();
  FilterTables(const FilterTables&) = delete;
  FilterTables& operator=(const FilterTables&) = delete;

  std::vector<FilterStatus> status() const;  // in the file's order
  // Of status(), without the rest of it. The rule behind the last is `otherwise`.
  std::vector<std::string> notes(size_t filter) const;
  size_t filters() const;
  size_t rules(size_t filter) const;
  FilterCount count(size_t filter, size_t rule) const;
  bool same_rules(const FilterTables& other) const;  // one is the other, bound anew
  std::vector<PolicerStatus> policers() const;
  // Of a policer with a bucket for each prefix those with most red packets, the most first: some
  // milliseconds where many of a million have some.
  std::vector<PolicedPrefix> most_red(const std::string& policer, size_t most) const;
  // As views number them, from 1; behind the file's is the one that lets nothing in.
  const std::string& filter_name(unsigned filter) const;
  std::string rule_name(unsigned filter, uint32_t rule) const;
  // Both, with a 0 between them; rule 0: none held, and nothing follows the 0. For any thread, and
  // without memory of its own. Returns how many letters of `to` it has written.
  static constexpr size_t kNames_bytes = 2 * config::kMostFilterName + 1;
  size_t write_names(unsigned filter, uint32_t rule,
                     std::span<char, kNames_bytes> to) const noexcept;
  uint64_t bytes() const;           // memory of contexts, sets and counters
  unsigned contexts() const;        // that were built for it, and not taken from `before`
  WantedNeighbors* wanted() const;  // by packets that are led; null: none is

  // ---- For workers ----
  const FilterViews& views(int socket) const noexcept;  // of an unknown socket: the first one's

 private:
  FilterTables();
  std::unique_ptr<FilterState> state_;
};

}  // namespace hecto::router
