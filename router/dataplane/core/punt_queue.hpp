// From a worker to the slow path: refused packets that Linux should see, with the reason.
// One ring a worker, single producer and single consumer.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

struct PuntEntry {
  rte_mbuf* packet;
  Reason reason;
  uint8_t reserved;
  InterfaceId interface;  // ingress
  uint16_t trace;         // number of the trace that follows it, 0: none
  uint16_t session;       // that the trace belongs to
};
static_assert(sizeof(PuntEntry) == 16, "ring elements are multiples of four bytes");

inline constexpr unsigned kPuntQueueSize = 2048;

}  // namespace hecto::router
