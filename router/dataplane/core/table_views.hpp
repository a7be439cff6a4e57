// The tables as one socket's workers see them. The views stay valid while the router runs.
#pragma once

#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
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

  bool has_further() const noexcept { return further4.arena != nullptr; }
  lookup::Fib4View further(uint32_t, lookup::TableId table) const noexcept {
    return {further4.arena, table};
  }
  lookup::Fib6View further(const lookup::Ipv6Address&, lookup::TableId table) const noexcept {
    return {further6.arena, table};
  }
};

}  // namespace hecto::router
