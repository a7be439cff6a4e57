// What the fast path knows of Linux's bridges: their ports, replaced as a whole with the snapshot, and
// the stations, which control writes one by one while workers read.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>

#include "base/net.hpp"
#include "lookup/mac_table.hpp"
#include "router/dataplane/core/counters.hpp"

namespace hecto::router {

// A domain of the MAC table is a bridge, from 0, in the high four bits, and a VLAN.
inline constexpr unsigned kMostBridges = 15;  // the last domain is not one of the table's
constexpr uint16_t bridge_domain(unsigned bridge, unsigned vlan) noexcept {
  return static_cast<uint16_t>(bridge << 12 | vlan);
}

// A place of the MAC table: a port, or an address of the bridge's own.
inline constexpr uint16_t kBridgeOwn = 0x8000;

struct BridgePortView {
  uint8_t bridge = 0;
  bool forwards = true, learns = true;  // by its state
  bool isolated = false, hairpin = false;
  bool full = false;     // no more stations are learned on it
  bool filters = false;  // its VLANs count; else a tag is part of what is carried
  uint16_t pvid = 0;     // of untagged frames; 0: none
  uint16_t mtu = 1500;
  InterfaceId interface = kNoInterface;  // the port's own, by whose twin Linux's bridge has frames
  std::bitset<4096> allowed, untagged;
  std::bitset<4096> beside;  // VLANs of interfaces of the port itself: not the bridge's
  std::bitset<4096> routed;  // where the bridge has an interface of its own; 0: untagged
};

struct BridgeViews {
  std::shared_ptr<lookup::MacTable> stations;
  std::array<std::shared_ptr<const BridgePortView>, kMaxPorts> ports;  // null: no bridge's
};

}  // namespace hecto::router
