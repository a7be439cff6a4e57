// From rtnetlink messages to events: pure functions from bytes to values. Routes: decode_route.hpp.
//
// Hostile bytes give kMalformed, never a read past the end. kIgnored is a sound message that does
// not concern a router's forwarding (another table, a cloned route, a bridge port, a proxy entry).
// The events are filled in place so that a caller who keeps them allocates nothing per message.
// Thread-safe: no state.
#pragma once

#include "router/linux/attributes.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

enum class Decoded : uint8_t { kEvent, kIgnored, kMalformed };

struct LinkEvent {
  LinuxLink link;
  bool removed = false;
};

struct AddressEvent {
  LinuxAddress address;
  bool removed = false;
};

struct NeighborEvent {
  LinuxNeighbor neighbor;
  bool removed = false;
};

struct NextHopEvent {
  NextHopObject object;
  bool removed = false;
};

// What a message is about, from its type and family alone. kSa and kPolicy: of XFRM
// (xfrm/decode_sa.hpp).
enum class MessageKind : uint8_t {
  kLink,
  kAddress,
  kNextHop,
  kRule,
  kRoute4,
  kRoute6,
  kLabelRoute,
  kNeighbor,
  kBridgeVlan,
  kFdb,
  kSa,
  kPolicy,
  kOther
};

MessageKind kind_of(const Message& message) noexcept;
bool is_removal(const Message& message) noexcept;  // RTM_DEL*, for the kinds above

Decoded decode_link(const Message& message, LinkEvent& out);
Decoded decode_address(const Message& message, AddressEvent& out);
Decoded decode_neighbor(const Message& message, NeighborEvent& out);
Decoded decode_nexthop(const Message& message, NextHopEvent& out);

// An address of 4 or 16 bytes, as `family` (AF_INET, AF_INET6) demands.
std::optional<IpAddress> read_address(Bytes payload, int family) noexcept;

}  // namespace hecto::router
