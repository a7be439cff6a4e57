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
};

}  // namespace hecto::router
