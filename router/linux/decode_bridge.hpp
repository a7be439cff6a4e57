// From messages of bridges to events, as decode.hpp. Layouts: linux/if_link.h, linux/if_bridge.h,
// linux/neighbour.h. Thread-safe: no state.
#pragma once

#include <vector>

#include "router/linux/decode.hpp"

namespace hecto::router {

struct BridgePortEvent {
  int ifindex = 0;
  LinuxBridgePort port;
};

struct BridgeVlansEvent {
  std::vector<LinuxBridgeVlans> vlans;
  bool removed = false;
};

struct FdbEvent {
  LinuxFdbEntry entry;
  bool removed = false;
};

// Parts of a link: IFLA_INFO_DATA of a bridge, IFLA_INFO_SLAVE_DATA of a port. False: malformed.
bool read_bridge(Bytes data, LinuxBridge& out);
bool read_bridge_port(Bytes data, LinuxBridgePort& out);

// RTM_NEWLINK of AF_BRIDGE: a port's state or settings changed.
Decoded decode_bridge_port(const Message& message, BridgePortEvent& out);
Decoded decode_bridge_vlans(const Message& message, BridgeVlansEvent& out);
// RTM_NEWNEIGH and RTM_DELNEIGH of AF_BRIDGE. A device's own filter is ignored.
Decoded decode_fdb_entry(const Message& message, FdbEvent& out);

}  // namespace hecto::router
