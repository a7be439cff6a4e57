// bridge: ahead of classify, for what comes in by a port of a bridge. Frames between two stations that
// are known leave by the egress port's buffer; what is for an address of the bridge's own stays in the
// chunk for classify; all else is Linux's, or refused by name (IEEE 802.1Q §8, docs/bridges.md).
#pragma once

#include "router/dataplane/core/bridge_views.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {

// What chunk.packets holds; those that stay close up, chunk.count is how many. Refused ones are in
// chunk.refused, which was empty. Returns the bytes of those that do not stay.
uint64_t switch_frames(Chunk& chunk, const BridgePortView& port, PortId port_id,
                       const BridgeViews& bridges, Transmitter& transmitter) noexcept;

}  // namespace hecto::router
