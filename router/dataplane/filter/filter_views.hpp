// Filters as the workers of one socket read them. They hold as long as the FilterTables.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/reason.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/filter/counter_slots.hpp"
#include "router/dataplane/filter/lead.hpp"
#include "router/dataplane/filter/mark.hpp"

struct rte_acl_ctx;

namespace hecto::router {

class Policer;
class WantedNeighbors;

// What becomes of packets that a rule is the first to hold for.
struct FilterAction {
  enum Beside : uint8_t { kPolice = 1, kMark = 2, kDscp = 4, kTable = 8 };

  uint32_t slot = 0;              // of its counters
  uint32_t mark = 0;              // where kMark
  uint16_t policer = 0;           // where kPolice: its number
  Reason reason = Reason::kNone;  // why it is refused
  uint8_t beside = 0;             // of what is not
  uint8_t dscp = 0;               // where kDscp
  lookup::TableId table = 0;      // where kTable: that it is looked up in

  bool plain() const noexcept { return reason == Reason::kNone && beside == 0; }
};

struct FilterContextView {
  std::span<rte_acl_ctx* const> parts;  // the first that finds a rule is right; empty: none holds
  uint32_t needs = 0;                   // KeyNeed
};

struct FilterView {
  FilterContextView ipv4, ipv6;
  std::vector<FilterAction> actions;  // of no rule, and then by rule
  bool plain = true;                  // all of them are

  const FilterContextView& of(uint32_t) const noexcept { return ipv4; }
  const FilterContextView& of(const lookup::Ipv6Address&) const noexcept { return ipv6; }
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
