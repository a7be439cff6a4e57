// spread: the packets of a burst that is too much for one worker, by flow. Behind receive and before
// classify: the head of the queue reads one line of each packet. Its own stay in the chunk, in order;
// all others go to the rings of their workers, in bulk. A full ring refuses by name; the head never
// waits.
//
// One for each worker. Not thread-safe.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"

namespace hecto::router {

class Spreader {
 public:
  // What found no room is refused as spread_full.
  void run(const SpreadTable& table, Chunk& chunk) noexcept;

 private:
  alignas(64) rte_mbuf* packets_[kSpreadLanes][kChunkSize];
};

}  // namespace hecto::router
