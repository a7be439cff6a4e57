// Packets whose next hop is a tunnel, from rewrite to TunnelStage. Of one thread.
#pragma once

#include "router/dataplane/core/chunk.hpp"

namespace hecto::router {

struct TunnelBatch {
  struct Each {
    rte_mbuf* packet;
    Ingress ingress;
    InterfaceId tunnel;
    uint16_t mtu;  // of the record
    bool v4;       // what is to go in
    bool made;     // by a tunnel: it is no packet that came in, and no hop
  };
  unsigned count = 0;
  Each packets[kChunkSize];

  // False: there is no room.
  bool add(const Each& each) noexcept {
    if (count == kChunkSize) return false;
    packets[count++] = each;
    return true;
  }
};

}  // namespace hecto::router
