// From what rtnetlink says of MPLS: labels that routes and next-hop objects put on packets, and the
// routes of labels. Pure, thread-safe, as decode.hpp.
#pragma once

#include "router/linux/decode.hpp"

namespace hecto::router {

// What a next hop puts before its packets: RTA_ENCAP and RTA_ENCAP_TYPE, or NHA_*, in any order.
struct Encapsulation {
  uint16_t type = 0;
  Bytes bytes;
};
// kEvent: nothing, or the labels in `out`; kIgnored: what only Linux can do.
Decoded read_encapsulation(const Encapsulation& encapsulation, LabelStack& out);

struct LabelRouteEvent {
  LabelRoute route;
  bool removed = false;
};

Decoded decode_label_route(const Message& message, LabelRouteEvent& out);

}  // namespace hecto::router
