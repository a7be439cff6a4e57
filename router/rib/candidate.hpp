// What is kept of a route in the RIB, and of a prefix: the RIB's neutral fields with the
// meaning that they have here.
#pragma once

#include "lookup/rib.hpp"
#include "router/rib/next_hop_sets.hpp"

namespace hecto::router {

// Linux's usual rules look into local, main, default in this order: these three are one RIB, and a
// candidate's table is part of its preference. Any other table is a RIB of its own (RoutingTable),
// whose candidates all stand where main's do.
inline constexpr uint32_t kTableLocal = 255;
inline constexpr uint32_t kTableMain = 254;
inline constexpr uint32_t kTableDefault = 253;

inline constexpr bool is_usual_table(uint32_t table) {
  return table >= kTableDefault && table <= kTableLocal;
}

inline constexpr uint8_t kProtocolKernel = 2;  // RTPROT_KERNEL

// owner: the load of a route file that brought it, 0: none; generation: of Linux's state, 0 for what
// does not come from Linux; source: the RouteOrigin.
using Candidate = lookup::RibRoute;
using lookup::kNoRouteId;
using lookup::RouteId;

// Host routes of neighbors exist only where they are to win, so they come before every table.
inline uint8_t preference_of(RouteOrigin origin, uint32_t table) {
  constexpr uint8_t kBehindNeighbors = 4;
  auto order = static_cast<uint8_t>(kTableLocal - (is_usual_table(table) ? table : kTableMain));
  return origin == RouteOrigin::kNeighbor ? order : static_cast<uint8_t>(kBehindNeighbors + order);
}
// Of the three; in another RIB main.
inline uint32_t table_of(const Candidate& candidate) {
  return kTableLocal - candidate.preference % 4;
}
inline RouteOrigin origin_of(const Candidate& candidate) {
  return static_cast<RouteOrigin>(candidate.source);
}

// A candidate of this slot, with everything else as it is by default.
inline Candidate slot_of(RouteOrigin origin, uint32_t table, uint32_t metric) {
  Candidate slot;
  slot.metric = metric;
  slot.preference = preference_of(origin, table);
  slot.source = static_cast<uint8_t>(origin);
  return slot;
}

// What the FIB says of a prefix.
struct Installed {
  GroupId group = lookup::kNoRoute;
  bool in_fib = false;
  bool incomplete = false;  // the FIB or the groups were full: not what it should be
};

template <typename Address>
using Rib = lookup::Rib<Address, Installed>;
template <typename Address>
using RibEntry = typename Rib<Address>::Entry;

}  // namespace hecto::router
