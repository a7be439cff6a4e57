// Where an address of the router's own, or the end of a tunnel, is looked up: a VRF has both in a
// table of its own, all other interfaces in main. Policy rules have no part in it, as they have none
// in Linux's table local.
//
// Source: l3mdev of Linux; __xfrm4_dst_lookup(), which asks the VRF of the device that a packet would
// leave by.
#pragma once

#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"

namespace hecto::router {

class VrfTables {
 public:
  // `rules`: the snapshot's, null where there are no VRFs. Both outlive it.
  VrfTables(const TableViews& tables, const RuleTables* rules) : tables_(tables), rules_(rules) {}

  const TableViews& all() const noexcept { return tables_; }
  bool all_main() const noexcept { return rules_ == nullptr; }
  // Of what came in, or is to leave, by the interface; kNoInterface: main's.
  lookup::GroupId group(InterfaceId interface, uint32_t host_order) const noexcept;
  lookup::GroupId group(InterfaceId interface, const lookup::Ipv6Address& address) const noexcept;
  const lookup::NextHopRecord& record(InterfaceId interface, lookup::Family family,
                                      const uint8_t* address) const noexcept;
  bool is_own(InterfaceId interface, lookup::Family family, const uint8_t* address) const noexcept {
    return record(interface, family, address).own != 0;
  }
  // Where the ends of tunnels are looked up for packets that such a route would have sent on, and
  // that came in by `ingress`. What goes by an interface of Linux's IPsec leaves the VRF by it.
  InterfaceId way_out(const lookup::NextHopRecord& route, InterfaceId ingress) const noexcept;

 private:
  const TableViews& tables_;
  const RuleTables* const rules_;
};

}  // namespace hecto::router
