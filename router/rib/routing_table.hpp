// One of Linux's routing tables: its routes of both families, and the host routes of the neighbors
// that its connected routes lead to. The first one is local, main and default as one, in the order
// of the usual rules; each other table, a VRF's among them, is one of its own.
//
// Once there it stays: compiled rules and sweeps name it. Control thread.
#pragma once

#include "router/rib/family_table.hpp"
#include "router/rib/host_routes.hpp"

namespace hecto::router {

struct RoutingTable {
  struct Parts {
    const Interfaces& interfaces;
    const Neighbors& neighbors;
    InstallContext& context;
  };
  RoutingTable(uint32_t linux_number, lookup::TableId number, lookup::Fib4& fib4,
               lookup::Fib6& fib6, const Parts& parts)
      : linux_number(linux_number),
        number(number),
        families{{fib4, parts.context, number}, {fib6, parts.context, number}},
        hosts(parts.interfaces, parts.neighbors, parts.context.sets, families) {}
  RoutingTable(const RoutingTable&) = delete;
  RoutingTable& operator=(const RoutingTable&) = delete;

  template <typename Address>
  const Rib<Address>& rib() const {
    return families.get<Address>().rib();
  }
  bool empty() const { return families.ipv4.rib().size() + families.ipv6.rib().size() == 0; }
  // As Linux numbers them: of a candidate.
  uint32_t table_of(const Candidate& candidate) const {
    return number == 0 ? router::table_of(candidate) : linux_number;
  }

  const uint32_t linux_number;   // main's, of the first one
  const lookup::TableId number;  // in the FIBs; 0: the first one
  FamilyTables families;
  HostRoutes hosts;
};

}  // namespace hecto::router
