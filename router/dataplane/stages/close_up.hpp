// Packets leave their lane with their reasons, and the others close up.
#pragma once

#include "router/dataplane/core/chunk.hpp"

namespace hecto::router {

template <typename Address>
void move_in_lane(Lane<Address>& lane, unsigned to, unsigned from) noexcept {
  lane.packets[to] = lane.packets[from];
  lane.destinations[to] = lane.destinations[from];
  lane.groups[to] = lane.groups[from];
  lane.ingress[to] = lane.ingress[from];
}

template <typename Address>
void close_up(Lane<Address>& lane, Chunk& chunk, const Reason* reasons) noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    if (reasons[i] == Reason::kNone)
      move_in_lane(lane, kept++, i);
    else
      chunk.refuse(lane.packets[i], reasons[i], lane.ingress[i].interface());
  }
  lane.count = kept;
}

}  // namespace hecto::router
