// Where a next hop leads now: by which interface, to whom, and the record of the next-hop table
// that takes packets there. What Linux must decide becomes a punt, what is dead a drop.
//
// Reads interfaces, neighbors and next-hop objects, which outlive it; keeps nothing. Control
// thread.
#pragma once

#include <optional>
#include <span>

#include "base/reason.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/neighbors.hpp"
#include "router/rib/next_hop_objects.hpp"
#include "router/rib/urpf.hpp"

namespace hecto::router {

// What routes with the same type and next hops have in common. A family of packets, because the
// EtherType stands in the record, and an IPv4 route may have an IPv6 gateway (RFC 8950).
// `next_hops` is canonical (next_hop_sets.hpp); empty with an object or with a type other than
// unicast.
struct NextHopContent {
  Family family = Family::kIpv4;
  RouteType type = RouteType::kUnicast;
  uint32_t object = 0;  // number of the kernel's next-hop object, 0: none
  std::span<const NextHop> next_hops;
  uint16_t mtu = 0;       // of the routes, where it is less than the interface's; 0: none
  bool labelled = false;  // of packets that come in with a label (MPLS); the family says nothing
};

struct NextHopResolution {
  InterfaceId interface = kNoInterface;
  std::optional<IpAddress> gateway;
  // false: interface down, dead next hop or a neighbor that does not answer; left out of ECMP
  bool alive = true;
  UrpfInterfaces reachable_by;
  lookup::NextHopRecord record{};
};

class NextHopResolver {
 public:
  NextHopResolver(const Interfaces& interfaces, const Neighbors& neighbors,
                  const NextHopObjects& objects)
      : interfaces_(interfaces), neighbors_(neighbors), objects_(objects) {}

  // Of what has at most one next hop.
  NextHopResolution resolve(const NextHopContent& content) const;

 private:
  NextHopResolution resolve_one(const NextHopContent& content) const;
  NextHopResolution resolve(const NextHop& hop, const NextHopContent& content) const;
  NextHopResolution resolve_on(const InterfaceState& interface, const NextHop& hop,
                               const NextHopContent& content) const;
  NextHopResolution received_by(const NextHop& hop) const;
  uint8_t label_ttl(const LabelStack& labels, bool labelled) const;

  const Interfaces& interfaces_;
  const Neighbors& neighbors_;
  const NextHopObjects& objects_;
};

}  // namespace hecto::router
