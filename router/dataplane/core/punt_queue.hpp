// From a worker to the slow path: refused packets that Linux should see, with the reason.
// For each worker one ring a priority, single producer and single consumer: the slow path empties
// those of the first priority first, so that full ones lose errors before sessions.
#pragma once

#include <array>

#include "base/punt_class.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

struct PuntEntry {
  rte_mbuf* packet;
  Reason reason;
  PuntClass punt_class;
  InterfaceId interface;  // ingress
  uint16_t trace;         // number of the trace that follows it, 0: none
  uint16_t session;       // that the trace belongs to
};
static_assert(sizeof(PuntEntry) == 16, "ring elements are multiples of four bytes");

inline constexpr unsigned kPuntQueueSize = 512;  // of one priority
using PuntQueues = std::array<rte_ring*, kPuntPriorities>;

}  // namespace hecto::router
