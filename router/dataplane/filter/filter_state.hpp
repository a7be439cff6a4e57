// What a FilterTables has: what workers read of it, and what it stands for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "router/dataplane/filter/counter_slots.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/dataplane/filter/fingerprint.hpp"
#include "router/dataplane/filter/policer.hpp"
#include "router/dataplane/filter/prefix_classes.hpp"
#include "router/dataplane/filter/prefix_policer.hpp"
#include "router/dataplane/filter/rule_context.hpp"
#include "router/dataplane/filter/wanted_neighbors.hpp"

namespace hecto::router {

struct FilterState {
  struct Mirror {
    uint32_t rule;     // as in views: from 1
    std::string port;  // that gets copies
  };
  // What is known of a filter beside what workers read; wherever it is bound, it is this one.
  struct Known {
    std::string name;
    std::vector<std::string> rules;   // by rule, its name; empty: it has its number's
    std::vector<Fingerprint> prints;  // of no rule, and then by rule
    std::vector<uint32_t> slots;      // likewise
    std::vector<std::string> notes;
    std::vector<Mirror> mirrors;
    std::vector<std::shared_ptr<const RuleContext>> contexts;
    std::shared_ptr<CounterSlots> counters;  // whose slots those are

    Known() = default;
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    ~Known() {
      if (counters) counters->give_back(slots);
    }
  };

  std::shared_ptr<CounterSlots> slots;
  std::vector<std::shared_ptr<Known>> filters;
  std::shared_ptr<Known> barrier;                  // what counts what is barred; no rules
  std::vector<std::vector<std::string>> places;    // by filter: notes on where it is bound
  std::shared_ptr<const PrefixClasses> sets;       // null: none is named
  std::vector<std::shared_ptr<Policer>> policers;  // the file's, and behind them interfaces' own
  struct PolicerKnown {
    std::string name, note;  // no name: it is not shown
  };
  std::vector<PolicerKnown> policers_known;  // the same
  // By policer of the file, null where it has no `each`; and by the sets whose prefixes have buckets, as
  // config::policed_sets() has them.
  std::vector<std::shared_ptr<PrefixPolicer>> prefix_policers;
  struct Policed {
    size_t policer = 0;
    std::shared_ptr<const PrefixNumbers> numbers;
  };
  std::vector<Policed> policed;
  std::shared_ptr<WantedNeighbors> wanted;   // null: nothing leads packets
  std::shared_ptr<const FilterLogTaps> log;  // null: as in views
  std::vector<int> sockets;
  std::vector<FilterViews> views;  // by socket, as `sockets`
  unsigned built = 0;

  FilterState() = default;
  FilterState(const FilterState&) = delete;
  FilterState& operator=(const FilterState&) = delete;
};

}  // namespace hecto::router
