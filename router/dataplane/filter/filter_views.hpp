// Filters as the workers of one socket read them. They hold as long as the FilterTables.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/reason.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/filter/counter_slots.hpp"
#include "router/dataplane/filter/lead.hpp"
#include "router/dataplane/filter/mark.hpp"
#include "router/dataplane/filter/prefix_policer.hpp"
#include "router/dataplane/filter/rule_tree.hpp"

namespace hecto::router {

class FilterLogTaps;
class Policer;
class WantedNeighbors;

// What becomes of packets that a rule is the first to hold for.
struct FilterAction {
  enum Beside : uint8_t { kPolice = 1, kMark = 2, kDscp = 4, kTell = 128, kTable = 8, kEach = 16 };

  uint32_t slot = 0;              // of its counters
  uint32_t mark = 0;              // where kMark
  uint16_t policer = 0;           // where kPolice: its number; where kEach: FilterViews::policed's
  Reason reason = Reason::kNone;  // why it is refused
  uint8_t beside = 0;             // of what is not; kTell of all
  uint8_t dscp = 0;               // where kDscp
  lookup::TableId table = 0;      // where kTable: that it is looked up in

  bool plain() const noexcept { return reason == Reason::kNone && beside == 0; }
};

// Where kTell: who else has what the rule holds for.
struct FilterTelling {
  uint32_t sample = 0;      // one in so many goes to sFlow; 0: none
  PortId mirror = kNoPort;  // that gets copies; kNoPort: none
  bool log = false;

  bool any() const noexcept { return sample != 0 || mirror != kNoPort || log; }
};

template <unsigned AddressBytes>
struct FilterContextView {
  const RuleTree<AddressBytes>* tree = nullptr;  // null: none holds
  uint32_t needs = 0;                            // KeyNeed
};

struct FilterView {
  FilterContextView<4> ipv4;
  FilterContextView<16> ipv6;
  std::vector<FilterAction> actions;    // of no rule, and then by rule
  std::vector<FilterTelling> tellings;  // likewise; empty: no rule has kTell
  bool plain = true;                    // all of them are
};

// A filter's number and 1; 0: none.
using FilterNumber = uint8_t;
// A policer's, likewise; of each interface.
using PolicerNumber = uint16_t;
using PolicersOfInterfaces = std::array<PolicerNumber, kMaxInterfaces>;

struct FilterViews {
  std::vector<FilterView> filters;
  std::array<FilterNumber, kMaxInterfaces> in{}, vrf{}, out{};  // by interface
  FilterNumber local = 0;
  bool has_in = false, has_vrf = false, has_out = false;
  lookup::Fib4View classes4;
  lookup::Fib6View classes6;
  FilterMark mark;
  FilterLead lead;
  bool leads = false;                 // some rule names a table
  WantedNeighbors* wanted = nullptr;  // by packets that are led
  std::vector<Policer*> policers;
  std::vector<PolicedView> policed;                // that have a bucket for each prefix
  const FilterLogTaps* log = nullptr;              // null: no rule is told in the log
  PolicersOfInterfaces police_in{}, police_out{};  // by no rule
  bool has_police_in = false, has_police_out = false;
  std::vector<std::vector<CounterCell*>> pages;  // by thread, then page

  const FilterView& filter(FilterNumber number) const noexcept { return filters[number - 1u]; }
  CounterCell& cell(unsigned thread, uint32_t slot) const noexcept {
    constexpr unsigned kMask = CounterSlots::kPageSlots - 1;
    return pages[thread][slot >> CounterSlots::kPageBits][slot & kMask];
  }
};

}  // namespace hecto::router
