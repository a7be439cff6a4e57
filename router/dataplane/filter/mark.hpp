// The mark that a filter gave a packet, for filters behind it: a dynamic field and flag of our own in
// its mbuf. A packet without the flag has mark 0.
#pragma once

#include "base/result.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

struct FilterMark {
  int field = -1;     // -1: no filter gives marks
  uint64_t flag = 0;  // in ol_flags

  void set(rte_mbuf* packet, uint32_t mark) const noexcept {
    packet->ol_flags |= flag;
    *RTE_MBUF_DYNFIELD(packet, field, uint32_t*) = mark;
  }
  uint32_t get(const rte_mbuf* packet) const noexcept {
    return (packet->ol_flags & flag) == 0 ? 0 : *RTE_MBUF_DYNFIELD(packet, field, const uint32_t*);
  }
};

// Again it gives the same.
Result<FilterMark> register_filter_mark();

}  // namespace hecto::router
