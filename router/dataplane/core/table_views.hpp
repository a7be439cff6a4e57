// The tables as one socket's workers see them. The views stay valid while the router runs.
#pragma once

#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/label_table.hpp"
#include "router/rib/large_views.hpp"
#include "router/rib/urpf.hpp"

namespace hecto::router {

struct TableViews {
  lookup::Fib4View fib4;
  lookup::Fib6View fib6;
  lookup::NextHopView next_hops;
  UrpfView urpf;
  // Of a table other than local, main and default, when its number is put in; without an arena there
  // are none (of tables that were inherited).
  lookup::Fib4View further4 = {};
  lookup::Fib6View further6 = {};
  const LargeViews* large = nullptr;  // those that have a FIB of their own; null: none
  const LabelView* labels = nullptr;  // null: none, of tables that were inherited

  bool has_further() const noexcept { return further4.arena != nullptr; }
  lookup::Fib4View further(uint32_t, lookup::TableId table) const noexcept {
    if (large != nullptr)
      if (const lookup::Fib4View* const view = large->ipv4.find(table)) return *view;
    return {further4.arena, table};
  }
  lookup::Fib6View further(const lookup::Ipv6Address&, lookup::TableId table) const noexcept {
    if (large != nullptr)
      if (const lookup::Fib6View* const view = large->ipv6.find(table)) return *view;
    return {further6.arena, table};
  }
};

}  // namespace hecto::router
